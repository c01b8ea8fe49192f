import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ask, httpUpstream, proxyTo, raw, tcpUpstream, until, upstreamAt } from './support.ts'

/** Each of these could be read as one request by one program and as two by another. */
const ambiguous: readonly [string, string][] = [
  ['both Content-Length and Transfer-Encoding', 'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG'],
  ['two different Content-Length headers', 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'],
  ['two equal Content-Length headers', 'Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello'],
  ['a list as Content-Length', 'Content-Length: 5, 5\r\n\r\nhello'],
  ['a sign in Content-Length', 'Content-Length: +5\r\n\r\nhello'],
  ['an unknown Transfer-Encoding', 'Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ['chunked that is not last', 'Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ['a space before the colon', 'Content-Length : 5\r\n\r\nhello'],
  ['a bare line feed in the head', 'X-A: 1\nContent-Length: 5\r\n\r\nhello'],
  ['a folded header', 'X-A: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n'],
  ['a bare carriage return in a value', 'X-A: 1\rContent-Length: 5\r\n\r\n'],
  ['a zero byte in a value', 'X-A: a\0b\r\n\r\n'],
  ['a broken chunk size', 'Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n'],
  ['a bare line feed after a chunk size', 'Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n'],
  ['a second Host', 'Host: other.localhost\r\n\r\n'],
]

for (const [what, rest] of ambiguous) {
  test(`a request with ${what} is refused, its connection closed, and no second request comes out of it`, async (t) => {
    const urls: string[] = []
    const upstream = await httpUpstream(t, (request, response) => {
      urls.push(request.url!)
      request
        .resume()
        .on('end', () => response.end('ok'))
        .on('error', () => {})
    })
    const { port } = await proxyTo(t, upstreamAt(upstream))
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'
    const received = await raw(port, `POST /front HTTP/1.1\r\nHost: shop.localhost\r\n${rest}${smuggled}`)
    assert.match(received, /^(HTTP\/1\.1 400 Bad Request\r\n[\s\S]*)?$/)
    assert.equal(received.includes(' 200 '), false)
    assert.equal(urls.includes('/smuggled'), false)
  })
}

for (const [what, head] of [
  ['without a Host', 'GET / HTTP/1.1\r\n\r\n'],
  ['with an empty Host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
  ['with a Host that is no name', 'GET / HTTP/1.1\r\nHost: shop.localhost/../\r\n\r\n'],
  ['with a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'],
  ['for another scheme', 'GET ftp://shop.localhost/ HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'],
]) {
  test(`a request ${what} gets 400`, async (t) => {
    const { port } = await proxyTo(t, { kind: 'page', page: 'stopped' })
    assert.match(await raw(port, head!), /^HTTP\/1\.1 400 Bad Request/)
  })
}

test('a tunnel for anything else is not opened', async (t) => {
  const { port } = await proxyTo(t, { kind: 'page', page: 'stopped' })
  assert.equal(await raw(port, 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'), '')
})

test('headers of more than 32 KB get 431, a little less passes', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => response.end(`${request.headers['x-large']?.length}`))
  const { port } = await proxyTo(t, upstreamAt(upstream))
  // Node's default for the program behind is 16 KB.
  assert.equal((await ask(port, { headers: { 'x-large': 'a'.repeat(15_000) } })).text, '15000')
  const request = `GET / HTTP/1.1\r\nHost: shop.localhost\r\nX-Large: ${'a'.repeat(33 * 1024)}\r\n\r\n`
  assert.match(await raw(port, request), /^HTTP\/1\.1 431 Request Header Fields Too Large/)
})

test('a client that dribbles its headers is cut off, and others are served meanwhile', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('ok'))
  const { port } = await proxyTo(t, upstreamAt(upstream), { headersWithin: 500 })
  const start = performance.now()
  const slow = connect(port, '127.0.0.1')
  slow.on('error', () => {})
  const dribble = setInterval(() => slow.write('X'), 50)
  slow.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nX-')
  let received = ''
  slow.on('data', (chunk) => {
    received += chunk
  })
  const closed = new Promise((resolve) => slow.once('close', resolve))
  assert.equal((await ask(port)).text, 'ok')
  await closed
  clearInterval(dribble)
  assert.ok(performance.now() - start < 2_500)
  assert.match(received, /^HTTP\/1\.1 408 Request Timeout/)
})

test('a body that stands still is given up; one that only takes long is not', async (t) => {
  let aborted = 0
  const upstream = await httpUpstream(t, (request, response) => {
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
    })
    request.on('end', () => response.end(`${size}`))
    request.on('error', () => {
      aborted += 1
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream), { bodyIdle: 300, headersWithin: 300 })
  const head =
    'POST / HTTP/1.1\r\nHost: shop.localhost\r\nAccept: application/json\r\nConnection: close\r\nContent-Length: 10\r\n\r\n'

  const stuck = await raw(port, `${head}12345`)
  assert.match(stuck, /^HTTP\/1\.1 408 Request Timeout[\s\S]*"code":"request_timeout"/)
  await until(() => aborted === 1, 'the project hears of it')

  const slow = connect(port, '127.0.0.1')
  let received = ''
  slow.on('data', (chunk) => {
    received += chunk
  })
  slow.write(head)
  for (let sent = 0; sent < 10; sent += 1) {
    await new Promise((resolve) => setTimeout(resolve, 120))
    slow.write('x')
  }
  await new Promise((resolve) => slow.once('close', resolve))
  assert.match(received, /^HTTP\/1\.1 200 OK[\s\S]*10$/)
})

test('a reader that takes nothing of its answer is given up', async (t) => {
  let closed = false
  const upstream = await tcpUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n`)
      const more = () => {
        while (socket.write(Buffer.alloc(65_536)));
        socket.once('drain', more)
      }
      more()
    })
    socket.on('close', () => {
      closed = true
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream), { readerIdle: 300 })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n')
  await until(() => closed, 'the project is released')
  socket.destroy()
})

test('500 idle connections cost no other client an answer', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('ok'))
  const { port, proxy } = await proxyTo(t, upstreamAt(upstream))
  const idle = Array.from({ length: 500 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await until(async () => (await proxy.status()).connections >= 500, 'all are open')
  assert.equal((await ask(port)).text, 'ok')
  for (const socket of idle) socket.destroy()
})
