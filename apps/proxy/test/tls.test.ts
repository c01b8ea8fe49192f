import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { get, request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { freePort } from '@stackquay/testkit/free-port'
import { WebSocket, WebSocketServer } from 'ws'
import { ensureProxy } from '../src/control.ts'
import { readClientHello } from '../src/tls/client-hello.ts'
import { alive, ask, httpUpstream, raw, route, table, tcpUpstream, tempHome, until, upstreamAt } from './support.ts'
import { certificateFor, given, makeCertificate, secureProxy, secureSocket, shopCertificate } from './tls-support.ts'

const patience = 30_000

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

function secureGet(port: number, headers: Readonly<Record<string, string>> = {}, path = '/'): Promise<Got> {
  const options = { port, host: '127.0.0.1', path, servername: 'shop.localhost', rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    get({ ...options, agent: false, headers: { host: 'shop.localhost', ...headers } }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode!, headers: response.headers, text })
    }).on('error', reject)
  })
}

async function seen(t: TestContext) {
  return httpUpstream(t, (request, response) => response.end(JSON.stringify(request.headers)))
}

test('a project is reached over TLS, and told so', async (t) => {
  const upstream = await seen(t)
  const { port } = await secureProxy(t, upstreamAt(upstream))
  const { status, headers, text } = await secureGet(port, { 'x-forwarded-proto': 'http' })
  assert.equal(status, 200)
  assert.equal(headers['strict-transport-security'], undefined)
  const told = JSON.parse(text)
  assert.equal(told['x-forwarded-proto'], 'https')
  assert.equal(told['x-forwarded-port'], String(port))
  assert.equal(told.host, 'shop.localhost')
})

test('TLS 1.2 and 1.3 with forward secrecy and nothing older; no name and unknown names are shown no certificate', async (t) => {
  const { port } = await secureProxy(t, { kind: 'page', page: 'stopped' })
  const cipherOf = async (options: object) => {
    const socket = await secureSocket(port, options)
    const { name } = socket.getCipher()
    const protocol = socket.getProtocol()
    socket.destroy()
    return [protocol, name]
  }
  assert.equal((await cipherOf({}))[0], 'TLSv1.3')
  assert.deepEqual(await cipherOf({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }), [
    'TLSv1.2',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
  ])
  const refused = [
    { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' },
    { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' },
    { servername: '' },
    { servername: 'other.localhost' },
    { ALPNProtocols: ['smtp'] },
  ]
  for (const options of refused)
    await assert.rejects(
      secureSocket(port, options as object),
      (error) => error instanceof Error,
      JSON.stringify(options),
    )
})

test('by names: an exact one wins over a wildcard, and a name that the connection was not made for is misdirected', async (t) => {
  const upstream = await seen(t)
  const wild = certificateFor(['*.example.test'])
  const own = certificateFor(['shop.example.test'])
  const routes = ['shop.example.test', 'blog.example.test'].map((host) => ({
    ...route(host.slice(0, 4), upstreamAt(upstream)),
    hosts: [host],
  }))
  const { port } = await secureProxy(t, upstreamAt(upstream), { certificates: [wild, own, shopCertificate], routes })
  const subjectOf = async (servername: string) => {
    const socket = await secureSocket(port, { servername })
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  assert.equal(await subjectOf('shop.example.test'), 'shop.example.test')
  assert.equal(await subjectOf('blog.example.test'), '*.example.test')
  assert.equal(await subjectOf('SHOP.localhost'), 'shop.localhost')
  const misdirected = await secureGet(port, { host: 'blog.example.test' })
  assert.equal(misdirected.status, 421)
  assert.equal(misdirected.headers['x-stackquay-notice'], 'misdirected')
  assert.equal((await secureGet(port)).status, 200)
})

test('a changed certificate: connections go on with the old one, new ones get the new, and one that is gone is not resumed', async (t) => {
  const upstream = await seen(t)
  const { port, control } = await secureProxy(t, upstreamAt(upstream))
  let session: Buffer | undefined
  const before = await secureSocket(port)
  before.on('session', (ticket) => {
    session = ticket
  })
  const askOver = async (socket: TLSSocket) => {
    socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n')
    const [head] = await new Promise<[Buffer]>((resolve) => socket.once('data', (...all) => resolve(all as [Buffer])))
    return head.toString().split('\r\n')[0]
  }
  assert.equal(await askOver(before), 'HTTP/1.1 200 OK')
  const next = certificateFor(['shop.localhost'])
  assert.equal((await control.setCertificates(given([next], { generation: 2 }))).certificatesGeneration, 2)
  const after = await secureSocket(port)
  assert.notEqual(after.getPeerX509Certificate()?.serialNumber, before.getPeerX509Certificate()?.serialNumber)
  assert.equal(await askOver(before), 'HTTP/1.1 200 OK')
  assert.equal(await askOver(after), 'HTTP/1.1 200 OK')

  // A mistake changes nothing.
  const wrong = { ...next, key: makeCertificate(['x.localhost']).key }
  await assert.rejects(control.setCertificates(given([wrong], { generation: 3 })), { code: 'certificates_invalid' })
  assert.equal((await control.status())?.certificatesGeneration, 2)
  assert.equal((await secureGet(port)).status, 200)

  await control.setCertificates(given([certificateFor(['other.localhost'])], { generation: 4 }))
  assert.equal(await askOver(before), 'HTTP/1.1 200 OK')
  assert.ok(session)
  const resumed = await secureSocket(port, { session }).catch(() => null)
  // In TLS 1.3 the client is done before the server has looked.
  if (resumed !== null)
    await new Promise((resolve) =>
      resumed
        .once('close', resolve)
        .on('error', () => {})
        .resume(),
    )
  for (const socket of [before, after]) socket.destroy()
})

test('plain HTTP is led to https where it is wanted, but for who validates a name; HSTS is said over TLS alone', async (t) => {
  const upstream = await seen(t)
  const certificates = [{ ...shopCertificate, redirect: true, hstsSeconds: 600 }]
  const blog = certificateFor(['blog.localhost'])
  const routes = [route('blog', upstreamAt(upstream)), route('bare', upstreamAt(upstream))]
  const { plain, port, control } = await secureProxy(t, upstreamAt(upstream), { certificates: null, routes })
  const http01 = [{ name: 'shop.localhost', token: 'tok-1', answer: 'tok-1.thumb' }]
  await control.setCertificates(given([...certificates, blog], { http01 }))

  const moved = await ask(plain, { host: `shop.localhost:${plain}`, path: '/a?b=c', method: 'POST', body: 'x' })
  assert.equal(moved.status, 308)
  assert.equal(moved.headers.location, `https://shop.localhost:${port}/a?b=c`)
  assert.equal(moved.headers['strict-transport-security'], undefined)
  // Through something that has the usual ports.
  assert.equal((await ask(plain)).headers.location, 'https://shop.localhost/')
  for (const host of ['blog.localhost', 'bare.localhost']) assert.equal((await ask(plain, { host })).status, 200)

  const path = '/.well-known/acme-challenge/tok-1'
  const challenge = await ask(plain, { path })
  assert.deepEqual([challenge.status, challenge.text], [200, 'tok-1.thumb'])
  assert.equal((await ask(plain, { path, host: 'unknown.test' })).status, 404)
  assert.equal((await ask(plain, { path: `${path}x` })).status, 308)
  assert.equal((await ask(plain, { path, host: 'blog.localhost' })).text.includes('thumb'), false)

  const secure = await secureGet(port)
  assert.equal(secure.headers['strict-transport-security'], 'max-age=600')
  assert.equal((await secureGet(port, { host: 'shop.localhost', te: 'x' })).status, 200)
  const upgrade = await raw(
    plain,
    'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
  assert.match(upgrade, /^HTTP\/1\.1 308 /)
})

test('behind a trusted proxy that has ended TLS nothing is redirected', async (t) => {
  const upstream = await seen(t)
  const certificates = [{ ...shopCertificate, redirect: true }]
  const { plain, control } = await secureProxy(t, upstreamAt(upstream), { certificates })
  await control.putRoutes({ ...table([route('shop', upstreamAt(upstream))], 2), trustedProxies: ['127.0.0.1'] })
  assert.equal((await ask(plain, { headers: { 'x-forwarded-proto': 'https' } })).status, 200)
  assert.equal((await ask(plain, { headers: { 'x-forwarded-proto': 'http' } })).status, 308)
})

test('acme-tls/1 gets the certificate of the challenge and then the end, also when its first message comes in pieces', async (t) => {
  const upstream = await seen(t)
  const { port, control } = await secureProxy(t, upstreamAt(upstream))
  const challenge = makeCertificate(['shop.localhost'])
  await control.setCertificates(given([shopCertificate], { tlsAlpn01: [{ name: 'shop.localhost', ...challenge }] }))
  const serialOf = (socket: TLSSocket) => socket.getPeerX509Certificate()?.toString()
  const validating = await secureSocket(port, { ALPNProtocols: ['acme-tls/1'] })
  assert.equal(validating.alpnProtocol, 'acme-tls/1')
  assert.equal(serialOf(validating)?.trim(), challenge.certificate.trim())
  await new Promise((resolve) => validating.once('close', resolve).resume())
  await assert.rejects(secureSocket(port, { ALPNProtocols: ['acme-tls/1'], servername: 'other.localhost' }))

  // Others see nothing of it, and large first messages (a client that offers much) go through.
  const visitor = await secureSocket(port, {
    ALPNProtocols: ['http/1.1', ...Array.from({ length: 60 }, (_, n) => `none-${n}`.repeat(5))],
  })
  assert.equal(serialOf(visitor)?.trim(), shopCertificate.certificate.trim())
  visitor.destroy()
  assert.equal((await secureGet(port)).status, 200)
})

test('WebSockets go over TLS in both directions, and one that breaks off is no end', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)))
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = await secureProxy(t, upstreamAt((server.address() as { port: number }).port))
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, {
    ...({ servername: 'shop.localhost', rejectUnauthorized: false } as object),
    headers: { host: 'shop.localhost' },
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const big = 'x'.repeat(300_000)
  socket.send(big)
  const [echo] = await new Promise<[Buffer]>((resolve) => socket.once('message', (...all) => resolve(all as never)))
  assert.equal(echo.toString(), big)
  socket.close()
  await new Promise((resolve) => socket.once('close', resolve))

  // A refusal without a length that breaks off in the middle must not look complete.
  const cut = await tcpUpstream(t, (upstream) =>
    upstream.once('data', () => {
      upstream.write('HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n')
      setTimeout(() => upstream.resetAndDestroy(), 50)
    }),
  )
  const { port: other } = await secureProxy(t, upstreamAt(cut))
  const request = httpsRequest({
    ...{ port: other, host: '127.0.0.1', servername: 'shop.localhost', rejectUnauthorized: false, agent: false },
    headers: { host: 'shop.localhost', connection: 'upgrade', upgrade: 'websocket' },
  })
  request.end()
  const outcome = await new Promise<string>((resolve) => {
    request.once('error', (error) => resolve(error.message))
    request.once('response', (response) =>
      response
        .on('error', () => {})
        .once('close', () => resolve(response.complete ? 'complete' : 'broken'))
        .resume(),
    )
  })
  assert.notEqual(outcome, 'complete')
})

test('without a certificate a connection is closed; before the first word about them it waits', async (t) => {
  const upstream = await seen(t)
  const { port, control } = await secureProxy(t, upstreamAt(upstream), { certificates: null })
  const early = secureGet(port)
  await delay(100)
  await control.setCertificates(given([shopCertificate]))
  assert.equal((await early).status, 200)
  await control.setCertificates(given([], { generation: 2 }))
  await assert.rejects(secureGet(port))

  const other = await secureProxy(t, upstreamAt(upstream), { certificates: null, limits: { handshakeWithin: 150 } })
  await assert.rejects(secureGet(other.port))
})

test('clients that connect and say nothing, or very slowly, are hung up on and take the place of nobody', async (t) => {
  const upstream = await seen(t)
  const limits = { handshakeWithin: 400, handshakes: 80, handshakesOfOne: 10 }
  const { port } = await secureProxy(t, upstreamAt(upstream), { limits })
  const began = performance.now()
  const silent = Array.from({ length: 60 }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    return {
      socket,
      closed: new Promise<number>((resolve) => socket.once('close', () => resolve(performance.now() - began))),
    }
  })
  // The first byte of a record of TLS, and no more.
  silent[0]!.socket.write('\x16')
  const ends = await Promise.all(silent.slice(20).map(({ closed }) => closed))
  assert.ok(Math.min(...ends) < 300, 'those above the part of one client end at once')
  const other = connectFrom(port, '127.0.0.2')
  assert.equal((await other).alpnProtocol, false)
  const all = await Promise.all(silent.map(({ closed }) => closed))
  assert.ok(Math.max(...all) < 5_000)
  assert.equal((await secureGet(port)).status, 200)
})

function connectFrom(port: number, localAddress: string): Promise<TLSSocket> {
  return secureSocket(port, { localAddress } as object)
}

test('sessions are resumed in every process, and a proxy that takes over loses no connection and no certificate', async (t) => {
  const home = await tempHome(t)
  const upstream = await seen(t)
  const address = { listen: `127.0.0.1:${await freePort()}`, listenHttps: `127.0.0.1:${await freePort()}` }
  const first = await ensureProxy({ home, ...address, workers: 3, startWithin: patience })
  await first.putRoutes(table([route('shop', upstreamAt(upstream))]))
  await first.setCertificates(given([shopCertificate], { generation: 7 }))
  await until(async () => (await first.status())?.workers.length === 3, 'all workers listen', patience)
  const status = (await first.status())!
  assert.deepEqual(
    [status.certificatesGeneration, status.certificates, status.listenHttps],
    [7, 1, address.listenHttps],
  )
  const port = status.httpsAddress!.port

  const reused = new Set<boolean>()
  let session: Buffer | undefined
  for (let turn = 0; turn < 24; turn += 1) {
    const socket = await secureSocket(port, session === undefined ? {} : { session })
    if (turn > 0) reused.add(socket.isSessionReused())
    socket.on('session', (ticket) => {
      session = ticket
    })
    socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: close\r\n\r\n')
    await new Promise((resolve) => socket.once('close', resolve).resume())
  }
  assert.deepEqual([...reused], [true])

  // Keys are in memory alone.
  for (const name of ['proxy.log', 'proxy.json', 'routes.json'])
    assert.doesNotMatch(await readFile(`${home}/${name}`, 'utf8').catch(() => ''), /PRIVATE KEY|BEGIN CERT/)

  const second = await ensureProxy({ home, ...address, workers: 2, startWithin: patience })
  assert.equal((await second.status())?.certificatesGeneration, null)
  const waiting = secureGet(port)
  await second.setCertificates(given([shopCertificate], { generation: 8 }))
  assert.equal((await waiting).status, 200)
  await until(() => !alive(status.pid), 'the old proxy ends', patience)

  const other = await tempHome(t)
  await assert.rejects(
    ensureProxy({ home: other, listen: '127.0.0.1:0', listenHttps: address.listenHttps }),
    new RegExp(
      `Port ${port} is used by ".+" \\(pid \\d+\\)\\. Stop it, or choose another address with STACKQUAY_PROXY_HTTPS`,
    ),
  )
})

test('the first message of a client is read however it is cut', async (t) => {
  const said = Promise.withResolvers<Buffer>()
  const port = await tcpUpstream(t, (socket) => socket.once('data', said.resolve))
  void secureSocket(port, { ALPNProtocols: ['acme-tls/1'], servername: 'Shop.localhost' }).catch(() => {})
  const hello = await said.promise
  const expected = { serverName: 'shop.localhost', protocols: ['acme-tls/1'] }
  assert.deepEqual(readClientHello(hello), expected)
  for (let size = 0; size < hello.length; size += 1)
    assert.equal(readClientHello(hello.subarray(0, size)), 'incomplete')
  // The same message in records of 16 bytes.
  const body = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < body.length; at += 16) {
    const part = body.subarray(at, at + 16)
    records.push(Buffer.from([22, 3, 1, 0, part.length]), part)
  }
  assert.deepEqual(readClientHello(Buffer.concat(records)), expected)
  assert.equal(readClientHello(Buffer.from('GET / HTTP/1.1\r\n\r\n')), null)
  assert.equal(readClientHello(Buffer.alloc(20_000, 22)), null)
  // Lengths that lead out of the message.
  for (let at = 40; at < hello.length; at += 1) {
    const broken = Buffer.from(hello)
    broken[at] = 0xff
    readClientHello(broken)
  }
})

test('new connections while certificates change: none fails', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('ok'))
  const { port, control } = await secureProxy(t, upstreamAt(upstream))
  const seconds = Number(process.env.STACKQUAY_SOAK === undefined ? 2 : 60)
  const until = Date.now() + seconds * 1_000
  let good = 0
  // On a busy machine as many as would be made elsewhere.
  const isOver = () => Date.now() >= until && (good > 100 * seconds || Date.now() >= until + 60_000)
  const failures: unknown[] = []
  const client = async () => {
    while (!isOver()) {
      try {
        if ((await secureGet(port)).text === 'ok') good += 1
      } catch (error) {
        failures.push(error)
      }
    }
  }
  const both = [shopCertificate, certificateFor(['shop.localhost'])]
  const change = async () => {
    for (let generation = 2; !isOver(); generation += 1) {
      await control.setCertificates(given([both[generation % 2]!], { generation }))
      await delay(20)
    }
  }
  await Promise.all([change(), ...Array.from({ length: 16 }, client)])
  assert.deepEqual(failures, [])
  assert.ok(good > 100 * seconds, `only ${good} requests were made`)
})
