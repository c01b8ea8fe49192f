import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { endHeaders, frame, rawH2, requestFields } from './h2-frames.ts'
import { httpUpstream, route, table, tcpUpstream, until, upstreamAt } from './support.ts'
import { certificateFor, h2Ask, h2Session, secureProxy, shopCertificate } from './tls-support.ts'

test('a request by HTTP/2 reaches the project as one by HTTP/1.1 does, with cookies in one piece', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    response.setHeader('X-Upper', 'yes')
    response.end(JSON.stringify({ url: request.url, method: request.method, raw: request.rawHeaders }))
  })
  const { port } = await secureProxy(t, upstreamAt(upstream), {
    certificates: [{ ...shopCertificate, hstsSeconds: 300 }],
  })
  const session = h2Session(t, port)
  const answer = await h2Ask(session, {
    ':path': '/a?b=c',
    cookie: 'one=1; two=2',
    te: 'trailers',
    'x-forwarded-for': '203.0.113.9',
    'x-own': 'kept',
  })
  assert.equal(answer.status, 200)
  assert.equal(session.alpnProtocol, 'h2')
  assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(answer.headers['x-upper'], 'yes')
  assert.equal(answer.headers['strict-transport-security'], 'max-age=300')
  const { url, method, raw } = JSON.parse(answer.text)
  assert.deepEqual([url, method], ['/a?b=c', 'GET'])
  const told = Object.fromEntries(pairsOf(raw))
  assert.deepEqual(
    ['host', 'cookie', 'x-own', 'x-forwarded-for', 'x-forwarded-proto', 'te', 'transfer-encoding'].map(
      (name) => told[name],
    ),
    ['shop.localhost', 'one=1; two=2', 'kept', '127.0.0.1', 'https', undefined, undefined],
  )
})

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1]!] as [string, string]] : [],
  )
}

test('bodies go both ways whole; HEAD, 204, 304, interim answers and trailers are what they are', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.url === '/echo') return request.pipe(response)
    if (request.url === '/none') return response.writeHead(204).end()
    if (request.url === '/same') return response.writeHead(304, { etag: '"x"' }).end()
    if (request.url === '/hints') {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' })
      return response.end('done')
    }
    if (request.url === '/trailers') {
      response.writeHead(200, { trailer: 'x-sum' })
      response.write('body')
      response.addTrailers({ 'X-Sum': '42' })
      return response.end()
    }
    response.setHeader('content-length', 5)
    return response.end('hello')
  })
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const session = h2Session(t, port)
  const big = Buffer.alloc(3_000_000, 'abcdefghij')
  for (const headers of [{}, { 'content-length': String(big.length) }]) {
    const echo = await h2Ask(session, { ':path': '/echo', ':method': 'POST', ...headers }, big)
    assert.equal(echo.text, big.toString())
  }
  const head = await h2Ask(session, { ':method': 'HEAD' })
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '5', ''])
  assert.equal((await h2Ask(session, { ':path': '/none' })).status, 204)
  assert.equal((await h2Ask(session, { ':path': '/same' })).headers.etag, '"x"')
  assert.equal((await h2Ask(session, { ':path': '/trailers' })).trailers['x-sum'], '42')

  const stream = session.request({ ':path': '/hints', ':authority': 'shop.localhost' })
  const hints = new Promise<object>((resolve) => stream.once('headers', resolve))
  assert.equal(((await hints) as Record<string, unknown>).link, '</a.css>; rel=preload')
  stream.resume()
  await new Promise((resolve) => stream.once('close', resolve))
})

test('an answer that says a header twice keeps its status and all it says, head and body apart or together', async (t) => {
  const head = [
    'HTTP/1.1 403 Forbidden',
    'X-Content-Type-Options: nosniff',
    'X-Content-Type-Options: nosniff',
    "Content-Security-Policy: default-src 'none'",
    'Content-Type: text/plain',
    'constructor: of a project',
    'Content-Length: 2',
  ]
  const upstream = await tcpUpstream(t, (socket) => {
    socket.on('data', async (bytes: Buffer) => {
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      if (String(bytes).includes('/apart')) await delay(100)
      socket.write('no')
    })
  })
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const session = h2Session(t, port)
  for (const path of ['/together', '/apart']) {
    const { status, headers, text } = await h2Ask(session, { ':path': path })
    assert.deepEqual([status, text], [403, 'no'], path)
    assert.deepEqual(
      [headers['content-type'], headers['content-security-policy'], headers.constructor],
      ['text/plain', "default-src 'none'", 'of a project'],
    )
  }
})

test('pages, unknown names, rules and misdirected requests answer like by HTTP/1.1, and are noted', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('in'))
  const blog = { ...route('blog', upstreamAt(upstream)), rules: { allow: ['192.0.2.1'] } }
  const off = route('off', { kind: 'page', page: 'stopped' } as const)
  const foreign = { ...route('foreign', upstreamAt(upstream)), hosts: ['foreign.example.test'] }
  const names = ['shop.localhost', 'blog.localhost', 'off.localhost', 'nobody.localhost']
  const { port, control } = await secureProxy(t, upstreamAt(upstream), {
    certificates: [certificateFor(names), certificateFor(['foreign.example.test'])],
    routes: [blog, off, foreign],
  })
  const session = h2Session(t, port)
  const statusOf = async (headers: Record<string, string>) => (await h2Ask(session, headers)).status
  assert.equal(await statusOf({}), 200)
  assert.equal(await statusOf({ ':authority': 'off.localhost' }), 503)
  assert.equal(await statusOf({ ':authority': 'nobody.localhost' }), 404)
  assert.equal(await statusOf({ ':authority': 'foreign.example.test' }), 421)
  // Refused as malformed before it is a request.
  await assert.rejects(statusOf({ ':authority': 'not a host' }), { code: 'ERR_HTTP2_STREAM_ERROR' })
  assert.equal(await statusOf({ ':authority': '-.-.-' }), 404)
  assert.equal(await statusOf({ host: 'off.localhost' }), 400)
  assert.equal(await statusOf({ ':method': 'TRACE' }), 400)
  const refused = await h2Ask(session, { ':authority': 'blog.localhost', ':method': 'POST' }, Buffer.alloc(500_000))
  assert.deepEqual([refused.status, refused.headers['x-stackquay-notice']], [403, 'address_forbidden'])
  const page = await h2Ask(session, { ':authority': 'off.localhost', accept: 'text/html' })
  assert.match(page.text, /^<!doctype html>/)
  await until(async () => {
    const noted = await control.access('prj_blog', { limit: 10 } as never)
    return noted.items.some(
      ({ status, by }: { status: number; by: string | null }) => status === 403 && by === 'addresses',
    )
  }, 'the refusal is in the access log')
})

test('a request waits while its project restarts', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('up'))
  const page = { kind: 'page', page: 'starting', holdUntil: Date.now() + 10_000 } as const
  const { port, control } = await secureProxy(t, page)
  const session = h2Session(t, port)
  const answer = h2Ask(session)
  await until(async () => (await control.status())?.held === 1, 'it waits')
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.equal((await answer).text, 'up')
})

test('a stream that is reset ends its request at the project, and half a body never looks like a whole one', async (t) => {
  const ended: string[] = []
  const requests: string[] = []
  const upstream = await httpUpstream(t, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.on('data', () => {})
    request.on('end', () => ended.push(`${request.url} whole`))
    request.on('error', () => {})
    response.on('close', () => ended.push(`${request.url} closed`))
    if (request.url === '/slow') response.write('begin')
  })
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const session = h2Session(t, port)
  const slow = session.request({ ':path': '/slow', ':authority': 'shop.localhost' })
  slow.on('error', () => {})
  await new Promise((resolve) => slow.once('data', resolve))
  slow.close(constants.NGHTTP2_CANCEL)
  await until(() => ended.includes('/slow closed'), 'the project hears it')

  // By a reset with either code, and by a connection that is cut.
  for (const end of [[0, 0, 0, 8], [0, 0, 0, 0], null]) {
    ended.length = 0
    const client = await rawH2(t, port)
    await client.send(frame('headers', endHeaders, 1, requestFields('POST')), frame('data', 0, 1, Buffer.alloc(5_000)))
    await until(() => requests.includes('POST /'), 'the project has it')
    requests.length = 0
    if (end === null) client.socket.destroy()
    else await client.send(frame('reset', 0, 1, Buffer.from(end)))
    await until(() => ended.includes('/ closed'), 'the project hears that too')
    assert.equal(ended.includes('/ whole'), false)
  }
})

test('a project that breaks off in the middle resets the stream, and the others of the connection go on', async (t) => {
  const upstream = await tcpUpstream(t, (socket) =>
    socket.once('data', (bytes) => {
      if (bytes.toString().startsWith('GET /whole')) {
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        return
      }
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
      setTimeout(() => socket.destroy(), 50)
    }),
  )
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const session = h2Session(t, port)
  await assert.rejects(h2Ask(session), { code: 'ERR_HTTP2_STREAM_ERROR' })
  assert.equal((await h2Ask(session, { ':path': '/whole' })).text, 'ok')
})

test('1,000 requests on one connection, no more than it may have at once', async (t) => {
  let now = 0
  let most = 0
  const upstream = await httpUpstream(t, (_request, response) => {
    now += 1
    most = Math.max(most, now)
    setTimeout(() => {
      now -= 1
      response.end('ok')
    }, 5)
  })
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const session = h2Session(t, port)
  await new Promise((resolve) => session.once('remoteSettings', resolve))
  assert.equal(session.remoteSettings.maxConcurrentStreams, 128)
  const all = await Promise.all(Array.from({ length: 1_000 }, () => h2Ask(session)))
  assert.equal(all.filter(({ text }) => text === 'ok').length, 1_000)
  assert.ok(most <= 128, `${most} at once`)
})

test('a client that takes nothing does not fill the memory: the project waits, and is let go in the end', async (t) => {
  let sent = 0
  const sockets: Socket[] = []
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.url === '/quick') return response.end('quick')
    sockets.push(request.socket)
    const chunk = Buffer.alloc(64 * 1024)
    const more = () => {
      while (!response.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) break
      }
    }
    response.on('drain', more).on('error', () => {})
    more()
  })
  const { port } = await secureProxy(t, upstreamAt(upstream), { limits: { readerIdle: 600 } })
  // Both windows at their smallest.
  const session = h2Session(t, port, { settings: { initialWindowSize: 0 } })
  const stalled = Array.from({ length: 8 }, () => {
    const stream = session.request({ ':path': '/endless', ':authority': 'shop.localhost' })
    stream.on('error', () => {})
    return new Promise((resolve) => stream.once('close', resolve))
  })
  await until(() => sockets.length === 8, 'all are asked')
  await delay(250)
  const before = sent
  await delay(150)
  assert.equal(sent, before)
  assert.ok(sent < 8 * 8 * 1024 * 1024, `${sent} bytes`)
  assert.equal((await h2Ask(h2Session(t, port), { ':path': '/quick' })).text, 'quick')
  await Promise.all(stalled)
  await until(() => sockets.every(({ destroyed }) => destroyed), 'the project is let go')
})

test('a shutdown lets requests finish, asks clients to come back elsewhere, and ends idle connections', async (t) => {
  let release = () => {}
  const upstream = await httpUpstream(t, (_request, response) => {
    release = () => response.end('late')
  })
  const { port, proxy } = await secureProxy(t, upstreamAt(upstream), { limits: { drainWithin: 5_000, drainIdle: 50 } })
  const session = h2Session(t, port)
  const idle = h2Session(t, port)
  const closed = new Promise((resolve) => idle.once('close', resolve))
  const left = new Promise((resolve) => session.once('goaway', resolve))
  const late = h2Ask(session)
  await until(() => release.name === 'release' && release.toString().includes('late'), 'it is under way')
  await proxy.shutdown()
  await left
  await closed
  release()
  assert.equal((await late).text, 'late')
  await proxy.done
  await assert.rejects(new Promise((_resolve, reject) => connect(port, '127.0.0.1').once('error', reject)))
})
