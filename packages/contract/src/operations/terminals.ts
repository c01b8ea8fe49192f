import { z } from 'zod'
import { operation } from '../operation.ts'
import { listOf, ProjectRef, Seq, textOf } from '../schemas/common.ts'
import { ExecRequest, Terminal, TerminalCreate, TerminalId } from '../schemas/terminals.ts'

const operate = { kind: 'scope', scope: 'operate', project: true } as const
const id = z.object({ id: ProjectRef })
const terminal = z.object({ id: ProjectRef, term: TerminalId })
const size = {
  cols: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .optional()
    .describe('Columns, 2 to 500.'),
  rows: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .optional()
    .describe('Rows, 1 to 300.'),
}

export const listTerminals = operation({
  id: 'listTerminals',
  method: 'GET',
  path: '/projects/{id}/terminals',
  tag: 'Terminals',
  summary: 'Terminals of the project that are open, or ended a short while ago',
  description: 'Of all callers.',
  access: operate,
  params: id,
  results: { 200: listOf('TerminalList', Terminal) },
  problems: [],
})

export const createTerminal = operation({
  id: 'createTerminal',
  method: 'POST',
  path: '/projects/{id}/terminals',
  tag: 'Terminals',
  summary: 'Open a terminal in the environment of a runtime, a database or a service',
  description:
    'It continues without connections, also while the service restarts, until it ends, is ended, or was idle for long.',
  access: operate,
  params: id,
  body: TerminalCreate.optional(),
  results: { 201: Terminal },
  problems: [
    'unavailable_here',
    'not_running',
    'program_not_found',
    'engine_cannot',
    'busy',
    'conflict',
    'validation_failed',
  ],
  audit: 'terminal.open',
})

export const getTerminal = operation({
  id: 'getTerminal',
  method: 'GET',
  path: '/projects/{id}/terminals/{term}',
  tag: 'Terminals',
  summary: 'Read a terminal’s state',
  description: 'The output itself comes over the WebSocket.',
  access: operate,
  params: terminal,
  results: { 200: Terminal },
  problems: [],
})

export const endTerminal = operation({
  id: 'endTerminal',
  method: 'DELETE',
  path: '/projects/{id}/terminals/{term}',
  tag: 'Terminals',
  summary: 'End a terminal with everything that runs in it, and forget its output',
  description: 'All connections are closed.',
  access: operate,
  params: terminal,
  results: { 204: null },
  problems: [],
  audit: 'terminal.close',
  removes: 'record',
})

export const watchTerminal = operation({
  id: 'watchTerminal',
  method: 'GET',
  path: '/projects/{id}/terminals/{term}/ws',
  tag: 'Terminals',
  summary: 'Connect to a terminal: output and keystrokes as binary frames',
  description:
    'Output comes as binary frames after a `start` frame whose `seq` is the byte offset of what follows; `after` resumes at ' +
    'an offset. Keystrokes are sent as binary frames, {"type":"resize","cols":…,"rows":…} as text. Several may be connected.',
  access: operate,
  params: terminal,
  query: z.strictObject({ after: Seq.describe('Byte offset to continue from. Without it: all kept output.'), ...size }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['too_old'],
})

export const openTerminal = operation({
  id: 'openTerminal',
  method: 'GET',
  path: '/projects/{id}/terminal/ws',
  tag: 'Terminals',
  summary: 'Open a terminal and connect to it in one step',
  description: 'The `start` frame holds the terminal, whose own stream is where to come back to.',
  access: operate,
  params: id,
  query: z.strictObject({
    workload: z.string().max(61).optional().describe('As in createTerminal.'),
    ...size,
  }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['unavailable_here', 'not_running', 'engine_cannot', 'busy', 'conflict'],
  audit: 'terminal.open',
})

export const execCommand = operation({
  id: 'execCommand',
  method: 'POST',
  path: '/projects/{id}/exec',
  tag: 'Exec',
  summary: 'Run a program in the environment of a runtime, a database or a service; its output as JSON lines',
  description:
    'One object a line: {"stdout":"…"} and {"stderr":"…"} (with "encoding":"base64" for bytes that are not UTF-8), at the end ' +
    '{"exit":{"code":…,"signal":…}} (with "outOfMemory":true or "outOfProcesses":true when its limits ended it) or {"error":{…problem…}}. The program ends when the caller disconnects.',
  access: operate,
  params: id,
  body: ExecRequest,
  results: { 200: textOf('ExecLines', 'JSON lines: one object with stdout, stderr, exit or error in each.') },
  resultType: 'application/x-ndjson',
  problems: ['validation_failed', 'unavailable_here', 'not_running', 'program_not_found', 'engine_cannot', 'busy'],
  audit: 'exec.run',
})

export const watchExec = operation({
  id: 'watchExec',
  method: 'GET',
  path: '/projects/{id}/exec/ws',
  tag: 'Exec',
  summary: 'Run a program with standard input, output and signals over a WebSocket',
  description:
    'The first frame to send is {"type":"run","argv":[…]}. Then binary frames are standard input, {"type":"eof"} ends it, ' +
    '{"type":"signal","signal":"SIGINT"} sends a signal. Output comes as binary frames whose first byte is 1 for stdout and ' +
    '2 for stderr, at the end {"type":"exit"}. The program is ended when the socket closes.',
  access: operate,
  params: id,
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['validation_failed', 'unavailable_here', 'not_running', 'program_not_found', 'engine_cannot', 'busy'],
  audit: 'exec.run',
})
