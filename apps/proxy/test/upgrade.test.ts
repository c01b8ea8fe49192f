import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freePort } from '@stackquay/testkit/free-port'
import { WebSocket, WebSocketServer } from 'ws'
import { httpUpstream, portOf, proxyTo, raw, tcpUpstream, until, upstreamAt } from './support.ts'

async function echoServer(t: TestContext) {
  const server = createServer()
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => [...offered][0] ?? false })
  const seen: { headers?: NodeJS.Dict<string | string[]>; closed?: number } = {}
  sockets.on('connection', (socket, request) => {
    seen.headers = request.headers
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
    socket.on('close', (code) => {
      seen.closed = code
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { port: portOf(server), seen, sockets }
}

function dial(port: number, headers: Record<string, string> = {}): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/live?x=1`, ['vite-hmr'], {
      headers: { host: 'shop.localhost', ...headers },
    })
    socket.once('open', () => resolve(socket)).once('error', reject)
  })
}

test('a WebSocket carries small and large messages both ways, with its protocol and where it came from', async (t) => {
  const echo = await echoServer(t)
  const { port, proxy } = await proxyTo(t, upstreamAt(echo.port))
  const socket = await dial(port, { 'x-forwarded-for': '6.6.6.6' })
  assert.equal(socket.protocol, 'vite-hmr')
  assert.equal(echo.seen.headers?.host, 'shop.localhost')
  assert.equal(echo.seen.headers?.['x-forwarded-for'], '127.0.0.1')
  assert.equal(echo.seen.headers?.['x-forwarded-host'], 'shop.localhost')
  assert.equal((await proxy.status()).tunnels, 1)
  for (const message of [Buffer.from('hello'), randomBytes(10 * 1024 * 1024), Buffer.alloc(0)]) {
    const back = new Promise<Buffer>((resolve) => socket.once('message', (data) => resolve(data as Buffer)))
    socket.send(message)
    assert.equal(Buffer.compare(await back, message), 0)
  }
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  socket.close(4001, 'bye')
  assert.equal(await closed, 4001)
  await until(() => echo.seen.closed === 4001, 'the project sees the close code')
  await until(async () => (await proxy.status()).tunnels === 0, 'the tunnel is gone')
})

test('a client that vanishes ends the socket at the project, and the reverse', async (t) => {
  const echo = await echoServer(t)
  const { port } = await proxyTo(t, upstreamAt(echo.port))
  const first = await dial(port)
  first.terminate()
  await until(() => echo.seen.closed === 1006, 'the project sees that the client is gone')

  const second = await dial(port)
  const closed = new Promise<number>((resolve) => second.once('close', resolve))
  for (const socket of echo.sockets.clients) socket.terminate()
  assert.equal(await closed, 1006)
})

test('bytes that come with the handshake are not lost on either side, and half a close stays half', async (t) => {
  const upstream = await tcpUpstream(t, (socket) => {
    let received = ''
    socket.allowHalfOpen = true
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      const first = received === ''
      received += chunk
      if (first) socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nearly;')
    })
    socket.on('end', () => socket.end(`late: ${received.split('\r\n\r\n')[1]}`))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () =>
      socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nhead;'),
    )
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      if (text === '') socket.end('more;')
      text += chunk
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
  })
  assert.match(received, /^HTTP\/1\.1 101 Switching Protocols\r\n[\s\S]*\r\n\r\nearly;late: head;more;$/)
})

test('a project that refuses an upgrade is heard, and nothing more reaches it on that connection', async (t) => {
  const urls: string[] = []
  const upstream = await httpUpstream(t, (request, response) => {
    urls.push(request.url!)
    response.writeHead(401, { 'x-reason': 'no' }).end('not you')
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await raw(
    port,
    'GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n' +
      'GET /smuggled HTTP/1.1\r\nHost: shop.localhost\r\n\r\n',
  )
  assert.match(received, /^HTTP\/1\.1 401 Unauthorized\r\n[\s\S]*x-reason: no[\s\S]*connection: close[\s\S]*not you/i)
  assert.deepEqual(urls, ['/socket'])
})

test('an offer of h2c is passed over and the request answered', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => response.end(`upgrade ${request.headers.upgrade}`))
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await raw(
    port,
    'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
  )
  assert.match(received, /^HTTP\/1\.1 200 OK[\s\S]*upgrade undefined/)
})

test('an upgrade to a stopped, silent or unknown project is refused with the reason', async (t) => {
  const { port, control } = await proxyTo(t, { kind: 'page', page: 'stopped' })
  const upgradeOf = (host: string) =>
    raw(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  assert.match(await upgradeOf('shop.localhost'), /^HTTP\/1\.1 503 Service Unavailable[\s\S]*"code":"project_stopped"/)
  assert.match(await upgradeOf('nobody.localhost'), /^HTTP\/1\.1 404 Not Found[\s\S]*"code":"unknown_host"/)
  const { project, hosts } = { project: { id: 'p', slug: 'shop', name: 'Shop' }, hosts: ['shop.localhost'] }
  await control.putRoutes({
    version: 1,
    generation: 2,
    routes: [{ hosts, project, target: upstreamAt(await freePort()) }],
  })
  assert.match(await upgradeOf('shop.localhost'), /^HTTP\/1\.1 502 Bad Gateway[\s\S]*"code":"upstream_unreachable"/)
})
