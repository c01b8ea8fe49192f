import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, createClient, type FollowState, followOperation } from '../src/index.ts'
import { problem, sendJson, sendProblem, standIn } from './stand-in.ts'

const line = (text: string) => ({
  workload: 'web',
  time: '2026-01-01T00:00:00Z',
  stream: 'stdout' as const,
  text,
  cursor: `c${text}`,
})

test('against a stand-in: lines come in order, and a lost connection goes on after the last line', async () => {
  const urls: string[] = []
  await using service = await standIn({
    socket: (socket, request) => {
      urls.push(request.url!)
      assert.equal(request.headers.authorization, 'Bearer stq_x')
      const first = urls.length === 1
      socket.send(JSON.stringify({ type: 'start', seq: 0 }))
      socket.send(JSON.stringify({ type: 'lines', seq: 1, items: first ? [line('1'), line('2')] : [line('3')] }))
      if (first) socket.close()
    },
  })
  const texts: string[] = []
  const states: FollowState[] = []
  const stop = new AbortController()
  await createClient({ baseUrl: service.url, token: 'stq_x' }).followLogs(
    'shop',
    { workload: 'web', tail: 50 },
    {
      signal: stop.signal,
      onState: (state) => states.push(state),
      onLines: (lines) => {
        texts.push(...lines.map(({ text }) => text))
        if (texts.includes('3')) stop.abort()
      },
    },
  )
  assert.deepEqual(texts, ['1', '2', '3'])
  assert.deepEqual(urls, [
    '/api/v1/projects/shop/logs/ws?workload=web&tail=50',
    '/api/v1/projects/shop/logs/ws?workload=web&cursor=c2',
  ])
  assert.deepEqual(states, ['connecting', 'live', 'retrying', 'live', 'ended'])
})

for (const [status, code] of [
  [401, 'unauthorized'],
  [403, 'project_forbidden'],
  [404, 'not_found'],
] as const) {
  test(`against a stand-in: an upgrade refused with ${status} ends the stream with the problem`, async () => {
    let calls = 0
    const refusal = problem(status, code)
    await using service = await standIn({
      refuse: () => refusal,
      http: (_request, response) => sendProblem(response, refusal),
    })
    const client = createClient({ baseUrl: service.url, token: 'stq_x', onUnauthorized: () => calls++ })
    const following = client.followStats('shop', {
      signal: new AbortController().signal,
      onStats: () => assert.fail('no statistics'),
    })
    await assert.rejects(following, (error) => error instanceof ApiError && error.problem.code === code)
    assert.equal(calls, status === 401 ? 1 : 0)
  })
}

test('against a stand-in: an error frame about a revoked token ends the stream, about a hiccup does not', async () => {
  let connections = 0
  await using service = await standIn({
    socket: (socket) => {
      const now = ++connections === 1 ? problem(503, 'unavailable') : problem(401, 'unauthorized')
      socket.send(JSON.stringify({ type: 'error', seq: 1, problem: now }))
      socket.close()
    },
  })
  const following = createClient({ baseUrl: service.url }).followLogs(
    'shop',
    {},
    { signal: new AbortController().signal, onLines: () => {} },
  )
  await assert.rejects(following, (error) => error instanceof ApiError && error.status === 401)
  assert.equal(connections, 2)
})

test('against a stand-in: an abort ends a stream at once, even when the other side is silent', async () => {
  await using service = await standIn({ socket: (socket) => socket.pause() })
  const stop = new AbortController()
  const following = createClient({ baseUrl: service.url }).followEvents(
    {},
    {
      signal: stop.signal,
      onEvent: () => {},
      onState: (state) => state === 'live' && setTimeout(() => stop.abort(), 20),
    },
  )
  await following
})

const event = (seq: number) => ({
  seq,
  time: '2026-01-01T00:00:00Z',
  type: 'project.changed' as const,
  project: 'prj_1',
  data: {},
})

test('against a stand-in: a position that is no longer kept is reported as a gap once the stream is live again', async () => {
  const urls: string[] = []
  await using service = await standIn({
    refuse: (request) => {
      urls.push(request.url!)
      return request.url!.includes('after=5') ? problem(410, 'too_old') : null
    },
    http: (_request, response) => sendProblem(response, problem(410, 'too_old')),
    socket: (socket) => {
      socket.send(JSON.stringify({ type: 'start', seq: 0 }))
      socket.send(JSON.stringify({ type: 'event', seq: 90, event: event(90) }))
    },
  })
  const story: string[] = []
  const stop = new AbortController()
  await createClient({ baseUrl: service.url }).followEvents(
    { after: 5 },
    {
      signal: stop.signal,
      onGap: () => story.push('gap'),
      onEvent: ({ seq }) => {
        story.push(`event ${seq}`)
        stop.abort()
      },
    },
  )
  assert.deepEqual(story, ['gap', 'event 90'])
  assert.deepEqual(urls, ['/api/v1/events/ws?after=5', '/api/v1/events/ws'])
})

test('against a stand-in: a connection lost after its first frame goes on from there, one lost before it is a gap', async () => {
  const urls: string[] = []
  await using service = await standIn({
    socket: (socket, request) => {
      urls.push(request.url!)
      if (urls.length > 1) socket.send(JSON.stringify({ type: 'start', seq: 40 }))
      if (urls.length < 3) return socket.close()
      for (const seq of [41, 42]) socket.send(JSON.stringify({ type: 'event', seq, event: event(seq) }))
    },
  })
  const story: string[] = []
  const stop = new AbortController()
  await createClient({ baseUrl: service.url }).followEvents(
    {},
    {
      signal: stop.signal,
      onGap: () => story.push('gap'),
      onEvent: ({ seq }) => {
        story.push(`event ${seq}`)
        if (seq === 42) stop.abort()
      },
    },
  )
  assert.deepEqual(story, ['gap', 'event 41', 'event 42'])
  assert.deepEqual(urls, ['/api/v1/events/ws', '/api/v1/events/ws', '/api/v1/events/ws?after=40'])
})

const operation = (state: string, progress: number) => ({
  id: 'op_1',
  kind: 'start',
  project: 'prj_1',
  state,
  steps: [],
  progress,
  error: null,
})

test('against a stand-in: an operation is followed to its end, with progress on the way and through a restart of the service', async () => {
  let waits = 0
  let state = operation('running', 0.5)
  await using service = await standIn({
    http: (request, response) => {
      if (!request.url!.includes('wait=')) return sendJson(response, 200, state)
      waits++
      if (waits === 1) return void setTimeout(() => request.socket.destroy(), 150)
      state = operation('succeeded', 1)
      sendJson(response, 200, state)
    },
    socket: (socket) => {
      socket.send(JSON.stringify({ type: 'start', seq: 0 }))
      const output = {
        ...event(1),
        type: 'operation.output',
        data: { operation: 'op_1', step: 'install', lines: ['added 3 packages'] },
      }
      const foreign = {
        ...event(2),
        type: 'operation.output',
        data: { operation: 'op_2', step: 'install', lines: ['not ours'] },
      }
      for (const each of [output, foreign]) socket.send(JSON.stringify({ type: 'event', seq: each.seq, event: each }))
    },
  })
  const progress: number[] = []
  const output: string[] = []
  const reachable: boolean[] = []
  const end = await followOperation(createClient({ baseUrl: service.url }), 'op_1', {
    signal: new AbortController().signal,
    onChange: (now) => progress.push(now.progress),
    onOutput: (_step, lines) => output.push(...lines),
    onReachable: (now) => reachable.push(now),
  })
  assert.equal(end.state, 'succeeded')
  assert.equal(progress[0], 0.5)
  assert.equal(progress.at(-1), 1)
  assert.deepEqual(output, ['added 3 packages'])
  assert.deepEqual(reachable, [false, true])
})

test('against a stand-in: following an operation that does not exist fails as the service says', async () => {
  await using service = await standIn({})
  const following = followOperation(createClient({ baseUrl: service.url }), 'op_9', {
    signal: new AbortController().signal,
  })
  await assert.rejects(following, (error) => error instanceof ApiError && error.status === 404)
})

test('against a stand-in: without WebSockets the progress of an operation is still seen', async () => {
  let looks = 0
  let finish = () => {}
  await using service = await standIn({
    refuse: () => problem(404, 'not_found'),
    http: (request, response) => {
      if (request.url!.startsWith('/api/v1/events')) return sendProblem(response, problem(404, 'not_found'))
      if (request.url!.includes('wait=')) finish = () => sendJson(response, 200, operation('succeeded', 1))
      else sendJson(response, 200, operation('running', ++looks / 10))
      if (looks === 3) finish()
    },
  })
  const progress: number[] = []
  await followOperation(createClient({ baseUrl: service.url }), 'op_1', {
    signal: new AbortController().signal,
    onChange: (now) => progress.push(now.progress),
  })
  assert.deepEqual(progress.slice(0, 2), [0.1, 0.2])
  assert.equal(progress.at(-1), 1)
})
