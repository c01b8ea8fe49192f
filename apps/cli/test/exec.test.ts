import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebSocket } from 'ws'
import { stq } from './run-stq.ts'
import { problem, standIn } from './stand-in.ts'

interface Received {
  readonly texts: Record<string, unknown>[]
  readonly input: Buffer[]
}

/** Speaks the service's side: `onEnd` is called when standard input has ended, `onSignal` at a signal. */
function program(
  socket: WebSocket,
  received: Received,
  act: { onEnd?: (input: Buffer) => void; onSignal?: (name: string) => void; onStart?: () => void },
): void {
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) return void received.input.push(data)
    const message = JSON.parse(data.toString())
    received.texts.push(message)
    if (message.type === 'run') {
      socket.send(JSON.stringify({ type: 'start', seq: 1, pid: 42 }))
      act.onStart?.()
    }
    if (message.type === 'eof') act.onEnd?.(Buffer.concat(received.input))
    if (message.type === 'signal') act.onSignal?.(message.signal)
  })
}

const exit = (code: number | null, signal: string | null = null) =>
  JSON.stringify({ type: 'exit', seq: 2, code, signal })
const onStdout = (bytes: Buffer) => Buffer.concat([Buffer.from([1]), bytes])
const onStderr = (bytes: Buffer) => Buffer.concat([Buffer.from([2]), bytes])

test('against a stand-in: exec passes arguments, input, output and exit code through, byte for byte', async () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const input = Buffer.concat(Array.from({ length: 4000 }, () => all))
  const received: Received = { texts: [], input: [] }
  await using service = await standIn(
    {},
    {
      '/projects/shop/exec/ws': (socket) =>
        program(socket, received, {
          onEnd: (bytes) => {
            for (let at = 0; at < bytes.length; at += 50_000) socket.send(onStdout(bytes.subarray(at, at + 50_000)))
            socket.send(onStderr(all))
            socket.send(exit(42))
          },
        }),
    },
  )
  const args = ['exec', 'shop', '-w', 'node', '-e', 'A=b=c', '--', 'prog', '--json', '-h', '--', 'ü x', '']
  const { code, stdout, stderr } = await stq(args, { url: service.url, input, encoding: 'latin1' })
  assert.equal(code, 42)
  assert.equal(stdout.length, input.length)
  assert.ok(Buffer.from(stdout, 'latin1').equals(input))
  assert.ok(Buffer.from(stderr, 'latin1').equals(all))
  const argv = ['prog', '--json', '-h', '--', 'ü x', '']
  assert.deepEqual(received.texts, [{ type: 'run', argv, workload: 'node', env: { A: 'b=c' } }, { type: 'eof' }])
})

test('against a stand-in: signals go to the program, which decides what they mean', async () => {
  const signals: string[] = []
  const received: Received = { texts: [], input: [] }
  await using service = await standIn(
    {},
    {
      '/projects/shop/exec/ws': (socket) =>
        program(socket, received, {
          onStart: () => socket.send(onStdout(Buffer.from('ready\n'))),
          onSignal: (name) => {
            signals.push(name)
            socket.send(signals.length < 3 ? onStdout(Buffer.from('no\n')) : exit(null, 'SIGTERM'))
          },
        }),
    },
  )
  const { code, stdout } = await stq(['exec', 'shop', '--no-stdin', '--', 'stubborn'], {
    url: service.url,
    meanwhile: (child) => {
      const names = ['SIGINT', 'SIGINT', 'SIGTERM'] as const
      let sent = 0
      child.stdout.on('data', () => child.kill(names[sent++]))
    },
  })
  assert.deepEqual([code, signals], [143, ['SIGINT', 'SIGINT', 'SIGTERM']])
  assert.equal(stdout, 'ready\nno\nno\n')
})

test('against a stand-in: a program that does not exist is 127, a lost connection 125, and what is missing is asked for', async () => {
  const missing = {
    type: 'error',
    seq: 1,
    problem: problem(422, 'program_not_found', { detail: 'There is no "grunt".' }),
  }
  await using service = await standIn(
    {},
    {
      '/projects/shop/exec/ws': (socket) => socket.send(JSON.stringify(missing), () => socket.close()),
      '/projects/blog/exec/ws': (socket) =>
        program(socket, { texts: [], input: [] }, { onStart: () => socket.terminate() }),
    },
  )
  const none = await stq(['exec', 'shop', '--', 'grunt'], { url: service.url })
  assert.deepEqual([none.code, none.stdout], [127, ''])
  assert.match(none.stderr, /There is no "grunt"\./)
  const lost = await stq(['exec', 'blog', '--', 'sleep'], { url: service.url })
  assert.equal(lost.code, 125)
  assert.match(lost.stderr, /connection was lost while the program ran/)
  for (const args of [
    ['exec', 'shop'],
    ['exec', 'shop', 'npm', 'test'],
    ['exec', 'shop', '--'],
  ]) {
    const wrong = await stq(args, { url: service.url })
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /Write it after two dashes: stq exec shop -- npm ls/)
  }
  assert.equal((await stq(['exec', 'shop', '-e', 'novalue', '--', 'x'], { url: service.url })).code, 2)
})

test('against a stand-in: a reader that leaves ends the program, as in every pipe', async () => {
  const closed = Promise.withResolvers<void>()
  await using service = await standIn(
    {},
    {
      '/projects/shop/exec/ws': (socket) => {
        socket.on('close', () => closed.resolve())
        program(
          socket,
          { texts: [], input: [] },
          {
            onStart: () => {
              const pump = () => socket.readyState === 1 && socket.send(onStdout(Buffer.alloc(60_000, 'y')), pump)
              pump()
            },
          },
        )
      },
    },
  )
  await stq(['exec', 'shop', '--', 'yes'], {
    url: service.url,
    meanwhile: (child) => {
      child.stdout.once('data', () => child.stdout.destroy())
    },
  })
  await closed.promise
})
