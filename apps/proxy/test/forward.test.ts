import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ask, httpUpstream, open, proxyTo, raw, tcpUpstream, until, upstreamAt } from './support.ts'

test('method, path, query, headers and body arrive as they were sent, and the answer comes back so', async (t) => {
  const upstream = await httpUpstream(t, async (request, response) => {
    const body: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) body.push(chunk)
    response.writeHead(207, 'Many Things', [
      ['X-Twice', 'one'],
      ['X-Twice', 'two'],
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
    ])
    response.end(JSON.stringify([request.method, request.url, request.rawHeaders, Buffer.concat(body).toString()]))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, {
    method: 'PATCH',
    path: '/a%20b//c/../d?x=1&y=%00#',
    headers: { 'X-Custom': 'a, b', cookie: 'a=1; b=2', 'content-type': 'text/plain' },
    body: 'the body',
  })
  const [method, url, rawHeaders, body] = JSON.parse(answer.text)
  assert.equal(answer.status, 207)
  assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2'])
  assert.deepEqual(
    answer.rawHeaders.filter((_, index, all) => all[index - (index % 2)] === 'X-Twice'),
    ['X-Twice', 'one', 'X-Twice', 'two'],
  )
  assert.equal(method, 'PATCH')
  assert.equal(url, '/a%20b//c/../d?x=1&y=%00#')
  assert.equal(body, 'the body')
  assert.ok(rawHeaders.includes('a, b'))
  assert.ok(rawHeaders.includes('a=1; b=2'))
})

test('the project sees the original host and where the request came from, whatever the client claims', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => response.end(JSON.stringify(request.headers)))
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, {
    host: `Shop.localhost:${port}`,
    headers: {
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil',
      'x-forwarded-port': '1',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      X_Forwarded_For: '6.6.6.6',
    },
  })
  const seen = JSON.parse(answer.text)
  assert.equal(seen.host, `Shop.localhost:${port}`)
  assert.equal(seen['x-forwarded-for'], '127.0.0.1')
  assert.equal(seen['x-forwarded-proto'], 'http')
  assert.equal(seen['x-forwarded-host'], `Shop.localhost:${port}`)
  assert.equal(seen['x-forwarded-port'], `${port}`)
  assert.equal(JSON.stringify(seen).includes('6.6.6.6'), false)
})

test('hop-by-hop headers end here in both directions, with those that Connection names', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => {
    response.writeHead(200, {
      connection: 'keep-alive, X-Internal-Answer',
      'x-internal-answer': 'secret',
      'keep-alive': 'timeout=3',
      'proxy-connection': 'keep-alive',
      'x-kept': 'yes',
    })
    response.end(JSON.stringify(request.headers))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, {
    headers: {
      connection: 'close, X-Internal',
      'x-internal': 'secret',
      'proxy-authorization': 'Basic x',
      'proxy-connection': 'keep-alive',
      te: 'trailers',
      'keep-alive': 'timeout=1',
      'x-kept': 'yes',
    },
  })
  const seen = JSON.parse(answer.text)
  for (const name of ['x-internal', 'proxy-authorization', 'proxy-connection', 'te', 'keep-alive']) {
    assert.equal(seen[name], undefined, name)
  }
  assert.equal(seen['x-kept'], 'yes')
  assert.equal(answer.headers['x-internal-answer'], undefined)
  assert.equal(answer.headers['proxy-connection'], undefined)
  assert.equal(answer.headers['x-kept'], 'yes')
})

test('connections to both sides are used again', async (t) => {
  const peers = new Set<number>()
  const upstream = await httpUpstream(t, (request, response) => {
    peers.add(request.socket.remotePort!)
    response.end('ok')
  })
  const { port, proxy } = await proxyTo(t, upstreamAt(upstream))
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    received += chunk
  })
  for (const count of [1, 2, 3]) {
    socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n')
    await until(() => received.match(/HTTP\/1\.1 200 OK/g)?.length === count, `answer ${count} is there`)
  }
  socket.destroy()
  assert.equal(peers.size, 1)
  assert.equal((await proxy.status()).requests, 3)
})

test('50 MB go up through a slow project byte for byte, and the proxy holds only a little of them', async (t) => {
  const hash = createHash('sha256')
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const upstream = await httpUpstream(t, async (request, response) => {
    await held
    for await (const chunk of request as AsyncIterable<Buffer>) hash.update(chunk)
    response.end(hash.digest('hex'))
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const chunk = randomBytes(1024 * 1024)
  const expected = createHash('sha256')
  let accepted = 0
  const answer = new Promise<string>((resolve, reject) => {
    const call = request(
      { port, host: '127.0.0.1', method: 'POST', headers: { host: 'shop.localhost' } },
      async (response) => {
        let text = ''
        for await (const part of response) text += part
        resolve(text)
      },
    )
    call.on('error', reject)
    void (async () => {
      for (let sent = 0; sent < 50; sent += 1) {
        expected.update(chunk)
        if (!call.write(chunk)) await new Promise((drained) => call.once('drain', drained))
        accepted += 1
      }
      call.end()
    })()
  })
  await delay(300)
  // What the kernel's buffers take on both connections, not what the proxy would pile up.
  assert.ok(accepted < 25, `${accepted} MB were taken while the project read nothing`)
  release()
  assert.equal(await answer, expected.digest('hex'))
})

test('a slow reader holds the project back', async (t) => {
  const chunk = Buffer.alloc(256 * 1024, 'x')
  let written = 0
  const upstream = await httpUpstream(t, (_request, response) => {
    const more = () => {
      while (written < 200) {
        written += 1
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const response = await open(port, {})
  response.pause()
  await delay(300)
  assert.ok(written < 100, `the project wrote ${written / 4} MB while the client read nothing`)
  let received = 0
  for await (const part of response as AsyncIterable<Buffer>) received += part.length
  assert.equal(received, 200 * chunk.length)
})

test('server-sent events pass at once, and so does a head without a body', async (t) => {
  let send = (_text: string) => {}
  const upstream = await httpUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    send = (text) => response.write(text)
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const response = await open(port, {})
  assert.equal(response.headers['content-type'], 'text/event-stream')
  response.setEncoding('utf8')
  const parts = response[Symbol.asyncIterator]()
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    const start = performance.now()
    send(event)
    assert.equal((await parts.next()).value, event)
    assert.ok(performance.now() - start < 100)
  }
  response.destroy()
})

test('answers without a body stay so: HEAD, 204 and 304', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.method === 'HEAD') return response.writeHead(200, { 'content-length': 1234 }).end()
    response.writeHead(Number(request.url!.slice(1)), { etag: '"a"' }).end()
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const head = await ask(port, { method: 'HEAD' })
  assert.equal(head.headers['content-length'], '1234')
  assert.equal(head.text, '')
  for (const status of [204, 304]) {
    const answer = await ask(port, { path: `/${status}` })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.etag, '"a"')
    assert.equal(answer.headers['transfer-encoding'], undefined)
  }
})

test('trailers and early hints reach the client', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' })
    response.writeHead(200, { trailer: 'x-checksum' })
    response.write('body')
    response.addTrailers({ 'x-checksum': 'abc' })
    response.end()
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await raw(port, 'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: close\r\n\r\n')
  assert.match(
    received,
    /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/style\.css>; rel=preload; as=style\r\n\r\nHTTP\/1\.1 200 OK/i,
  )
  assert.match(received, /0\r\nx-checksum: abc\r\n\r\n$/i)
})

test('a client that waits for permission to send gets it, and its body arrives', async (t) => {
  const upstream = await httpUpstream(t, async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    response.end(`got ${text}, expect ${request.headers.expect}`)
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await new Promise<string>((resolve, reject) => {
    const call = request(
      {
        port,
        host: '127.0.0.1',
        method: 'PUT',
        headers: { host: 'shop.localhost', expect: '100-continue', 'content-length': 4 },
      },
      async (response) => {
        let text = ''
        for await (const part of response) text += part
        resolve(text)
      },
    )
    call.on('error', reject)
    call.on('continue', () => call.end('body'))
    call.flushHeaders()
  })
  assert.equal(answer, 'got body, expect undefined')
})

test('an answer of a project that ends by closing is passed on whole, also to an HTTP/1.0 client', async (t) => {
  const upstream = await tcpUpstream(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nold school')),
  )
  const { port } = await proxyTo(t, upstreamAt(upstream))
  assert.equal((await ask(port)).text, 'old school')
  const received = await raw(port, 'GET / HTTP/1.0\r\nHost: shop.localhost\r\n\r\n')
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nold school$/)
})

test('a target in absolute form leads to the host it names, and the project sees a path', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => response.end(`${request.headers.host} ${request.url}`))
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const received = await raw(
    port,
    'GET http://shop.localhost/a?b=1 HTTP/1.1\r\nHost: other.localhost\r\nConnection: close\r\n\r\n',
  )
  assert.match(received, /shop\.localhost \/a\?b=1$/)
})

test('a client that leaves takes its request to the project with it', async (t) => {
  let started = false
  let closed = false
  const upstream = await httpUpstream(t, (_request, response) => {
    started = true
    response.on('close', () => {
      closed = true
    })
    response.write('first')
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const response = await open(port, {})
  assert.equal(started, true)
  response.destroy()
  await until(() => closed, 'the project hears that the client left')
})

test('a client that leaves in the middle of an upload ends the upload at the project', async (t) => {
  let received = 0
  let aborted = false
  const upstream = await httpUpstream(t, (request) => {
    request.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    request.on('error', () => {
      aborted = true
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 1000\r\n\r\nhalf')
  await until(() => received === 4, 'half of the body is there')
  socket.destroy()
  await until(() => aborted, 'the project hears that the client left')
})

for (const [framing, head] of [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n'],
  ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n'],
]) {
  test(`a project that dies in the middle of an answer with ${framing} never makes it look complete`, async (t) => {
    const upstream = await tcpUpstream(t, (socket) =>
      socket.once('data', () => socket.write(`${head}half`, () => setTimeout(() => socket.resetAndDestroy(), 30))),
    )
    const { port } = await proxyTo(t, upstreamAt(upstream))
    const response = await open(port, {})
    assert.equal(response.statusCode, 200)
    let text = ''
    await assert.rejects(async () => {
      for await (const chunk of response) text += chunk
    })
    assert.equal(text, 'half')
  })
}

test('bytes beyond ASCII in headers pass unchanged both ways', async (t) => {
  const upstream = await tcpUpstream(t, (socket) =>
    socket.setEncoding('latin1').once('data', (text: string) => {
      const value = /x-name: (.*)\r\n/i.exec(text)?.[1]
      socket.end(`HTTP/1.1 200 OK\r\nX-Back: ${value}\r\nContent-Length: 0\r\n\r\n`, 'latin1')
    }),
  )
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const name = 'W\u00e4rt \u00c3\u00a4'
  const received = await raw(
    port,
    `GET / HTTP/1.1\r\nHost: shop.localhost\r\nX-Name: ${name}\r\nConnection: close\r\n\r\n`,
  )
  assert.ok(received.includes(`X-Back: ${name}\r\n`), received)
})

test('an answer that comes before the upload is done reaches the client', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => {
    response.writeHead(413).end('too much')
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, { method: 'POST', body: Buffer.alloc(4 * 1024 * 1024) })
  assert.equal(answer.status, 413)
  assert.equal(answer.text, 'too much')
})

test('a connection that the project closed while it was idle costs no request', async (t) => {
  let requests = 0
  const upstream = await tcpUpstream(t, (socket) => {
    socket.on('data', () => {
      requests += 1
      // Answers the first request of a connection and breaks off at the second, as a server that just timed out.
      if (socket.bytesWritten === 0) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else socket.resetAndDestroy()
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  assert.equal((await ask(port)).text, 'ok')
  assert.equal((await ask(port)).text, 'ok')
  assert.equal(requests, 3)
})

test('what is not harmless to send twice is sent once', async (t) => {
  let requests = 0
  const upstream = await tcpUpstream(t, (socket) =>
    socket.on('data', () => {
      requests += 1
      socket.resetAndDestroy()
    }),
  )
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, { method: 'POST', headers: { accept: 'application/json' } })
  assert.equal(answer.status, 502)
  assert.equal(JSON.parse(answer.text).code, 'upstream_broken')
  assert.equal(requests, 1)
})

test('an answer that is no HTTP becomes a 502 and not a copy of it', async (t) => {
  const upstream = await tcpUpstream(t, (socket) => socket.once('data', () => socket.end('220 mail.example ESMTP\r\n')))
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const answer = await ask(port, { headers: { accept: 'application/problem+json' } })
  assert.equal(answer.status, 502)
  assert.equal(JSON.parse(answer.text).code, 'upstream_broken')
})

test('a project that stays silent is given up after a while', async (t) => {
  const upstream = await tcpUpstream(t, (socket) => socket.resume())
  const { port } = await proxyTo(t, upstreamAt(upstream), { answerWithin: 300 })
  const answer = await ask(port, { headers: { accept: 'application/json' } })
  assert.equal(answer.status, 504)
  assert.equal(JSON.parse(answer.text).code, 'upstream_timeout')
})
