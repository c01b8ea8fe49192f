import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { ApiError, ConnectionError, createClient } from '../src/index.ts'
import { problem, sendJson, sendProblem, standIn } from './stand-in.ts'

const signal = () => AbortSignal.timeout(25_000)
const terminal = { id: 'term_1' }
const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

test('against a stand-in: a terminal cut after every chunk goes on at the byte, with the size that holds now', {
  timeout: 60_000,
}, async () => {
  const queries: URLSearchParams[] = []
  await using service = await standIn({
    socket: (socket, request) => {
      const query = new URL(request.url!, 'http://stand-in').searchParams
      queries.push(query)
      const after = Number(query.get('after') ?? 0)
      socket.send(JSON.stringify({ type: 'start', seq: after, terminal }))
      if (after < all.length) {
        socket.send(all.subarray(after, after + 37))
        return socket.close()
      }
      socket.send(JSON.stringify({ type: 'exit', seq: after, code: 7, signal: null }))
    },
  })
  const chunks: Uint8Array[] = []
  const session = createClient({ baseUrl: service.url }).followTerminal('shop', 'term_1', {
    cols: 80,
    rows: 24,
    signal: signal(),
    onOutput: (bytes) => {
      if (chunks.length === 0) session.resize(120, 40)
      chunks.push(bytes)
    },
  })
  const end = await session.ended
  assert.deepEqual(Buffer.concat(chunks), all)
  assert.deepEqual([end?.code, end?.signal], [7, null])
  assert.equal(queries[0]!.toString(), 'cols=80&rows=24')
  assert.equal(queries[1]!.toString(), 'after=37&cols=120&rows=40')
})

test('against a stand-in: keystrokes typed while disconnected come in order with the next connection; too many ring the bell', async () => {
  const received: Buffer[] = []
  let connections = 0
  await using service = await standIn({
    socket: (socket) => {
      connections++
      if (connections === 1) return socket.close()
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (!isBinary) return
        received.push(data)
        if (Buffer.concat(received).toString().endsWith('end'))
          socket.send(JSON.stringify({ type: 'exit', seq: 0, code: 0, signal: null }))
      })
      socket.send(JSON.stringify({ type: 'start', seq: 0, terminal }))
    },
  })
  const session = createClient({ baseUrl: service.url }).followTerminal('shop', 'term_1', {
    signal: signal(),
    onOutput: () => {},
  })
  const reused = new Uint8Array(Buffer.from('ls\r'))
  assert.equal(session.send(reused), true)
  // A buffer that its owner fills again does not change what was typed.
  reused.fill(0)
  assert.equal(session.send(Buffer.alloc(70_000)), false)
  assert.equal(session.send(Buffer.from('end')), true)
  await session.ended
  assert.equal(Buffer.concat(received).toString(), 'ls\rend')
})

test('against a stand-in: large pastes are sent in frames that the service takes, sizes once each', async () => {
  const paste = Buffer.alloc(200_000, 'p')
  const sizes: number[] = []
  const resizes: string[] = []
  await using service = await standIn({
    socket: (socket) => {
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) sizes.push(data.length)
        else resizes.push(data.toString())
        if (sizes.reduce((sum, size) => sum + size, 0) === paste.length)
          socket.send(JSON.stringify({ type: 'exit', seq: 0, code: null, signal: 'SIGHUP' }))
      })
      socket.send(JSON.stringify({ type: 'start', seq: 0, terminal }))
    },
  })
  const session = createClient({ baseUrl: service.url }).followTerminal('shop', 'term_1', {
    cols: 80,
    rows: 24,
    signal: signal(),
    onOutput: () => {},
    onFrame: ({ type }) => {
      if (type !== 'start') return
      setImmediate(() => {
        session.resize(80, 24)
        session.resize(100, 30)
        session.resize(100, 30)
        session.send(paste)
      })
    },
  })
  const end = await session.ended
  assert.equal(end?.signal, 'SIGHUP')
  assert.ok(Math.max(...sizes) <= 64 * 1024)
  assert.deepEqual(resizes, ['{"type":"resize","cols":100,"rows":30}'])
})

test('against a stand-in: a terminal that is forgotten ends with the problem; an offset that is too old reads what is kept', async () => {
  const gone = problem(404, 'not_found')
  await using missing = await standIn({ refuse: () => gone, http: (_request, response) => sendProblem(response, gone) })
  const nothing = { signal: signal(), onOutput: () => {} }
  const session = createClient({ baseUrl: missing.url }).followTerminal('shop', 'term_9', nothing)
  await assert.rejects(session.ended, (error) => error instanceof ApiError && error.status === 404)

  const urls: string[] = []
  await using service = await standIn({
    socket: (socket, request) => {
      urls.push(request.url!)
      if (urls.length === 1)
        return socket.send(JSON.stringify({ type: 'error', seq: 1, problem: problem(410, 'too_old') }), () =>
          socket.close(),
        )
      socket.send(JSON.stringify({ type: 'start', seq: 900, terminal }))
      socket.send(Buffer.from('kept'))
      socket.send(JSON.stringify({ type: 'exit', seq: 904, code: 0, signal: null }))
    },
  })
  let text = ''
  const again = createClient({ baseUrl: service.url }).followTerminal('shop', 'term_1', {
    after: 5,
    signal: signal(),
    onOutput: (bytes) => {
      text += Buffer.from(bytes).toString()
    },
  })
  await again.ended
  assert.equal(text, 'kept')
  assert.deepEqual(
    urls.map((url) => url.split('?')[1] ?? ''),
    ['after=5', ''],
  )
})

test('against a stand-in: exec passes arguments, input, both outputs and the exit code through, byte for byte', async () => {
  const received: Buffer[] = []
  const texts: string[] = []
  await using service = await standIn({
    socket: (socket) => {
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) return void received.push(data)
        texts.push(data.toString())
        const message = JSON.parse(data.toString())
        if (message.type === 'run') socket.send(JSON.stringify({ type: 'start', seq: 1, pid: 42 }))
        if (message.type !== 'eof') return
        const input = Buffer.concat(received)
        for (let at = 0; at < input.length; at += 16_000)
          socket.send(Buffer.concat([Buffer.from([1]), input.subarray(at, at + 16_000)]))
        socket.send(Buffer.concat([Buffer.from([2]), all]))
        socket.send(JSON.stringify({ type: 'exit', seq: 2, code: 41, signal: null }))
      })
    },
  })
  const input = Buffer.concat(Array.from({ length: 2000 }, () => all))
  const written = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] }
  const command = { argv: ['cat', '--', 'ü'], workload: 'node', env: { A: 'b' } }
  const pids: number[] = []
  const { ended } = createClient({ baseUrl: service.url }).exec('shop', command, {
    signal: signal(),
    stdin: (async function* () {
      yield input.subarray(0, 100_000)
      yield input.subarray(100_000)
    })(),
    onStart: (pid) => pids.push(pid),
    onOutput: (stream, bytes) => void written[stream].push(bytes),
  })
  const end = await ended
  assert.equal(end?.code, 41)
  assert.deepEqual(pids, [42])
  assert.ok(Buffer.concat(written.stdout).equals(input))
  assert.ok(Buffer.concat(written.stderr).equals(all))
  assert.deepEqual(JSON.parse(texts[0]!), { type: 'run', ...command })
  assert.deepEqual(texts.slice(1), ['{"type":"eof"}'])
})

test('against a stand-in: signals reach the program, also one that was sent before it ran', async () => {
  const signals: string[] = []
  await using service = await standIn({
    socket: (socket) => {
      socket.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString())
        if (message.type === 'run') socket.send(JSON.stringify({ type: 'start', seq: 1, pid: 42 }))
        if (message.type !== 'signal') return
        signals.push(message.signal)
        if (signals.length === 2)
          socket.send(JSON.stringify({ type: 'exit', seq: 2, code: null, signal: message.signal }))
      })
    },
  })
  const session = createClient({ baseUrl: service.url }).exec(
    'shop',
    { argv: ['sleep', '60'] },
    { signal: signal(), onStart: () => session.kill('SIGTERM'), onOutput: () => {} },
  )
  session.kill('SIGINT')
  const end = await session.ended
  assert.equal(end?.signal, signals[1])
  assert.deepEqual(signals.toSorted(), ['SIGINT', 'SIGTERM'])
})

test('against a stand-in: a program that cannot run, a refusal and a lost connection each say so, and none is tried again', async () => {
  let connections = 0
  let refusal: ReturnType<typeof problem> | null = null
  await using service = await standIn({
    refuse: () => refusal,
    http: (_request, response) =>
      refusal === null ? sendJson(response, 200, { items: [] }) : sendProblem(response, refusal),
    socket: (socket) => {
      if (++connections === 1)
        return socket.send(JSON.stringify({ type: 'error', seq: 1, problem: problem(422, 'program_not_found') }), () =>
          socket.close(),
        )
      socket.once('message', () => {
        socket.send(JSON.stringify({ type: 'start', seq: 1, pid: 42 }))
        socket.terminate()
      })
    },
  })
  const client = createClient({ baseUrl: service.url })
  const exec = () => client.exec('shop', { argv: ['x'] }, { signal: signal(), onOutput: () => {} }).ended
  await assert.rejects(exec(), (error) => error instanceof ApiError && error.problem.code === 'program_not_found')
  await assert.rejects(exec(), (error) => error instanceof ConnectionError && /connection was lost/.test(error.message))
  const long = client.exec('shop', { argv: ['x', 'ü'.repeat(40_000)] }, { signal: signal(), onOutput: () => {} }).ended
  await assert.rejects(long, (error) => error instanceof ApiError && error.problem.code === 'too_large')
  refusal = problem(403, 'scope_insufficient')
  await assert.rejects(exec(), (error) => error instanceof ApiError && error.problem.code === 'scope_insufficient')
  assert.equal(connections, 2)
})

test('against a stand-in: a reader that does not take the output of a program holds it, and then gets all of it', {
  timeout: 60_000,
}, async () => {
  const chunk = Buffer.concat([Buffer.from([1]), Buffer.alloc(256 * 1024, 'x')])
  const total = 400
  let sent = 0
  await using service = await standIn({
    socket: async (socket) => {
      await once(socket, 'message')
      socket.send(JSON.stringify({ type: 'start', seq: 1, pid: 42 }))
      for (; sent < total && socket.readyState === 1; sent++)
        await new Promise<void>((resolve) => socket.send(chunk, () => resolve()))
      socket.send(JSON.stringify({ type: 'exit', seq: 2, code: 0, signal: null }))
    },
  })
  let bytes = 0
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const client = createClient({
    baseUrl: service.url,
    WebSocket: WebSocket as unknown as typeof globalThis.WebSocket,
    token: 'stq_x',
  })
  const session = client.exec(
    'shop',
    { argv: ['yes'] },
    {
      signal: AbortSignal.timeout(50_000),
      onOutput: async (_stream, chunk) => {
        await released
        bytes += chunk.length
      },
    },
  )
  let before = -1
  while (before !== sent || sent === 0) {
    before = sent
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  assert.ok(sent < total, `${sent} chunks were sent to a reader that took none`)
  release()
  await session.ended
  assert.equal(bytes, total * 256 * 1024)
})
