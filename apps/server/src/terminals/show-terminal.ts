import { ProblemError, type Terminal, TerminalInput } from '@stackquay/contract'
import { type Commands, EngineError, type TerminalSize } from '@stackquay/engine-api'
import type { TerminalRow } from '@stackquay/store'
import type { z } from 'zod'
import type { FrameSocket, PeerMessage } from '../http/handler.ts'
import { exitView } from './environment.ts'
import type { Room, TerminalRooms } from './rooms.ts'
import { endingMs, refOf } from './terminal-view.ts'

export interface ShowDeps {
  readonly commands: Commands
  readonly rooms: TerminalRooms
  view(row: TerminalRow): Promise<Terminal>
  settle(row: TerminalRow): Promise<void>
}

export interface ShowFrom {
  readonly after: number | undefined
  readonly size: Partial<TerminalSize>
}

/** One viewer: output from a byte offset on, and what the viewer types, until the terminal ends or the viewer goes. */
export async function showTerminal(
  deps: ShowDeps,
  row: TerminalRow,
  { after, size }: ShowFrom,
  socket: FrameSocket,
  /** The viewer ends the terminal. */
  onCancel: () => void,
): Promise<void> {
  const { rooms, view } = deps
  const room = rooms.of(row)
  room.viewers.add(socket)
  try {
    if (row.endedAt === null) await fit(deps, row, size, socket)
    const terminal = await view(row)
    const from = after ?? terminal.output.first
    if (from > terminal.output.end)
      throw new ProblemError(
        'too_old',
        `The terminal has no output at ${from}: its output ends at ${terminal.output.end}.`,
      )
    await socket.send({ type: 'start', seq: from, terminal })
    socket.receive((message) => take(deps, row, message, socket, onCancel))
    await sendRest(deps, row, room, from, socket)
  } finally {
    room.viewers.delete(socket)
    room.left()
  }
}

/** Everything from an offset on, then how the terminal ended. */
async function sendRest(
  { commands, settle }: ShowDeps,
  row: TerminalRow,
  room: Room,
  from: number,
  socket: FrameSocket,
): Promise<void> {
  const reached = await room.relay.send(socket, from)
  if (socket.signal.aborted) return
  const last = await commands.find(refOf(row))
  if (last?.state === 'running') throw new ProblemError('unavailable', 'The terminal goes on, and cannot be read now.')
  await settle(row)
  const exit = exitView(last?.exit ?? { code: null, signal: null })
  await socket.send({ type: 'exit', seq: reached, ...exit })
}

async function take(
  deps: ShowDeps,
  row: TerminalRow,
  message: PeerMessage,
  socket: FrameSocket,
  onCancel: () => void,
): Promise<void> {
  const { commands } = deps
  if (message.kind === 'binary') return ignoreEnded(commands.write(refOf(row), message.bytes))
  const input = readInput(message.text)
  if (input.type === 'resize') return ignoreEnded(resize(deps, row, { cols: input.cols, rows: input.rows }, socket))
  onCancel()
  return commands.end(refOf(row), AbortSignal.timeout(endingMs))
}

/** Gives the terminal the viewer’s size; what the viewer leaves out stays. */
async function fit(
  deps: ShowDeps,
  row: TerminalRow,
  { cols, rows }: Partial<TerminalSize>,
  socket: FrameSocket,
): Promise<void> {
  if (cols === undefined && rows === undefined) return
  const now = (await deps.commands.find(refOf(row)))?.size
  await ignoreEnded(resize(deps, row, { cols: cols ?? now?.cols ?? 80, rows: rows ?? now?.rows ?? 24 }, socket))
}

async function resize(
  { commands, rooms, view }: ShowDeps,
  row: TerminalRow,
  wanted: TerminalSize,
  socket: FrameSocket,
): Promise<void> {
  await commands.resize(refOf(row), wanted)
  await rooms.tell(row, view, socket)
}

/** Keystrokes for a program that has just ended are nobody's: the stream itself tells of the end. */
async function ignoreEnded(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'engine_cannot') throw error
  }
}

function readInput(text: string): z.infer<typeof TerminalInput> {
  const parsed = TerminalInput.safeParse(parsedJson(text))
  if (parsed.success) return parsed.data
  throw new ProblemError(
    'invalid_request',
    'A terminal takes {"type":"resize","cols":…,"rows":…} and {"type":"cancel"} as text.',
    {
      hint: 'Send keystrokes as binary frames.',
    },
  )
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
