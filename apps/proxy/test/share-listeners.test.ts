import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { freePort } from '@stackquay/testkit/free-port'
import { createProxyControl } from '../src/control.ts'
import { startProxy } from '../src/proxy.ts'
import { parseRouteTable, type Route, RouteTableError, type ShareListener } from '../src/route-table.ts'
import {
  ask,
  httpUpstream,
  open,
  portOf,
  raw,
  route,
  table,
  tcpUpstream,
  tempHome,
  until,
  upstreamAt,
} from './support.ts'

const shareHost = 'k3v9.share.localhost'
const publicUrl = 'https://calm-owl.trycloudflare.com'

/** A project that says what reached it, with a share whose listener has a port of its own. */
async function shared(
  t: TestContext,
  over: Partial<ShareListener> = {},
  rules: Route['rules'] = undefined,
  expiresAt = Date.now() + 60_000,
) {
  const upstream = await httpUpstream(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ headers: request.headers, url: request.url }))
  })
  const home = await tempHome(t)
  const proxy = await startProxy({ home, listen: '127.0.0.1:0', limits: { drainWithin: 200 } })
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
  })
  const control = createProxyControl(home)
  const port = over.port ?? (await freePort())
  const shop = { ...route('shop', upstreamAt(upstream)), ...(rules && { rules }) }
  const share: Route = {
    ...shop,
    hosts: [shareHost],
    share: { id: 'shr_1', expiresAt, entrance: { clientHeader: 'cf-connecting-ip', publicUrl, ...over, port } },
  }
  const other = route('other', upstreamAt(upstream))
  const put = (routes: readonly Route[], generation: number) =>
    control.putRoutes({ ...table(routes, generation), shareSuffix: '.share.localhost' })
  await put([shop, share, other], 1)
  return { port, front: proxy.address.port, put, shop, share, other, home, proxy }
}

describe('the listener of a share', () => {
  it('leads to its share whatever Host is named, and to nothing else', async (t) => {
    const { port } = await shared(t)
    for (const host of ['other.localhost', 'shop.localhost', 'calm-owl.trycloudflare.com', '_', shareHost]) {
      const answer = await ask(port, { host, path: '/a?b=1' })
      assert.equal(answer.status, 200, host)
      const { headers, url } = JSON.parse(answer.text)
      assert.equal(url, '/a?b=1')
      // The application gets the name under which people know it, never the one in the request.
      assert.equal(headers.host, 'calm-owl.trycloudflare.com')
      assert.equal(headers['x-forwarded-host'], 'calm-owl.trycloudflare.com')
      assert.equal(headers['x-forwarded-proto'], 'https')
      assert.equal(headers['x-forwarded-port'], '443')
    }
  })

  it('holds for an absolute target too', async (t) => {
    const { port } = await shared(t)
    const text = await raw(port, 'GET http://other.localhost/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(text, /calm-owl\.trycloudflare\.com/)
  })

  it('lets no client in for being on this machine: the client is the one that the program names', async (t) => {
    const allow = ['127.0.0.0/8', '::1', '203.0.113.7']
    const { port, front } = await shared(t, {}, { allow })
    assert.equal((await ask(front)).status, 200, 'from this machine, by the front')
    const from = (headers: Record<string, string | string[]>) => ask(port, { headers })
    assert.equal((await from({})).status, 403, 'no client is named')
    assert.equal((await from({ 'cf-connecting-ip': '198.51.100.1' })).status, 403)
    assert.equal((await from({ 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '127.0.0.1' })).status, 403)
    assert.equal((await from({ 'cf-connecting-ip': ['203.0.113.7', '203.0.113.7'] })).status, 403, 'named twice')
    assert.equal((await from({ 'cf-connecting-ip': 'localhost' })).status, 403)
    const known = await from({ 'cf-connecting-ip': '203.0.113.7', 'x-forwarded-for': '127.0.0.1' })
    assert.equal(known.status, 200)
    assert.equal(JSON.parse(known.text).headers['x-forwarded-for'], '203.0.113.7')
  })

  it('has no client at all when the program names none, so no list lets a client in', async (t) => {
    const { port } = await shared(
      t,
      { clientHeader: null, publicUrl: 'http://gate.example.org:41234' },
      { allow: ['0.0.0.0/0', '::/0'] },
    )
    assert.equal((await ask(port, { headers: { 'cf-connecting-ip': '127.0.0.1' } })).status, 403)
  })

  it('serves clients without a list, and says that they are unknown', async (t) => {
    const { port } = await shared(t, { clientHeader: null, publicUrl: 'http://gate.example.org:41234' })
    const { headers } = JSON.parse((await ask(port)).text)
    assert.equal(headers['x-forwarded-for'], 'unknown')
    assert.equal(headers['x-forwarded-port'], '41234')
    assert.equal(headers.host, 'gate.example.org:41234')
  })

  it('closes with the share, and ends what is open over it', async (t) => {
    const { port, put, shop, share, other, home } = await shared(t)
    const silent = await tcpUpstream(t, (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun'))
    })
    await put([shop, { ...share, target: upstreamAt(silent) }, other], 2)
    const answer = await open(port, {})
    const cut = new Promise((resolve) =>
      answer
        .once('close', resolve)
        .on('error', () => undefined)
        .resume(),
    )
    await put([shop, other], 3)
    await cut
    assert.equal(answer.complete, false)
    await assert.rejects(ask(port), { code: 'ECONNREFUSED' })
    assert.ok(home)
  })

  it('answers 410 by the clock, without a new table', async (t) => {
    const end = Date.now() + 700
    const { port } = await shared(t, {}, undefined, end)
    // What is open over a share at its end is ended, a request too.
    const status = () =>
      ask(port).then(
        (answer) => answer.status,
        () => null,
      )
    const first = await status()
    if (Date.now() < end) assert.equal(first, 200)
    await until(async () => (await status()) === 410, 'the end of the share', 20_000)
  })

  it('opens as soon as its port is free', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = await shared(t, { port: portOf(taken) })
    await new Promise((resolve) => taken.close(resolve))
    await until(async () => (await ask(port).catch(() => null))?.status === 200, 'the listener to open', 20_000)
  })

  it('is there again after a restart of the proxy, before any table is sent', async (t) => {
    const { port, home, proxy } = await shared(t)
    await proxy.shutdown()
    await proxy.done
    const again = await startProxy({ home, listen: '127.0.0.1:0', limits: { drainWithin: 200 } })
    t.after(async () => {
      await again.shutdown()
      await again.done
    })
    assert.equal((await ask(port)).status, 200)
  })

  it('is refused with its whole table when it cannot be understood', () => {
    const parse = (entrance: unknown) => {
      const share = { ...route('shop', upstreamAt(80)), share: { id: 'shr_1', expiresAt: 1, entrance } }
      return () => parseRouteTable({ version: 1, generation: 1, routes: [share] })
    }
    const good = { port: 20_000, clientHeader: null, publicUrl: null }
    assert.doesNotThrow(parse(good))
    for (const wrong of [
      { ...good, port: 0 },
      { ...good, publicUrl: 'javascript:0' },
      { ...good, clientHeader: 1 },
      { port: 1 },
      { ...good, host: 'x' },
    ])
      assert.throws(parse(wrong), RouteTableError, JSON.stringify(wrong))
  })
})
