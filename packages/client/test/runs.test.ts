import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run, RunFrame } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { ApiError, createClient, type FollowState } from '../src/index.ts'
import { problem, sendJson, sendProblem, standIn } from './stand-in.ts'

const run = { id: 'run_1', project: 'prj_1', state: 'running' } as Run
const ended: Run = { ...run, state: 'failed', exitCode: 3 }
const output = (seq: number, text = `line ${seq}\n`): RunFrame => ({
  type: 'output',
  seq,
  stream: seq % 2 === 0 ? 'stderr' : 'stdout',
  time: 0,
  text,
})
const exit = (seq: number): RunFrame => ({ type: 'exit', seq, code: 3, signal: null, run: ended })

/** A run of 20 lines that is sent from a position on, as the service does. */
function framesAfter(after: number): RunFrame[] {
  const lines = Array.from({ length: 20 }, (_, index) => output(index + 1)).filter(({ seq }) => seq > after)
  return [{ type: 'start', seq: after, run }, ...lines, { type: 'status', seq: 20, run: ended }, exit(20)]
}

test('against a stand-in: a run whose connection is cut after every frame is read to its end, nothing lost or repeated', {
  timeout: 60_000,
}, async () => {
  const positions: (string | null)[] = []
  await using service = await standIn({
    socket: (socket, request) => {
      const after = new URL(request.url!, 'http://stand-in').searchParams.get('after')
      positions.push(after)
      // One frame beyond the first gets through each time.
      const frames = framesAfter(Number(after ?? 0))
      for (const frame of frames.slice(0, frames.length === 3 ? 3 : 2)) socket.send(JSON.stringify(frame))
      socket.close()
    },
  })
  const seen: number[] = []
  const last = await createClient({ baseUrl: service.url }).followRun('shop', 'run_1', {
    signal: AbortSignal.timeout(50_000),
    onFrame: (frame) => {
      if (frame.type === 'output') seen.push(frame.seq)
    },
  })
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  assert.deepEqual(positions.slice(0, 3), [null, '1', '2'])
  assert.deepEqual(last, ended)
})

test('against a stand-in: a stream that has ended is not opened again, also when the service never closes it', async () => {
  let connections = 0
  await using service = await standIn({
    socket: (socket) => {
      connections++
      for (const frame of framesAfter(0)) socket.send(JSON.stringify(frame))
    },
  })
  const states: FollowState[] = []
  const last = await createClient({ baseUrl: service.url }).followRun('shop', 'run_1', {
    signal: AbortSignal.timeout(20_000),
    onFrame: () => {},
    onState: (state) => states.push(state),
  })
  assert.equal(last?.exitCode, 3)
  assert.equal(connections, 1)
  assert.deepEqual(states, ['connecting', 'live', 'ended'])
})

test('against a stand-in: a run whose output is gone ends the stream with the problem', async () => {
  const refusal = problem(410, 'too_old')
  await using service = await standIn({
    refuse: () => refusal,
    http: (_request, response) => sendProblem(response, refusal),
  })
  const following = createClient({ baseUrl: service.url }).followRun('shop', 'run_1', {
    after: 5,
    signal: AbortSignal.timeout(20_000),
    onFrame: () => {},
  })
  await assert.rejects(following, (error) => error instanceof ApiError && error.status === 410)
})

for (const [name, options] of [
  ['a browser’s', {}],
  ['one that can be paused', { WebSocket: WebSocket as unknown as typeof globalThis.WebSocket }],
] as const) {
  test(`against a stand-in: with ${name} socket a slow reader keeps little, and still gets every frame once`, {
    timeout: 60_000,
  }, async () => {
    const text = 'x'.repeat(256 * 1024)
    const total = 200
    let sent = 0
    await using service = await standIn({
      socket: async (socket, request) => {
        const after = Number(new URL(request.url!, 'http://stand-in').searchParams.get('after') ?? 0)
        socket.send(JSON.stringify({ type: 'start', seq: after, run }))
        for (let seq = after + 1; seq <= total && socket.readyState === 1; seq++) {
          await new Promise<void>((resolve) => socket.send(JSON.stringify(output(seq, text)), () => resolve()))
          sent = Math.max(sent, seq)
        }
        socket.send(JSON.stringify(exit(total)))
      },
    })
    const seen: number[] = []
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const following = createClient({ baseUrl: service.url, ...options }).followRun('shop', 'run_1', {
      signal: AbortSignal.timeout(50_000),
      onFrame: async (frame) => {
        if (frame.type !== 'output') return
        if (seen.length === 1) await released
        seen.push(frame.seq)
      },
    })
    // The other side comes to a stop long before its end: what stands still is the reader, then the wire.
    let before = -1
    while (before !== sent || sent === 0) {
      before = sent
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    assert.ok(sent < total, `${sent} frames were sent to a reader that took one`)
    release()
    await following
    assert.deepEqual(
      seen,
      Array.from({ length: total }, (_, index) => index + 1),
    )
  })
}

test('against a stand-in: what the reader throws ends the stream with it', async () => {
  await using service = await standIn({
    socket: (socket) => {
      for (const frame of framesAfter(0)) socket.send(JSON.stringify(frame))
    },
  })
  const client = createClient({ baseUrl: service.url })
  const signal = AbortSignal.timeout(20_000)
  const sync = client.followRun('shop', 'run_1', {
    signal,
    onFrame: () => {
      throw new Error('full disk')
    },
  })
  await assert.rejects(sync, /full disk/)
  const late = client.followRun('shop', 'run_1', { signal, onFrame: () => Promise.reject(new Error('full disk')) })
  await assert.rejects(late, /full disk/)
})

test('against a stand-in: a run is started once, although the answer is lost and the service is busy with the first request', async () => {
  const keys: (string | undefined)[] = []
  const bodies: string[] = []
  const urls: string[] = []
  await using service = await standIn({
    http: (request, response, body) => {
      urls.push(`${request.method} ${request.url}`)
      keys.push(request.headers['idempotency-key'] as string)
      bodies.push(body)
      if (keys.length === 1) return void request.socket.destroy()
      if (keys.length === 2) return sendProblem(response, problem(409, 'idempotency_in_progress'))
      sendJson(response, 202, run)
    },
    socket: (socket) => {
      for (const frame of framesAfter(0)) socket.send(JSON.stringify(frame))
    },
  })
  const started: string[] = []
  const last = await createClient({ baseUrl: service.url }).startRun(
    'shop',
    { suite: 'node.test', filter: 'adds' },
    {
      signal: AbortSignal.timeout(20_000),
      onStart: ({ id }) => started.push(id),
      onFrame: () => {},
    },
  )
  assert.equal(last?.exitCode, 3)
  assert.deepEqual(started, ['run_1'])
  assert.deepEqual(new Set(urls), new Set(['POST /api/v1/projects/shop/tests/node.test']))
  assert.equal(keys.length, 3)
  assert.equal(new Set(keys).size, 1)
  assert.deepEqual(bodies, Array(3).fill('{"filter":"adds"}'))
})

test('against a stand-in: a refusal to start is told at once', async () => {
  let asked = 0
  await using service = await standIn({
    http: (_request, response) => {
      asked++
      sendProblem(response, problem(409, 'busy'))
    },
  })
  const options = { signal: AbortSignal.timeout(20_000), onFrame: () => {} }
  const starting = createClient({ baseUrl: service.url }).startRun('shop', { action: 'node.build' }, options)
  await assert.rejects(starting, (error) => error instanceof ApiError && error.problem.code === 'busy')
  assert.equal(asked, 1)
})
