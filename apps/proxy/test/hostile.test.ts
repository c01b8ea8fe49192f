import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Limits } from '../src/limits.ts'
import { ask, httpUpstream, proxyTo, raw, route, table, tcpUpstream, until, upstreamAt } from './support.ts'

// Bytes as an attacker would send them, from the side of the client and of the project. Each is refused or bounded, and
// another project on the same proxy is served meanwhile.

/** `shop` is attacked or attacks; `quiet` belongs to another person. */
async function stage(t: TestContext, shop: number, limits: Partial<Limits> = {}) {
  const seen: string[] = []
  const quiet = await httpUpstream(t, (request, response) => {
    seen.push(request.url!)
    response.end(`quiet ${request.url}`)
  })
  const { port, control, proxy } = await proxyTo(t, upstreamAt(shop), limits)
  await control.putRoutes(table([route('shop', upstreamAt(shop)), route('quiet', upstreamAt(quiet))], 2))
  let asked = 0
  const othersAreServed = async () => {
    asked += 1
    const answer = await ask(port, { host: 'quiet.localhost', path: `/${asked}` })
    assert.equal(answer.text, `quiet /${asked}`)
    assert.equal(seen.length, asked)
  }
  return { port, control, proxy, othersAreServed }
}

/** A project that writes down what reaches it. */
async function recorder(t: TestContext) {
  const seen: string[] = []
  const port = await httpUpstream(t, (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      seen.push(`${request.method} ${request.headers.host} ${request.url} ${body}`)
      response.end(`${request.url}`)
    })
    request.on('error', () => {})
  })
  return { port, seen }
}

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: quiet.localhost\r\n\r\n'
const post = 'POST /front HTTP/1.1\r\nHost: shop.localhost\r\n'

const requests: readonly (readonly [what: string, bytes: string])[] = [
  ['CL.TE', `${post}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.CL', `${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n33\r\n${smuggled}\r\n0\r\n\r\n`],
  [
    'TE.TE with two headers',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['TE.TE with a space before the colon', `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.TE with a tab in the value', `${post}Transfer-Encoding: x\tchunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.TE with a vertical tab', `${post}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.TE with quotes', `${post}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.TE on a folded line', `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['TE.TE behind a bare line feed', `${post}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  [
    'chunked in HTTP/1.0 with a length',
    `POST /front HTTP/1.0\r\nHost: shop.localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['two equal lengths', `${post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello${smuggled}`],
  ['two lengths that differ', `${post}Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello${smuggled}`],
  ['a hexadecimal length', `${post}Content-Length: 0x5\r\n\r\nhello${smuggled}`],
  ['a negative length', `${post}Content-Length: -5\r\n\r\nhello${smuggled}`],
  ['a length with a space in it', `${post}Content-Length: 1 2\r\n\r\nhello${smuggled}`],
  ['a length that no number holds', `${post}Content-Length: 99999999999999999999\r\n\r\nhello${smuggled}`],
  [
    'a chunk size that no number holds',
    `${post}Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\na\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    'a chunk that does not end where it says',
    `${post}Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n0\r\n\r\n${smuggled}`,
  ],
  ['bare line feeds alone', `GET /front HTTP/1.1\nHost: shop.localhost\n\n${smuggled}`],
  ['bare carriage returns alone', `GET /front HTTP/1.1\rHost: shop.localhost\r\r${smuggled}`],
  ['a carriage return in its target', `GET /front\rX HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['a zero byte in its target', `GET /fro\0nt HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['a zero byte in a name', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nX\0A: 1\r\n\r\n${smuggled}`],
  ['a zero byte in a value', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nX-A: \0\r\n\r\n${smuggled}`],
  ['a line without a colon', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nX-A\r\n\r\n${smuggled}`],
  [
    'a header before the Host that is folded',
    `GET /front HTTP/1.1\r\n Host: quiet.localhost\r\nHost: shop.localhost\r\n\r\n${smuggled}`,
  ],
  ['two Hosts', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nHost: quiet.localhost\r\n\r\n${smuggled}`],
  ['two equal Hosts', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['a list as Host', `GET /front HTTP/1.1\r\nHost: shop.localhost, quiet.localhost\r\n\r\n${smuggled}`],
  ['a user in its Host', `GET /front HTTP/1.1\r\nHost: quiet.localhost@shop.localhost\r\n\r\n${smuggled}`],
  [
    'an absolute target with a user',
    `GET http://quiet.localhost@shop.localhost/ HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`,
  ],
  ['another version', `GET /front HTTP/3.7\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['TRACE', `TRACE /front HTTP/1.1\r\nHost: shop.localhost\r\nCookie: secret=1\r\n\r\n${smuggled}`],
  ['OPTIONS *', `OPTIONS * HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['CONNECT', `CONNECT quiet.localhost:80 HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${smuggled}`],
  ['an oversized line', `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n${smuggled}`],
  [
    'an oversized header',
    `GET /front HTTP/1.1\r\nHost: shop.localhost\r\nX-A: ${'a'.repeat(40_000)}\r\n\r\n${smuggled}`,
  ],
  ['too many headers', `GET /front HTTP/1.1\r\nHost: shop.localhost\r\n${'X-A: 1\r\n'.repeat(8_000)}\r\n`],
]

test('bytes that could be read as two requests are refused, at every route', async (t) => {
  const { port: shop, seen } = await recorder(t)
  const { port, othersAreServed } = await stage(t, shop)
  for (const [what, bytes] of requests) {
    const received = await raw(port, bytes)
    assert.match(received, /^(HTTP\/1\.1 4\d\d [\s\S]*)?$/, what)
    assert.equal(received.match(/HTTP\/1\.1 \d/g)?.length ?? 0, received === '' ? 0 : 1, what)
    assert.deepEqual(seen, [], what)
    await othersAreServed()
  }
})

test('the host in an absolute target counts, here and for the project', async (t) => {
  const { port: shop, seen } = await recorder(t)
  const { port, othersAreServed } = await stage(t, shop)
  await raw(port, 'GET http://shop.localhost/a HTTP/1.1\r\nHost: quiet.localhost\r\nConnection: close\r\n\r\n')
  assert.deepEqual(seen, ['GET shop.localhost /a '])
  await othersAreServed()
})

test('a length that Connection names stays, because the body does', async (t) => {
  const { port: shop, seen } = await recorder(t)
  const { port } = await stage(t, shop)
  const received = await raw(
    port,
    `POST /a HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: ${smuggled.length}\r\nConnection: close, Content-Length, Host\r\n\r\n${smuggled}`,
  )
  assert.match(received, /^HTTP\/1\.1 200 OK/)
  assert.deepEqual(seen, [`POST shop.localhost /a ${smuggled}`])
})

test('requests that are sent ahead are answered in their order, each with its own answer', async (t) => {
  let open = 0
  let most = 0
  const shop = await httpUpstream(t, (request, response) => {
    open += 1
    most = Math.max(most, open)
    // The earlier it is, the longer it takes.
    setTimeout(
      () => {
        open -= 1
        response.end(`<${request.url}>`)
      },
      request.url === '/0' ? 60 : 1,
    )
  })
  const { port, othersAreServed } = await stage(t, shop)
  const urls = Array.from({ length: 20 }, (_, index) => `/${index}`)
  const received = raw(
    port,
    urls
      .map((url, index) => {
        const last = index === urls.length - 1 ? 'Connection: close\r\n' : ''
        const body = index % 3 === 0 ? ['POST', 'Content-Length: 4\r\n\r\nbody'] : ['GET', '\r\n']
        return `${body[0]} ${url} HTTP/1.1\r\nHost: shop.localhost\r\n${last}${body[1]}`
      })
      .join(''),
  )
  await othersAreServed()
  assert.deepEqual(
    (await received).match(/<.*?>/g),
    urls.map((url) => `<${url}>`),
  )
  assert.equal(most, 1)
})

test('a client that sends ahead without end is one client, and is ended', async (t) => {
  let open = 0
  let most = 0
  let all = 0
  const shop = await httpUpstream(t, (_request, response) => {
    all += 1
    open += 1
    most = Math.max(most, open)
    setImmediate(() => {
      open -= 1
      response.end('x')
    })
  })
  const { port, othersAreServed } = await stage(t, shop, { pipelined: 10 })
  const received = raw(port, 'GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'.repeat(5_000), { closeAfter: 20_000 })
  await othersAreServed()
  assert.equal((await received).match(/HTTP\/1\.1 200 OK/g)?.length, 11)
  assert.equal(most, 1)
  assert.equal(all, 11)
})

test('nothing is done for a request behind one that ends the connection', async (t) => {
  const { port: shop, seen } = await recorder(t)
  const { port } = await stage(t, shop)
  const received = await raw(port, `GET /last HTTP/1.1\r\nHost: shop.localhost\r\nConnection: close\r\n\r\n${smuggled}`)
  assert.equal(received.match(/HTTP\/1\.1 \d/g)?.length, 1)
  assert.deepEqual(seen, ['GET shop.localhost /last '])
})

test('an upgrade that is sent ahead of an owed answer opens no tunnel', async (t) => {
  const heads: string[] = []
  const shop = await tcpUpstream(t, (socket) => {
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => heads.push(chunk))
  })
  const { port, othersAreServed } = await stage(t, shop)
  const received = await raw(
    port,
    'GET /slow HTTP/1.1\r\nHost: shop.localhost\r\n\r\nGET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
  assert.equal(received, '')
  assert.equal(
    heads.some((head) => head.includes('/socket')),
    false,
  )
  await othersAreServed()
})

for (const [what, bytes] of [
  [
    'with a body',
    `GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  ],
  [
    'with chunks',
    `GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  ],
  [
    'by POST',
    'POST /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
  ],
  [
    'to HTTP/2',
    'GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
  ],
] as const) {
  test(`an upgrade ${what} is no upgrade, and what comes with it no request`, async (t) => {
    const heads: string[] = []
    const shop = await tcpUpstream(t, (socket) => {
      let received = ''
      socket.setEncoding('latin1')
      socket.on('data', (chunk: string) => {
        received += chunk
        if (received.includes('\r\n\r\n') && heads.length === 0) {
          heads.push(received)
          setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), 20)
        }
      })
    })
    const { port, othersAreServed } = await stage(t, shop)
    assert.match(await raw(port, bytes), /^HTTP\/1\.1 200 OK[\s\S]*ok$/)
    assert.equal(/^(upgrade|http2-settings):/im.test(heads[0]!), false)
    await othersAreServed()
  })
}

test('a project that says 200 to an upgrade gets nothing more, and can say nothing more', async (t) => {
  let received = ''
  let connections = 0
  const shop = await tcpUpstream(t, (socket) => {
    connections += 1
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse')
    })
  })
  const { port, othersAreServed } = await stage(t, shop)
  const answer = await raw(
    port,
    `GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${smuggled}`,
  )
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/)
  assert.equal(received.includes('smuggled'), false)
  assert.equal(connections, 1)
  await othersAreServed()
})

/** What a project says, and what of it a client gets. */
const answers: readonly (readonly [what: string, bytes: string, got: RegExp])[] = [
  [
    'two answers',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo',
    /^HTTP\/1\.1 200 OK[\s\S]*one$/,
  ],
  ['more than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nonetwo', /^HTTP\/1\.1 200 OK[\s\S]*one$/],
  [
    'a body with 204',
    'HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\ntwo',
    /^HTTP\/1\.1 204 No Content[\s\S]*\r\n\r\n$/,
  ],
  [
    'a body with 304',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\ntwo',
    /^HTTP\/1\.1 304 Not Modified[\s\S]*\r\n\r\n$/,
  ],
  [
    'a header that is split',
    'HTTP/1.1 200 OK\r\nLocation: /\rSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n',
    /^HTTP\/1\.1 502/,
  ],
  [
    'a header with a bare line feed',
    'HTTP/1.1 200 OK\r\nLocation: /\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n',
    /^HTTP\/1\.1 502/,
  ],
  [
    'a folded header',
    'HTTP/1.1 200 OK\r\nLocation: /\r\n Set-Cookie: a=1\r\nContent-Length: 0\r\n\r\n',
    /^HTTP\/1\.1 502/,
  ],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 6\r\n\r\nonetwo', /^HTTP\/1\.1 502/],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n',
    /^HTTP\/1\.1 502/,
  ],
  [
    'a coding that is not chunked',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\none\r\n0\r\n\r\n',
    /^HTTP\/1\.1 502/,
  ],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X-A: 1\r\n'.repeat(10_000)}`, /^HTTP\/1\.1 502/],
  [
    'interim answers without end',
    'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000),
    /^HTTP\/1\.1 102 [\s\S]*HTTP\/1\.1 502/,
  ],
  [
    'a change of protocol',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\ntwo',
    /^HTTP\/1\.1 502/,
  ],
  ['a zero byte in its reason', 'HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 502/],
  ['a status that is none', 'HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 502/],
]

for (const [what, bytes, got] of answers) {
  test(`a project that answers with ${what} harms no other project`, async (t) => {
    let connections = 0
    const shop = await tcpUpstream(t, (socket) => {
      connections += 1
      socket.on('data', () => socket.write(bytes, 'latin1'))
    })
    const { port, othersAreServed } = await stage(t, shop)
    const post = 'POST / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    const received = await raw(port, post)
    assert.match(received, got)
    assert.equal(/set-cookie/i.test(received), false)
    await othersAreServed()
    // Whatever else came on that connection, the next request has another.
    assert.match(await raw(port, post), got)
    assert.equal(connections, 2)
  })
}

test('unrequested bytes end an idle connection to a project', async (t) => {
  let connections = 0
  let late: Socket | undefined
  const shop = await tcpUpstream(t, (socket) => {
    connections += 1
    late = socket
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none'))
  })
  const { port } = await stage(t, shop)
  assert.equal((await ask(port)).text, 'one')
  const closed = new Promise((resolve) => late!.once('close', resolve))
  late!.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo')
  await closed
  assert.equal((await ask(port)).text, 'one')
  assert.equal(connections, 2)
})

test('a project that sends chunk extensions without end is given up', async (t) => {
  let isClosed = false
  const shop = await tcpUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const more = () => {
        for (let count = 0; count < 100 && !socket.destroyed; count += 1) socket.write(`1;${'e'.repeat(100)}\r\na\r\n`)
        if (!socket.destroyed) setImmediate(more)
      }
      more()
    })
    socket.on('close', () => {
      isClosed = true
    })
  })
  const { port, othersAreServed } = await stage(t, shop)
  await assert.rejects(ask(port))
  await until(() => isClosed, 'the project is released', 20_000)
  await othersAreServed()
})

test('heads and bodies that dribble are ended, and others are served meanwhile', async (t) => {
  const { port: shop, seen } = await recorder(t)
  const { port, othersAreServed } = await stage(t, shop, { headersWithin: 400, bodyIdle: 400 })
  const slow = Array.from({ length: 40 }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(
      index % 2 === 0
        ? 'GET / HTTP/1.1\r\nHost: shop.localhost\r\nX-'
        : 'POST / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 1000\r\n\r\nx',
    )
    socket.resume()
    return new Promise<void>((resolve) => {
      // Heads get a byte now and then; bodies stand still.
      const dribble = index % 2 === 0 ? setInterval(() => socket.write('X'), 50) : undefined
      socket.once('close', () => {
        clearInterval(dribble)
        resolve()
      })
      socket.once('end', () => socket.end())
    })
  })
  await othersAreServed()
  await Promise.all(slow)
  assert.deepEqual(seen, [])
  await othersAreServed()
})

test('readers that take nothing are ended, also when all of their answer is on its way', async (t) => {
  const chunk = Buffer.alloc(64 * 1024)
  const shop = await httpUpstream(t, (request, response) => {
    const size = request.url === '/endless' ? Number.POSITIVE_INFINITY : 6 * 1024 * 1024
    let sent = 0
    const more = () => {
      while (sent < size && !response.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const { port, control, othersAreServed } = await stage(t, shop, { readerIdle: 400 })
  const readers = ['/endless', '/long', '/endless', '/long'].map((path) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n`)
    return socket
  })
  t.after(() => {
    for (const socket of readers) socket.destroy()
  })
  await until(async () => (await control.flights('127.0.0.1', shop)).requests > 0, 'they are under way', 20_000)
  await othersAreServed()
  await until(async () => (await control.status())!.connections === 0, 'the proxy has let go of them', 20_000)
  assert.deepEqual(await control.flights('127.0.0.1', shop), { requests: 0, tunnels: 0 })
})

test('a client that asks for an upgrade and never hangs up does not stay', async (t) => {
  const shop = await httpUpstream(t, (_request, response) => response.writeHead(403).end('no'))
  const { port, control } = await stage(t, shop, { linger: 300 })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  t.after(() => socket.destroy())
  socket.resume()
  socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await until(async () => (await control.status())!.requests === 1, 'it was asked', 20_000)
  await until(async () => (await control.status())!.connections === 0, 'the proxy has let go of it', 20_000)
})

test('2,000 idle connections cost no other client an answer', async (t) => {
  const { port: shop } = await recorder(t)
  const { port, control, othersAreServed } = await stage(t, shop)
  const idle = Array.from({ length: 2_000 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  t.after(() => {
    for (const socket of idle) socket.destroy()
  })
  await until(async () => (await control.status())!.connections >= 2_000, 'all are open', 30_000)
  await othersAreServed()
  const post = 'POST /a HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody'
  assert.match(await raw(port, post), /^HTTP\/1\.1 200 OK/)
})
