import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get as getPlain } from 'node:http'
import { connect as connectH2 } from 'node:http2'
import { Agent, request as requestSecure } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { WebSocket } from 'ws'
import { type ShownCertificate, securePage } from '../src/http/tls/secure-page.ts'
import { auditOf, bearer, openTestHttpApp, password } from './http-support.ts'

/** A certificate of its own for a name, as anybody would make it by hand. */
async function selfSigned(
  t: TestContext,
  name: string,
  kept: Partial<ShownCertificate> = {},
): Promise<ShownCertificate> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-certificate-'))
  t.after(() => rm(folder, { recursive: true }))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const of = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name},IP:127.0.0.1`]
  execFileSync('openssl', [...made, ...of, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const text = await readFile(key, 'utf8')
  const pair = { certificate: await readFile(certificate, 'utf8'), key: async () => text }
  return { ...pair, redirect: false, hstsSeconds: null, ...kept }
}

async function openSecureApp(t: TestContext, options: Parameters<typeof openTestHttpApp>[1] = {}) {
  const http = await openTestHttpApp(t, options)
  const certificates: { byName: Map<string, ShownCertificate>; usual: ShownCertificate | null } = {
    byName: new Map(),
    usual: null,
  }
  securePage(http.app, {
    any: () => certificates.usual !== null,
    shownFor: (name) => (name === null ? certificates.usual : (certificates.byName.get(name) ?? certificates.usual)),
  })
  const address = await http.listen()
  const { port } = new URL(address)
  return { ...http, certificates, address, port: Number(port), secureAddress: address.replace('http:', 'https:') }
}

const trusting = { rejectUnauthorized: false } as const

function overH2(t: TestContext, address: string) {
  const session = connectH2(address, trusting)
  session.on('error', () => {})
  t.after(() => session.destroy())
  return {
    session,
    async ask(headers: Record<string, string>, body?: string) {
      const stream = session.request(headers)
      if (body !== undefined) stream.write(body)
      stream.end()
      const [answer] = await once(stream, 'response')
      let text = ''
      for await (const chunk of stream.setEncoding('utf8')) text += chunk
      return { status: Number(answer[':status']), headers: answer as Record<string, string>, text }
    },
  }
}

test('one address speaks HTTP, HTTP/1.1 over TLS and HTTP/2 as soon as there is a certificate', async (t) => {
  const app = await openSecureApp(t)
  const { value } = await app.token({ scope: 'read' })
  const me = '/api/v1/auth/me'
  const plain = () => fetch(`${app.address}${me}`, { headers: bearer(value) })

  assert.equal((await plain()).status, 200)
  // Without a certificate a client of TLS is answered as any other that speaks no HTTP.
  await assert.rejects(once(connectTls({ port: app.port, ...trusting }), 'secureConnect'))

  app.certificates.usual = await selfSigned(t, 'quay.test')
  assert.equal((await plain()).status, 200)

  const first = requestSecure(`${app.secureAddress}${me}`, { ...trusting, headers: bearer(value) }).end()
  const [answer] = await once(first, 'response')
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.httpVersion, '1.1')

  const h2 = overH2(t, app.secureAddress)
  const asked = await h2.ask({ ':path': me, ...bearer(value) })
  assert.equal(asked.status, 200)
  assert.equal(JSON.parse(asked.text).kind, 'token')
  assert.equal(h2.session.alpnProtocol, 'h2')
})

test('over HTTP/2 a log-in, a body, a refused host and a foreign origin are what they are over HTTP/1.1', async (t) => {
  const app = await openSecureApp(t)
  app.certificates.usual = await selfSigned(t, 'quay.test')
  const { ask } = overH2(t, app.secureAddress)
  const json = { ':method': 'POST', 'content-type': 'application/json' }
  const login = { ...json, ':path': '/api/v1/auth/login' }
  const body = JSON.stringify({ username: 'ada', password })

  const entered = await ask(login, body)
  assert.equal(entered.status, 200)
  const cookie = String(entered.headers['set-cookie'])
  assert.match(cookie, /^__Host-stackquay_session_test=.*; Secure$/)
  const session = { cookie: cookie.split(';')[0]!, 'x-csrf-token': JSON.parse(entered.text).csrfToken as string }
  assert.equal((await ask({ ':path': '/api/v1/auth/me', ...session })).status, 200)
  // The cookie of TLS is nobody without it.
  assert.equal((await fetch(`${app.address}/api/v1/auth/me`, { headers: session })).status, 401)

  const foreign = await ask({ ...login, origin: 'https://evil.example' }, body)
  assert.equal(JSON.parse(foreign.text).code, 'csrf_failed')
  const rebound = await ask({ ...login, ':authority': 'rebound.example.com' }, body)
  assert.equal(JSON.parse(rebound.text).code, 'csrf_failed')
  const [own] = await once(
    requestSecure(`${app.secureAddress}/api/v1/auth/me`, {
      ...trusting,
      headers: { ...session, origin: app.secureAddress },
    }).end(),
    'response',
  )
  assert.equal(own.statusCode, 200)
})

test('streams: events over HTTP/2, WebSockets over TLS, a body that comes in pieces, and files', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-web-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'index.html'), `<!doctype html>${'x'.repeat(300_000)}`)
  const app = await openSecureApp(t, { webFolder: folder })
  app.certificates.usual = await selfSigned(t, 'quay.test')
  const { value } = await app.token({ scope: 'read' })
  const h2 = overH2(t, app.secureAddress)

  const stream = h2.session.request({ ':path': '/api/v1/events', ...bearer(value) })
  const [heard] = await once(stream.setEncoding('utf8'), 'data')
  assert.match(heard, /event: start/)

  const page = await h2.ask({ ':path': '/', accept: 'text/html' })
  assert.equal(page.status, 200)
  assert.ok(page.text.length > 300_000)

  const socket = new WebSocket(`${app.secureAddress.replace('https', 'wss')}/api/v1/events/ws`, {
    headers: bearer(value),
    ...trusting,
  })
  const [frame] = await once(socket, 'message')
  assert.equal(JSON.parse(String(frame)).type, 'start')
  socket.terminate()

  // Both ways to come in at one address, a byte at a time.
  for (const kind of ['plain', 'secure'] as const) {
    const connection =
      kind === 'plain' ? connect(app.port, '127.0.0.1') : connectTls({ port: app.port, host: '127.0.0.1', ...trusting })
    await once(connection, kind === 'plain' ? 'connect' : 'secureConnect')
    const text = `GET /api/v1/auth/me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${value}\r\n\r\n`
    connection.setNoDelay(true)
    for (const byte of text) {
      connection.write(byte)
      await delay(1)
    }
    const [answered] = await once(connection, 'data')
    assert.match(String(answered), /^HTTP\/1\.1 200 OK/, kind)
    // The connection stays, for requests that come together.
    connection.write(text + text)
    let rest = ''
    for await (const chunk of connection) {
      rest += String(chunk)
      if (rest.match(/HTTP\/1\.1 200/g)?.length === 2) break
    }
  }
})

test('a body without a length is one, and who resets a request is known all the same', async (t) => {
  const app = await openSecureApp(t)
  app.certificates.usual = await selfSigned(t, 'quay.test')
  const { ask, session } = overH2(t, app.secureAddress)
  const login = { ':method': 'POST', ':path': '/api/v1/auth/login' }
  const body = JSON.stringify({ username: 'ada', password })
  assert.equal((await ask({ ...login, 'content-type': 'text/plain' }, body)).status, 415)
  const wrong = JSON.stringify({ username: 'ada', password: 'not this one' })
  const stream = session.request({ ...login, 'content-type': 'application/json' })
  stream.on('error', () => {})
  stream.end(wrong)
  await delay(15)
  stream.close(8)
  const [entry] = await auditOf(app.store, 'denied', 1)
  assert.equal(entry?.ip, '127.0.0.1')
})

test('a certificate that changes ends no connection, and names have their own', async (t) => {
  const app = await openSecureApp(t)
  const [first, second, named] = await Promise.all(
    ['first.test', 'second.test', 'named.test'].map((n) => selfSigned(t, n)),
  )
  app.certificates.usual = first!
  app.certificates.byName.set('named.test', named!)
  const { value } = await app.token({ scope: 'read' })
  const subjectOf = async (servername?: string) => {
    const socket = connectTls({ port: app.port, host: '127.0.0.1', ...(servername && { servername }), ...trusting })
    await once(socket, 'secureConnect')
    const { subject } = socket.getPeerCertificate()
    socket.destroy()
    return subject.CN
  }
  assert.equal(await subjectOf(), 'first.test')
  assert.equal(await subjectOf('named.test'), 'named.test')

  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...trusting })
  t.after(() => agent.destroy())
  const h2 = overH2(t, app.secureAddress)
  const ask = async () => {
    const options = { agent, headers: bearer(value), ...trusting }
    const request = requestSecure(`${app.secureAddress}/api/v1/auth/me`, options).end()
    const [answer] = await once(request, 'response')
    answer.resume()
    await once(answer, 'end')
    return { status: answer.statusCode, port: request.socket?.localPort }
  }
  const before = await ask()
  assert.equal((await h2.ask({ ':path': '/api/v1/auth/me', ...bearer(value) })).status, 200)
  app.certificates.usual = second!
  assert.equal(await subjectOf(), 'second.test')
  assert.deepEqual(await ask(), before)
  assert.equal((await h2.ask({ ':path': '/api/v1/auth/me', ...bearer(value) })).status, 200)
  assert.equal(h2.session.closed, false)
})

test('who opens the page by its old address is led on, programs are not', async (t) => {
  const app = await openSecureApp(t)
  const usual = await selfSigned(t, 'quay.test', { redirect: true, hstsSeconds: 600 })
  app.certificates.usual = usual
  const open = (headers: Record<string, string>) =>
    fetch(`${app.address}/projects?a=b`, { redirect: 'manual', headers: { accept: 'text/html', ...headers } })
  const led = await app.app.inject({
    url: '/projects?a=b',
    headers: { host: 'quay.test:8700', 'sec-fetch-mode': 'navigate' },
  })
  assert.equal(led.statusCode, 308)
  assert.equal(led.headers.location, 'https://quay.test:8700/projects?a=b')
  assert.equal((await open({})).status, 404)
  assert.equal((await open({})).headers.has('strict-transport-security'), false)

  const { ask } = overH2(t, app.secureAddress)
  assert.equal((await ask({ ':path': '/api/v1/health' })).headers['strict-transport-security'], 'max-age=600')
  app.certificates.usual = { ...usual, redirect: false, hstsSeconds: null }
  assert.equal((await ask({ ':path': '/api/v1/health' })).headers['strict-transport-security'], undefined)
  const stays = await app.app.inject({ url: '/projects', headers: { host: 'quay.test', 'sec-fetch-mode': 'navigate' } })
  assert.equal(stays.statusCode, 404)
})

test('old versions, broken handshakes and silent clients hold nobody up', async (t) => {
  const app = await openSecureApp(t)
  app.certificates.usual = await selfSigned(t, 'quay.test')
  const old = connectTls({ port: app.port, host: '127.0.0.1', maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ...trusting })
  await assert.rejects(once(old, 'secureConnect'))
  const silent = connect(app.port, '127.0.0.1')
  const broken = connect(app.port, '127.0.0.1')
  broken.on('error', () => {})
  broken.write(Buffer.from([22, 3, 1, 255, 255, 1, 2, 3, 4, 5]))
  const reset = connect(app.port, '127.0.0.1')
  reset.on('error', () => {})
  await once(reset, 'connect')
  reset.resetAndDestroy()
  const [answer] = await once(getPlain(`${app.address}/api/v1/health`), 'response')
  answer.resume()
  assert.ok(answer.statusCode < 500)
  silent.destroy()
  broken.destroy()
})

test('the service ends while HTTP/2 is open: who listens is let go', async (t) => {
  const app = await openSecureApp(t)
  app.certificates.usual = await selfSigned(t, 'quay.test')
  const { value } = await app.token({ scope: 'read' })
  const h2 = overH2(t, app.secureAddress)
  const stream = h2.session.request({ ':path': '/api/v1/events', ...bearer(value) })
  await once(stream, 'data')
  const ended = once(h2.session, 'close')
  const began = Date.now()
  await app.app.close()
  await ended
  assert.ok(Date.now() - began < 5_000)
})
