import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { freePort } from '@stackquay/testkit/free-port'
import { WebSocket, WebSocketServer } from 'ws'
import {
  ask,
  httpUpstream,
  open,
  portOf,
  proxyTo,
  raw,
  route,
  table,
  tcpUpstream,
  until,
  upstreamAt,
} from './support.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

test('flights to an address are counted, also when no route leads there any more', async (t) => {
  const finish: (() => void)[] = []
  const upstream = await httpUpstream(t, (_request, response) => {
    response.write('first')
    finish.push(() => response.end('last'))
  })
  const { port, control } = await proxyTo(t, upstreamAt(upstream))
  const flights = () => control.flights('127.0.0.1', upstream)
  assert.deepEqual(await flights(), { requests: 0, tunnels: 0 })
  const answers = await Promise.all([open(port, {}), open(port, {}), open(port, { method: 'POST', body: 'x' })])
  assert.deepEqual(await flights(), { requests: 3, tunnels: 0 })
  assert.deepEqual(await control.flights('127.0.0.1', upstream + 1), { requests: 0, tunnels: 0 })

  const next = await httpUpstream(t, (_request, response) => response.end('next'))
  await control.putRoutes(table([route('shop', upstreamAt(next))], 2))
  assert.equal((await ask(port)).text, 'next')
  assert.deepEqual(await flights(), { requests: 3, tunnels: 0 })
  for (const end of finish) end()
  for (const answer of answers) {
    let text = ''
    for await (const chunk of answer) text += chunk
    assert.equal(text, 'firstlast')
  }
  await until(async () => (await flights()).requests === 0, 'nothing is under way', 20_000)
})

test('a tunnel counts until it is closed', async (t) => {
  const echo = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await new Promise((resolve) => echo.once('listening', resolve))
  t.after(() => echo.close())
  const upstream = (echo.address() as { port: number }).port
  const { port, control } = await proxyTo(t, upstreamAt(upstream))
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: 'shop.localhost' } })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  await control.putRoutes(table([], 2))
  assert.deepEqual(await control.flights('127.0.0.1', upstream), { requests: 0, tunnels: 1 })
  socket.close()
  await until(async () => (await control.flights('127.0.0.1', upstream)).tunnels === 0, 'the tunnel is gone', 20_000)
})

test('a question for flights without an address is refused, with what is missing', async (t) => {
  const { control } = await proxyTo(t, { kind: 'page', page: 'stopped' })
  await assert.rejects(control.flights('127.0.0.1', 0), { code: 'address_invalid' })
})

test('a request with a body that was refused goes where the next table leads, because nothing of it was sent', async (t) => {
  const bodies: string[] = []
  const next = await httpUpstream(t, async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += chunk
    bodies.push(text)
    response.end('taken')
  })
  const { port, control } = await proxyTo(t, upstreamAt(await freePort()), { refusedWait: 60_000 })
  const answer = ask(port, { method: 'POST', body: 'body' })
  await until(async () => (await control.status())!.held === 1, 'it waits', 20_000)
  await control.putRoutes(table([route('shop', upstreamAt(next))], 2))
  assert.equal((await answer).text, 'taken')
  assert.deepEqual(bodies, ['body'])
})

test('an upgrade that was refused goes where the next table leads', async (t) => {
  const next = await httpUpstream(t, (_request, response) => response.writeHead(418).end('short'))
  const { port, control } = await proxyTo(t, upstreamAt(await freePort()), { refusedWait: 60_000 })
  const answer = raw(
    port,
    'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    { closeAfter: 30_000 },
  )
  await until(async () => (await control.status())!.held === 1, 'it waits', 20_000)
  await control.putRoutes(table([route('shop', upstreamAt(next))], 2))
  assert.match(await answer, /^HTTP\/1\.1 418 [\s\S]*5\r\nshort\r\n0\r\n\r\n$/)
})

test('a refused request is tried again once, and then answered 502', async (t) => {
  const { port } = await proxyTo(t, upstreamAt(await freePort()))
  const answer = await ask(port, { method: 'POST', body: 'x', headers: { accept: 'application/json' } })
  assert.equal(answer.status, 502)
  assert.equal(JSON.parse(answer.text).code, 'upstream_unreachable')
})

test('more requests than connections wait for their turn, and for no longer than for an answer', async (t) => {
  let most = 0
  const sockets = new Set<Socket>()
  const upstream = await tcpUpstream(t, (socket) => {
    sockets.add(socket)
    most = Math.max(most, sockets.size)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', () => setImmediate(() => socket.write(ok)))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream), { upstreamConnections: 3 })
  const answers = await Promise.all(Array.from({ length: 40 }, () => ask(port)))
  assert.deepEqual([...new Set(answers.map(({ text }) => text))], ['ok'])
  assert.equal(most, 3)

  const silent = await tcpUpstream(t, (socket) => socket.resume())
  const blocked = await proxyTo(t, upstreamAt(silent), { upstreamConnections: 1, answerWithin: 500 })
  const late = await Promise.all([ask(blocked.port), ask(blocked.port), ask(blocked.port)])
  assert.deepEqual(
    late.map(({ status }) => status),
    [504, 504, 504],
  )
})

test('a connection is not used again that the project will close before long', async (t) => {
  for (const [header, connections] of [
    ['Connection: close', 2],
    ['Keep-Alive: timeout=1', 2],
    ['Keep-Alive: timeout=60', 1],
  ] as const) {
    let count = 0
    const upstream = await tcpUpstream(t, (socket) => {
      count += 1
      socket.on('data', () => socket.write(ok.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`)))
    })
    const { port } = await proxyTo(t, upstreamAt(upstream))
    assert.equal((await ask(port)).text, 'ok')
    assert.equal((await ask(port)).text, 'ok')
    assert.equal(count, connections, header)
  }
})

test('connections that are idle for too long, or lead nowhere any more, are closed', async (t) => {
  const sockets = new Set<Socket>()
  const upstream = await tcpUpstream(t, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', () => socket.write(ok))
  })
  const idle = await proxyTo(t, upstreamAt(upstream), { upstreamIdle: 200 })
  assert.equal((await ask(idle.port)).text, 'ok')
  await until(() => sockets.size === 0, 'the idle one is closed', 20_000)

  const retired = await proxyTo(t, upstreamAt(upstream))
  assert.equal((await ask(retired.port)).text, 'ok')
  assert.equal(sockets.size, 1)
  await retired.control.putRoutes(table([], 2))
  await until(() => sockets.size === 0, 'the retired one is closed', 20_000)
})

test('an answer that comes before the body was sent ends the connection to the project, not that to the client', async (t) => {
  let connections = 0
  const upstream = await tcpUpstream(t, (socket) => {
    connections += 1
    socket.once('data', () => socket.write(ok))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const client = connect(port, '127.0.0.1').setEncoding('latin1')
  t.after(() => client.destroy())
  let received = ''
  client.on('data', (chunk) => {
    received += chunk
  })
  const answers = () => received.match(/HTTP\/1\.1 200 OK/g)?.length
  client.write('POST /a HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 10\r\n\r\n12345')
  await until(() => answers() === 1, 'the early answer is there', 20_000)
  client.write('67890GET /b HTTP/1.1\r\nHost: shop.localhost\r\n\r\n')
  await until(() => answers() === 2, 'the next answer is there', 20_000)
  assert.equal(connections, 2)
})

test('an answer with a body of every size arrives whole, with a length, in chunks and up to the end', async (t) => {
  const upstream = await httpUpstream(t, (incoming, response) => {
    const [, kind, size] = incoming.url!.split('/')
    const body = Buffer.alloc(Number(size), 'b')
    if (kind === 'length') response.writeHead(200, { 'content-length': body.length })
    if (kind === 'close') {
      response.socket!.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), body]))
      return
    }
    for (let at = 0; at < body.length; at += 50_000) response.write(body.subarray(at, at + 50_000))
    response.end()
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  for (const kind of ['length', 'chunks', 'close']) {
    for (const size of [0, 1, 12_287, 12_288, 12_289, 65_536, 65_537, 1_000_000]) {
      const answer = await ask(port, { path: `/${kind}/${size}` })
      assert.equal(answer.text.length, size, `${kind} ${size}`)
    }
  }
})

test('chunks of a body arrive as they were sent, trailers of hop-by-hop names do not', async (t) => {
  const upstream = await httpUpstream(t, async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += chunk
    response.writeHead(200, { trailer: 'x-sum, proxy-connection' })
    response.write(`${incoming.headers['transfer-encoding']} ${text}`)
    response.addTrailers({ 'x-sum': 'abc', 'proxy-connection': 'close' })
    response.end()
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await raw(
    port,
    'POST / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3;x=y\r\ntwo\r\n0\r\nX-Client: trailer\r\n\r\n',
  )
  assert.match(received, /chunked onetwo/)
  assert.match(received, /0\r\nx-sum: abc\r\n\r\n$/)
})

test('while the route changes again and again no request fails, and each is answered by the route of its time', async (t) => {
  const seen = { a: 0, b: 0 }
  const upstreams = await Promise.all(
    (['a', 'b'] as const).map((name) =>
      httpUpstream(t, (incoming, response) => {
        incoming.resume().on('end', () => {
          seen[name] += 1
          response.end(name)
        })
      }),
    ),
  )
  const { port, control } = await proxyTo(t, upstreamAt(upstreams[0]!))
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  let isOver = false
  const failures: string[] = []
  let answered = 0
  const client = async (index: number) => {
    while (!isOver) {
      const method = index % 2 === 0 ? 'GET' : 'POST'
      const status = await new Promise<number | string>((resolve) => {
        const call = request(
          { port, host: '127.0.0.1', method, agent, headers: { host: 'shop.localhost' } },
          (response) => response.resume().on('end', () => resolve(response.statusCode!)),
        )
        call.on('error', (error) => resolve(error.message))
        call.end(method === 'POST' ? 'body' : undefined)
      })
      answered += 1
      if (status !== 200) failures.push(`${method} ${status}`)
    }
  }
  const clients = Array.from({ length: 8 }, (_, index) => client(index))
  for (let change = 1; change <= 20; change += 1) {
    const [name, other] = change % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const)
    await control.putRoutes(table([route('shop', upstreamAt(upstreams[name === 'a' ? 0 : 1]!))], change + 1))
    assert.equal((await ask(port)).text, name)
    const before = answered
    await until(() => answered >= before + 10, 'some more are answered', 5_000)
    await until(
      async () => (await control.flights('127.0.0.1', upstreams[name === 'a' ? 1 : 0]!)).requests === 0,
      'the old one is done',
      5_000,
    )
    const old = seen[other]
    assert.equal((await ask(port)).text, name)
    assert.equal(seen[other], old)
  }
  isOver = true
  await Promise.all(clients)
  assert.deepEqual(failures, [])
  assert.ok(answered > 200)
})

test('a name without an address is refused like an address without a listener', async (t) => {
  const { port } = await proxyTo(t, { kind: 'upstream', host: 'nowhere.invalid', port: 80 })
  const answer = await ask(port, { headers: { accept: 'application/json' } })
  assert.equal(JSON.parse(answer.text).code, 'upstream_unreachable')
})

test('an address that takes no connection in time is given up', async (t) => {
  // Its queue is full: further connections are neither taken nor refused.
  const server = createServer()
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, resolve))
  t.after(() => server.close())
  const { port } = await proxyTo(t, upstreamAt(portOf(server)), { connectWithin: 300, answerWithin: 600 })
  const answer = await ask(port, { headers: { accept: 'application/json' } })
  assert.match(JSON.parse(answer.text).code, /^upstream_(unreachable|timeout)$/)
  connect(portOf(server), '127.0.0.1')
    .on('error', () => {})
    .destroy()
})
