import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Terminal } from '@stackquay/contract'
import type { WebSocket } from 'ws'
import { ProgramEnded } from '../src/program-end.ts'
import { escapeKeys } from '../src/shell/escape-key.ts'
import { terminalModes } from '../src/shell/terminal-modes.ts'
import { withoutQuestions } from '../src/shell/terminal-questions.ts'
import { stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'
import { onTerminal, type Person } from './terminal.ts'

const terminal: Terminal = {
  id: 'term_1',
  project: 'prj_1',
  workload: 'node',
  title: 'bash',
  state: 'running',
  cols: 80,
  rows: 24,
  viewers: 0,
  exitCode: null,
  signal: null,
  cause: null,
  actor: 'ada',
  createdAt: '2026-01-01T00:00:00Z',
  endedAt: null,
  output: { first: 0, end: 0 },
}
const start = (seq: number) => JSON.stringify({ type: 'start', seq, terminal })
const exit = (code: number | null, signal: string | null = null) =>
  JSON.stringify({ type: 'exit', seq: 9, code, signal })
const opened = { 'POST /projects/shop/terminals': () => terminal }
const path = '/projects/shop/terminals/term_1/ws'

test('against a stand-in: shell opens a terminal of our size, passes keys and bytes, and ends with its exit code', async () => {
  const typed: string[] = []
  await using service = await standIn(opened, {
    [path]: (socket) => {
      socket.send(start(0))
      socket.send(Buffer.from('$ '))
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        typed.push(isBinary ? data.toString() : `text ${data}`)
        if (isBinary) socket.send(exit(5))
      })
    },
  })
  const { stdout, error, raw, stderr } = await onTerminal(['shell', 'shop', '-w', 'node'], {
    url: service.url,
    onOutput: (_text, person) => {
      person.resize(132, 50)
      // Ctrl-C is a key like all others.
      person.type('\x03')
    },
  })
  assert.equal(stdout, '$ ')
  assert.ok(error instanceof ProgramEnded && error.exitCode === 5)
  assert.deepEqual(raw, { now: false, entered: 1 })
  assert.deepEqual(typed, ['text {"type":"resize","cols":132,"rows":50}', '\x03'])
  assert.deepEqual(service.calls[0]!.body, { workload: 'node', cols: 100, rows: 30 })
  assert.match(stderr, /term_1: bash\. Ctrl-\] d leaves it running\./)
})

test('against a stand-in: after a lost connection the same terminal goes on at the byte, and what was typed meanwhile arrives', async () => {
  const offsets: (string | null)[] = []
  const typed: string[] = []
  let first: WebSocket | null = null
  let someone: Person | null = null
  await using service = await standIn(opened, {
    [path]: (socket, query) => {
      offsets.push(query.get('after'))
      if (offsets.length === 1) {
        first = socket
        socket.send(start(0))
        return socket.send(Buffer.from('one '))
      }
      socket.on('message', (data: Buffer) => {
        typed.push(data.toString())
        if (typed.join('') === 'ab') socket.send(exit(0))
      })
      // Typed before this connection is ready for it.
      someone!.type('a')
      setImmediate(() => {
        socket.send(start(4))
        socket.send(Buffer.from('two'))
      })
    },
  })
  const { stdout, error } = await onTerminal(['shell', 'shop'], {
    url: service.url,
    onOutput: (text, person) => {
      someone = person
      if (text === 'one ') first!.terminate()
      else person.type('b')
    },
  })
  assert.deepEqual([stdout, error], ['one two', null])
  assert.deepEqual(offsets, [null, '4'])
})

for (const [keys, what] of [
  ['\x1dd', 'leaves it running'],
  ['\x1dk', 'ends it'],
  [null, 'and a signal to stq leaves it running'],
] as const) {
  test(`against a stand-in: ${keys === null ? 'a closed window' : `Ctrl-] ${keys[1]}`} ${what}, and the terminal is as it was`, async () => {
    await using service = await standIn(
      {
        ...opened,
        'DELETE /projects/shop/terminals/term_1': (_call, response) => void response.writeHead(204).end(),
      },
      {
        [path]: (socket) => {
          socket.send(start(0))
          socket.send(Buffer.from('\x1b[?1049h\x1b[?25lvim'))
        },
      },
    )
    const { stdout, stderr, error, raw } = await onTerminal(['shell', 'shop'], {
      url: service.url,
      onOutput: (text, person) => {
        if (!text.endsWith('vim')) return
        if (keys === null) person.signal()
        else person.type(keys)
      },
    })
    assert.equal(error, null)
    assert.deepEqual(raw, { now: false, entered: 1 })
    assert.ok(stdout.endsWith('vim\x1b[?1049l\x1b[?25h\x1b[0m'))
    assert.equal(
      service.lines().some((line) => line.startsWith('DELETE')),
      keys === '\x1dk',
    )
    assert.match(stderr, keys === '\x1dk' ? /term_1 is ended/ : /Come back with: stq shell shop --attach term_1/)
  })
}

test('against a stand-in: a terminal that was ended by the service says why; one that is gone leaves no raw mode behind', async () => {
  await using service = await standIn(
    { ...opened, 'GET /projects/shop/terminals/term_1': () => ({ ...terminal, state: 'ended', cause: 'idle' }) },
    {
      [path]: (socket) => {
        socket.send(start(0))
        socket.send(exit(null, 'SIGHUP'))
      },
    },
  )
  const idle = await onTerminal(['shell', 'shop'], { url: service.url })
  assert.match(idle.stderr, /it was idle for too long/)
  assert.ok(idle.error instanceof ProgramEnded && idle.error.exitCode === 129)

  await using gone = await standIn({
    ...opened,
    'GET /projects/shop/terminals/term_1': (_call, response) => answerProblem(response, problem(404, 'not_found')),
  })
  const lost = await onTerminal(['shell', 'shop'], { url: gone.url })
  assert.match(String(lost.error), /Detail of not_found/)
  assert.deepEqual(lost.raw, { now: false, entered: 1 })
})

test('against a stand-in: terminals are listed, ended and come back to by id or the newest; no terminal points to exec', async () => {
  const old = { ...terminal, id: 'term_0', createdAt: '2025-01-01T00:00:00Z' }
  const ended = { ...terminal, id: 'term_9', state: 'ended' as const, createdAt: '2026-06-01T00:00:00Z' }
  await using service = await standIn(
    {
      'GET /projects/shop/terminals': () => ({ items: [old, terminal, ended] }),
      'DELETE /projects/shop/terminals/term_0': (_call, response) => void response.writeHead(204).end(),
    },
    {
      [path]: (socket) => {
        socket.send(JSON.stringify({ type: 'start', seq: 0, terminal: { ...terminal, output: { first: 0, end: 14 } } }))
        socket.send(Buffer.from('scroll\x1b[6nback'))
        socket.send(exit(0))
      },
    },
  )
  const list = await stq(['shell', 'shop', '--list'], { url: service.url })
  assert.match(list.stdout, /^TERMINAL +STATE .*\nterm_0 +● running .*\nterm_1 +● running .*\nterm_9 +○ stopped /)
  assert.equal((await stq(['shell', 'shop', '--end', 'term_0'], { url: service.url })).code, 0)
  assert.equal((await onTerminal(['shell', 'shop', '--attach'], { url: service.url })).stdout, 'scrollback')
  assert.equal((await onTerminal(['shell', 'shop', '--attach', 'term_1'], { url: service.url })).stdout, 'scrollback')
  const mistyped = await onTerminal(['shell', 'shop', '--attach', 'term_2'], { url: service.url })
  assert.match(String(mistyped.error), /There is no terminal "term_2"/)
  const pipe = await stq(['shell', 'shop'], { url: service.url })
  assert.equal(pipe.code, 2)
  assert.match(pipe.stderr, /A shell needs a terminal.*\n.*stq exec shop -- npm ls/)
})

test('Ctrl-] is a key like all others unless a command follows, also when both come apart', () => {
  const typed = escapeKeys()
  const send = (text: string) => {
    const { keys, command } = typed(Buffer.from(text))
    return [Buffer.from(keys).toString(), command]
  }
  assert.deepEqual(send('ls\x1d'), ['ls', null])
  assert.deepEqual(send('x'), ['\x1dx', null])
  assert.deepEqual(send('\x1d\x1dd'), ['\x1dd', null])
  assert.deepEqual(send('a\x1d'), ['a', null])
  assert.deepEqual(send('dnever sent'), ['', 'detach'])
  assert.deepEqual(send('\x1dk'), ['', 'end'])
})

test('questions to the terminal are not asked again when output is shown again', () => {
  const shown = (text: string) => Buffer.from(withoutQuestions(Buffer.from(text))).toString()
  assert.equal(shown('a\x1b[c\x1b[>0c\x1b[6n\x1b[?2026$p\x1b]11;?\x07\x1b[>q\x1bP+q544e\x1b\\b ü'), 'ab ü')
  const kept = '\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J\x1b[?25h'
  assert.equal(shown(kept), kept)
})

test('modes that a program switched on are switched off again, also when a sequence comes in pieces', () => {
  const modes = terminalModes()
  for (const text of ['plain', '\x1b[?10', '49;2004h\x1b[?25', 'l ü', '\x1b[?1000h\x1b[?1000l\x1b[31m'])
    modes.watch(Buffer.from(text))
  assert.equal(modes.undo(), '\x1b[?1049l\x1b[?2004l\x1b[?25h\x1b[0m')
  modes.watch(Buffer.from('\x1b[?1049;2004l\x1b[?25h'))
  assert.equal(modes.undo(), '')
})
