import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type EventRecord, operationList } from '@stackquay/contract'
import { WebSocket } from 'ws'
import type { FrameSocket } from '../src/http/handler.ts'
import { bearer, openTestHttpApp, type TestHttpApp, ticketed } from './http-support.ts'

interface Frame {
  readonly type: string
  readonly seq: number
  readonly event?: EventRecord
  readonly problem?: { code: string }
  readonly [field: string]: unknown
}

/** A client that keeps what it hears. */
function follow(address: string, path: string, headers: Record<string, string>) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/v1${path}`, { headers })
  const frames: Frame[] = []
  let heard = Promise.withResolvers<void>()
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)))
    heard.resolve()
    heard = Promise.withResolvers()
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  const refused = new Promise<{ status: number; problem: { code: string; requestId: string } }>((resolve) =>
    socket.once('unexpected-response', async (_request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      resolve({ status: response.statusCode ?? 0, problem: JSON.parse(String(Buffer.concat(chunks))) })
    }),
  )
  socket.on('error', () => {})
  const until = async (enough: (frames: readonly Frame[]) => boolean) => {
    while (!enough(frames)) await heard.promise
    return frames
  }
  return { socket, frames, closed, refused, until }
}

const say = (http: TestHttpApp, project: string | null, count = 1, from = 0) =>
  http.store.transaction(async (tx) => {
    for (let index = 0; index < count; index++)
      await tx.events.append({ type: 'project.changed', project, data: { index: from + index } })
  })
const events = (frames: readonly Frame[]) => frames.filter(({ type }) => type === 'event')

test('events arrive as frames in order, and ?after= goes on without loss or repetition', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token({ scope: 'read' })
  const address = await http.listen()
  await say(http, null, 3)
  const first = follow(address, '/events/ws', bearer(value))
  const [start] = await first.until((frames) => frames.length > 0)
  assert.equal(start?.type, 'start')
  await say(http, 'prj_a', 5, 3)
  await first.until((frames) => events(frames).length === 5)
  const last = first.frames.at(-1)!.seq
  first.socket.close()
  await first.closed
  await say(http, 'prj_a', 5, 8)
  const second = follow(address, `/events/ws?after=${last}`, bearer(value))
  await second.until((frames) => events(frames).length >= 5)
  await say(http, null, 700, 13)
  await second.until((frames) => events(frames).length >= 705)
  const heard = [...events(first.frames), ...events(second.frames)]
  assert.deepEqual(
    heard.map(({ event }) => event?.data.index),
    Array.from({ length: 710 }, (_, index) => index + 3),
  )
  assert.ok(heard.every(({ seq, event }) => seq === event?.seq))
  second.socket.close()
})

test('a restricted token hears of its own projects alone', async (t) => {
  const http = await openTestHttpApp(t)
  const shop = await http.project('shop')
  const { value } = await http.token({ scope: 'read', projects: [shop.id] })
  const client = follow(await http.listen(), '/events/ws', bearer(value))
  await client.until((frames) => frames.length > 0)
  await say(http, 'prj_other')
  await say(http, null)
  await say(http, shop.id)
  await client.until((frames) => events(frames).length > 0)
  assert.deepEqual(
    events(client.frames).map(({ event }) => event?.project),
    [shop.id],
  )
  client.socket.close()
})

test('before the upgrade every refusal is plain HTTP with its problem', async (t) => {
  const http = await openTestHttpApp(t)
  const shop = await http.project('shop')
  const address = await http.listen()
  const { value } = await http.token({ projects: [shop.id] })
  const { cookie, headers: session } = await http.session('ada')
  const refusal = async (path: string, headers: Record<string, string>) => {
    const { status, problem } = await follow(address, path, headers).refused
    assert.ok(problem.requestId)
    return `${status} ${problem.code}`
  }
  assert.equal(await refusal('/events/ws', {}), '401 unauthorized')
  assert.equal(await refusal('/events/ws', bearer('stq_bad')), '401 unauthorized')
  assert.equal(await refusal('/projects/other/logs/ws', bearer(value)), '403 project_forbidden')
  assert.equal(await refusal('/events/ws', { cookie, origin: 'https://evil.example' }), '401 unauthorized')
  assert.equal(await refusal('/events/ws', { ...session, origin: 'https://evil.example' }), '403 csrf_failed')
  assert.equal(await refusal('/events/ws', { ...bearer(value), origin: 'https://evil.example' }), '403 csrf_failed')
  assert.equal(await refusal('/nowhere/ws', bearer(value)), '404 not_found')
  assert.equal(await refusal('/events/ws?after=x', bearer(value)), '400 invalid_request')
  assert.equal(await refusal('/events/ws?aftr=1', bearer(value)), '400 invalid_request')
})

test('a stream that changes something leaves an audit entry when it is refused', async (t) => {
  const http = await openTestHttpApp(t)
  const shop = await http.project('shop')
  const address = await http.listen()
  const { value } = await http.token({ scope: 'read', name: 'reader' })
  const { headers: session } = await http.session('ada')
  const changing = operationList.filter(({ stream, audit }) => stream === 'websocket' && audit !== undefined)
  assert.ok(changing.length > 3)
  for (const { id, path, audit } of changing) {
    const filled = path.replace('{id}', 'shop').replace(/\{\w+\}/g, 'x')
    for (const [kind, headers] of [
      ['scope_insufficient', bearer(value)],
      ['csrf_failed', { ...session, origin: 'https://evil.example' }],
      ['ticket_invalid', { ...session, ticket: 'found-somewhere' }],
    ] as const) {
      const requestId = `refused-${id}-${kind}`
      const { ticket, ...sent }: Record<string, string> = headers
      const target = ticket === undefined ? filled : `${filled}?ticket=${ticket}`
      const { problem } = await follow(address, target, { ...sent, 'x-request-id': requestId }).refused
      assert.equal(problem.code, kind)
      const entries = await http.store.audit.list({ limit: 5, q: requestId })
      assert.deepEqual(
        entries.map(({ action, outcome, project, changes }) => ({ action, outcome, project, changes })),
        [{ action: audit, outcome: 'denied', project: shop.id, changes: { reason: kind } }],
        id,
      )
    }
  }
})

test('events can be asked for by project and by type, and what is none is refused', async (t) => {
  const http = await openTestHttpApp(t)
  const shop = await http.project('shop')
  const blog = await http.project('blog')
  const address = await http.listen()
  const { value } = await http.token({})
  const { value: restricted } = await http.token({ name: 'restricted', projects: [shop.id] })
  const client = follow(address, '/events/ws?project=blog&types=run.*,project.changed&after=0', bearer(value))
  await client.until((frames) => frames.length > 0)
  await http.store.transaction(async (tx) => {
    for (const project of [shop.id, blog.id]) {
      for (const type of ['project.status', 'run.changed', 'project.changed'] as const)
        await tx.events.append({ type, project, data: {} })
    }
  })
  await client.until((frames) => events(frames).length === 2)
  assert.deepEqual(
    events(client.frames).map(({ event }) => [event?.type, event?.project]),
    [
      ['run.changed', blog.id],
      ['project.changed', blog.id],
    ],
  )
  const refusal = async (path: string, headers: Record<string, string>) => {
    const answer = await fetch(`${address}/api/v1${path}`, { headers })
    return `${answer.status} ${((await answer.json()) as { code: string }).code}`
  }
  assert.equal(await refusal('/events?types=run.chnged', bearer(value)), '400 invalid_request')
  assert.equal(await refusal('/events?project=nowhere', bearer(value)), '404 not_found')
  assert.equal(await refusal('/events?project=blog', bearer(restricted)), '403 project_forbidden')
  assert.equal(await refusal('/events?project=nowhere', bearer(restricted)), '403 project_forbidden')
})

test('a page of our own follows with its cookie and a ticket', async (t) => {
  const http = await openTestHttpApp(t)
  const address = await http.listen()
  const { cookie, headers } = await http.session('ada')
  const client = follow(address, await ticketed(http, headers, '/events/ws'), { cookie, origin: address })
  await client.until((frames) => frames.length > 0)
  client.socket.close()
})

test('a WebSocket address asked without an upgrade says what it is', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const answer = await http.app.inject({ url: '/api/v1/events/ws', headers: bearer(value) })
  assert.equal(answer.statusCode, 400)
  assert.equal(answer.json().detail, 'This is a WebSocket.')
})

test('revocation, demotion and logging out close open streams within a second', async (t) => {
  const http = await openTestHttpApp(t)
  const address = await http.listen()
  const owner = await http.user('admin', 'owen')
  const shop = await http.project('shop')
  const revoked = await http.token({ name: 'revoked' })
  const demoted = await http.token({ owner: owner.id, name: 'demoted', projects: [shop.id] })
  const { headers, cookie } = await http.session('ada')
  const path = await ticketed(http, headers, '/events/ws')
  const clients = {
    revoked: follow(address, '/events/ws', bearer(revoked.value)),
    disabled: follow(address, '/events/ws', bearer(demoted.value)),
    loggedOut: follow(address, path, { cookie }),
  }
  const events = await fetch(`${address}/api/v1/events`, { headers: bearer(revoked.value) })
  const sse = events.text()
  await Promise.all(Object.values(clients).map(({ until }) => until((frames) => frames.length > 0)))

  const began = performance.now()
  await http.store.transaction(async (tx) => {
    await tx.tokens.delete(revoked.id)
    await tx.users.update(owner.id, { disabled: true })
  })
  await http.app.inject({ method: 'POST', url: '/api/v1/auth/logout', headers })
  for (const [name, { closed, frames }] of Object.entries(clients)) {
    assert.deepEqual(await closed, { code: 4401, reason: 'unauthorized' }, name)
    assert.equal(frames.at(-1)?.problem?.code, 'unauthorized', name)
  }
  assert.match(await sse, /event: error\ndata: .*"code":"unauthorized"/)
  assert.ok(performance.now() - began < 1000, `took ${performance.now() - began} ms`)
})

test('a slow reader is held back instead of being buffered for', async (t) => {
  let sent = 0
  const ended = Promise.withResolvers<void>()
  const http = await openTestHttpApp(t, {
    streams: {
      watchProjectLogs: async (_input: unknown, _context: unknown, socket: FrameSocket) => {
        try {
          for (;;) {
            await socket.send({ type: 'lines', items: ['x'.repeat(64 * 1024)] })
            sent++
          }
        } finally {
          ended.resolve()
        }
      },
    },
  })
  const { value } = await http.token()
  const address = await http.listen()
  const client = follow(address, '/projects/x/logs/ws', bearer(value))
  await client.until((frames) => frames.length > 0)
  client.socket.pause()
  let before = -1
  while (before !== sent) {
    before = sent
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const held = sent - client.frames.length
  assert.ok(held < 400, `${held} frames of 64 KB are on the way`)
  client.socket.resume()
  await client.until((frames) => frames.length > before + 50)
  assert.ok(client.frames.every(({ seq }, index) => seq === index + 1))
  client.socket.terminate()
  await ended.promise
})

test('a handler that fails closes with its status, one that ends closes normally, and the service’s end says so', async (t) => {
  const running = Promise.withResolvers<void>()
  const http = await openTestHttpApp(t, {
    streams: {
      watchProjectLogs: async ({ params }: { params: { id: string } }, _context: unknown, socket: FrameSocket) => {
        if (params.id === 'broken') throw new Error('inside')
        if (params.id === 'done') return
        running.resolve()
        await once(socket.signal, 'abort')
      },
    },
  })
  const { value } = await http.token()
  const address = await http.listen()
  const open = (id: string) => follow(address, `/projects/${id}/logs/ws`, bearer(value))
  const broken = open('broken')
  assert.deepEqual(await broken.closed, { code: 4500, reason: 'internal_error' })
  assert.ok(!JSON.stringify(broken.frames).includes('inside'))
  assert.equal((await open('done').closed).code, 1000)
  const forever = open('forever')
  await running.promise
  await http.app.close()
  assert.equal((await forever.closed).code, 1001)
})

test('server-sent events have ids, start with the position, and resume by Last-Event-ID before ?after=', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token({ scope: 'read' })
  const address = await http.listen()
  await say(http, 'prj_a', 4)
  const { last } = await http.store.events.range()
  const read = async (path: string, headers: Record<string, string>, enough: string) => {
    const caller = new AbortController()
    const answer = await fetch(`${address}/api/v1${path}`, {
      headers: { ...bearer(value), ...headers },
      signal: caller.signal,
    })
    assert.equal(answer.headers.get('content-type'), 'text/event-stream')
    assert.ok(answer.headers.get('x-request-id'))
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    let text = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes(enough)) break
    }
    caller.abort()
    return text
  }
  const fresh = await read('/events', {}, 'event: start')
  assert.match(fresh, new RegExp(`^retry: 2000\nid: ${last}\nevent: start\n`))
  const resumed = await read(`/events?after=${last - 3}`, { 'last-event-id': String(last - 1) }, `id: ${last}\n`)
  assert.ok(!resumed.includes(`id: ${last - 2}\n`))
  assert.match(resumed, new RegExp(`id: ${last}\nevent: project.changed\ndata: \\{.*"index":3`))
})

test('a position that is not kept, or was never reached, is gone', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token({ scope: 'read' })
  await say(http, null, 10)
  const { last } = await http.store.events.range()
  await http.store.transaction((tx) => tx.events.trim(last - 2))
  const ask = async (after: number) =>
    (await http.app.inject({ url: `/api/v1/events?after=${after}`, headers: bearer(value) })).json()
  for (const after of [last - 5, last + 1]) {
    const problem = await ask(after)
    assert.deepEqual([problem.status, problem.code, problem.first, problem.last], [410, 'too_old', last - 2, last])
  }
  const address = await http.listen()
  const client = follow(address, `/events/ws?after=${last - 5}`, bearer(value))
  assert.deepEqual(await client.closed, { code: 4410, reason: 'too_old' })
})

test('an upgrade to another protocol is answered as plain HTTP', async (t) => {
  const http = await openTestHttpApp(t)
  const { port } = new URL(await http.listen())
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    'GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\n\r\n',
  )
  const [answer] = await once(socket, 'data')
  assert.match(String(answer), /^HTTP\/1.1 200 /)
  socket.destroy()
})

test('the service stops within seconds, whoever follows or waits', async (t) => {
  const waiting = Promise.withResolvers<void>()
  const http = await openTestHttpApp(t, {
    handlers: {
      getProject: async (_input: unknown, { signal }: { signal: AbortSignal }) => {
        waiting.resolve()
        await once(signal, 'abort')
        return { status: 200, body: {} }
      },
    },
  })
  const { value } = await http.token()
  const address = await http.listen()
  const following = await fetch(`${address}/api/v1/events`, { headers: bearer(value) })
  const asked = fetch(`${address}/api/v1/projects/x`, { headers: bearer(value) }).catch(() => 'cut off')
  await waiting.promise
  const began = performance.now()
  await http.app.close()
  assert.ok(performance.now() - began < 5000)
  assert.match(await following.text(), /event: start/)
  assert.equal(await asked, 'cut off')
})
