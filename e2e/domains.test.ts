import assert from 'node:assert/strict'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { rounds } from '@stackquay/testkit/rounds'
import { inBrowser } from './support/in-browser.ts'
import { admin } from './support/service.ts'
import { openWebSocket, type ShownProject, showProject } from './support/shown-project.ts'
import { askAtRate } from './support/steady-rate.ts'

describe('names and rules of a project', () => {
  let shown: ShownProject
  before(async () => {
    shown = await showProject()
  })
  after(() => shown?.close())

  const rules = async (body: object) => {
    const answer = await shown.api('PUT', '/projects/shop/proxy-rules', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }

  it('a name answers when it was added, and no longer when it was removed', async () => {
    assert.equal((await shown.get('shop.example.org')).status, 404)
    const made = await shown.api('POST', '/projects/shop/domains', { host: 'shop.example.org' })
    assert.equal(made.status, 201)
    assert.equal(made.body.url, `http://shop.example.org:${shown.service.proxyPort}`)
    // The answer to the change is the word that the proxy has it.
    assert.equal((await shown.get('shop.example.org')).status, 200)
    assert.equal((await shown.get('SHOP.Example.Org.')).status, 200)
    assert.equal((await shown.api('DELETE', '/projects/shop/domains/shop.example.org')).status, 204)
    assert.equal((await shown.get('shop.example.org')).status, 404)
  })

  it('names of other alphabets and wildcards answer', async () => {
    await shown.api('POST', '/projects/shop/domains', { host: 'bücher.example' })
    await shown.api('POST', '/projects/shop/domains', { host: '*.wild.example' })
    assert.equal((await shown.get('xn--bcher-kva.example')).status, 200)
    assert.equal((await shown.get('any.wild.example')).status, 200)
    assert.equal((await shown.get('wild.example')).status, 404)
    assert.equal((await shown.get('a.b.wild.example')).status, 404, 'one label only')
  })

  it('goes on answering while the service is killed, and knows its names afterwards', async () => {
    await shown.api('POST', '/projects/shop/domains', { host: 'stays.example' })
    await shown.service.kill()
    assert.equal((await shown.get('stays.example')).status, 200)
    await shown.service.start()
    const { body } = await shown.api('GET', '/projects/shop/domains')
    assert.ok(body.items.some(({ host }: { host: string }) => host === 'stays.example'))
    assert.equal((await shown.get('stays.example')).status, 200)
  })

  it('rules hold for every way in: its own name, an extra one and its share, over WebSockets too', async () => {
    await shown.api('POST', '/projects/shop/domains', { host: 'also.example' })
    const share = await shown.api('POST', '/projects/shop/share', { minutes: 5 })
    assert.equal(share.status, 201, JSON.stringify(share.body))
    const ways = ['shop.localhost', 'also.example', new URL(share.body.url).hostname]
    const port = shown.service.proxyPort
    const each = async (status: number, headers: Record<string, string> = {}, path = '/') => {
      for (const host of ways) {
        const answer = await shown.get(host, path, headers)
        assert.equal(answer.status, status, `${host} ${answer.body.slice(0, 200)}`)
        const live = openWebSocket(port, host, headers)
        if (status === 200) await live
        else await assert.rejects(live, new RegExp(`${status}`), host)
      }
    }
    await each(200)
    await rules({ allowIps: ['192.0.2.0/24'] })
    await each(403)
    await each(403, { 'x-forwarded-for': '192.0.2.1', 'cf-connecting-ip': '192.0.2.1' })
    await rules({ allowIps: ['127.0.0.0/8'] })
    await each(200)
    await rules({ basicAuth: { username: 'guest', password: 'a walrus in the bath' } })
    await each(401)
    await each(200, { authorization: `Basic ${btoa('guest:a walrus in the bath')}` })
    await rules({ redirects: [{ from: '/old', to: '/new', status: 307 }] })
    for (const host of ways) {
      const moved = await shown.get(host, '/old')
      assert.deepEqual([moved.status, moved.headers.location], [307, '/new'], host)
    }
    await rules({
      requestHeaders: [{ name: 'X-From', value: 'the proxy' }],
      responseHeaders: [{ name: 'X-Frame-Options', value: 'DENY' }],
    })
    for (const host of ways) {
      const { headers, body } = await shown.get(host)
      assert.equal(headers['x-frame-options'], 'DENY')
      assert.equal(JSON.parse(body).headers['x-from'], 'the proxy')
    }
    await rules({})
    await each(200)
  })

  it('maintenance shows the project’s page to all but those who work on it, after a kill and while it is stopped too', async () => {
    const port = shown.service.proxyPort
    const html = { accept: 'text/html' }
    const json = { accept: 'application/json' }
    await rules({ maintenance: { enabled: true, retryAfterSeconds: 90, message: 'Back <soon>.' } })
    const ours = await shown.get('shop.localhost', '/', html)
    assert.deepEqual([ours.status, ours.headers['retry-after']], [503, '90'])
    assert.match(ours.body, /Shop is under maintenance[\s\S]*Back &lt;soon&gt;\./)
    assert.equal(JSON.parse((await shown.get('shop.localhost', '/', json)).body).code, 'project_maintenance')
    await assert.rejects(openWebSocket(port, 'shop.localhost'), /503/)
    const own = '<!doctype html><title>Umbau</title>'
    await writeFile(join(shown.path, 'maintenance.html'), own)
    await chmod(join(shown.path, 'maintenance.html'), 0o644)
    await rules({ maintenance: { enabled: true } })
    await shown.service.kill()
    assert.equal((await shown.get('shop.localhost', '/', html)).body, own)
    await shown.service.start()
    await shown.api('POST', '/projects/shop/stop?wait=60')
    const stopped = await shown.get('shop.localhost', '/', html)
    assert.deepEqual([stopped.status, stopped.body], [503, own])
    await shown.api('POST', '/projects/shop/start?wait=60')
    await rules({ maintenance: { enabled: true, allowIps: ['127.0.0.0/8'] } })
    assert.equal((await shown.get('shop.localhost')).status, 200)
    await writeFile(join(shown.path, 'maintenance.html'), 'x'.repeat(200_000))
    const large = await shown.api('PUT', '/projects/shop/proxy-rules', { maintenance: { enabled: true } })
    assert.deepEqual([large.status, large.body.errors[0].pointer], [422, '/maintenance/page'])
    await rm(join(shown.path, 'maintenance.html'))
    await rules({ maintenance: { enabled: false, message: 'Kept for the next time.' } })
    assert.equal((await shown.get('shop.localhost')).status, 200)
  })

  it('a health check is tried before it is saved, and says what was answered while the project is down', async () => {
    const tried = (body: object) => shown.api('POST', '/projects/shop/health-check/try', body)
    const fine = await tried({ path: '/health' })
    assert.deepEqual([fine.body.ok, fine.body.status, fine.body.text], [true, 200, 'I am 200'])
    const other = await tried({ path: '/health', status: '204, 300-399' })
    assert.equal(other.body.reason, 'GET /health answered 200, expected 204, 300-399.')
    await shown.get('shop.localhost', '/be/302')
    const moved = await tried({ path: '/health', status: 302 })
    assert.deepEqual([moved.body.ok, moved.body.location], [true, 'http://127.0.0.1:1/'])
    assert.deepEqual((await tried({ status: 'fine' })).body.errors.length, 2)
    await shown.get('shop.localhost', '/be/200')

    const healthCheck = { path: '/health', status: '200-299', intervalSeconds: 5, failures: 1 }
    const saved = await shown.api('PATCH', '/projects/shop?wait=60', { healthCheck })
    assert.deepEqual(saved.body.healthCheck, { timeoutSeconds: 60, ...healthCheck })
    await shown.get('shop.localhost', '/be/503')
    const down = await becomes('unhealthy')
    assert.match(down.reason ?? '', /^GET \/health on port \d+ answered 503, expected 200-299\.$/)
    assert.equal((await shown.get('shop.localhost')).status, 200, 'what still answers is still reached')
    await shown.get('shop.localhost', '/be/200')
    assert.equal((await becomes('running')).reason, null)
    await shown.api('PATCH', '/projects/shop?wait=60', { healthCheck: null })
  })

  async function becomes(state: string): Promise<{ reason: string | null }> {
    const deadline = Date.now() + 30_000
    for (;;) {
      const { status } = (await shown.api('GET', '/projects/shop')).body
      const workload = status.workloads.find(({ kind }: { kind: string }) => kind === 'runtime')
      if (workload.state === state) return workload
      assert.ok(Date.now() < deadline, JSON.stringify(status))
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  it('another base domain and other trusted proxies hold at once, none of many requests a second fails, and after a kill', async (t) => {
    await shown.api('POST', '/projects/shop/domains', { host: 'steady.example' })
    const set = (settings: object) =>
      inBrowser(shown.service, 'PATCH', '/settings', { settings, password: admin.password })
    const forwardedFor = async () => {
      const answer = await shown.get('steady.example', '/', { 'x-forwarded-for': '192.0.2.9' })
      return JSON.parse(answer.body).headers['x-forwarded-for'] as string
    }
    const asking = askAtRate({ port: shown.service.proxyPort, host: 'steady.example', perSecond: rounds(200, 1_000) })
    // Also of a round that fails: nothing may ask on.
    t.after(() => asking.end())
    assert.doesNotMatch(await forwardedFor(), /192\.0\.2\.9/)
    await set({ baseDomain: 'dev.test', trustedProxies: ['127.0.0.1'] })
    assert.equal((await shown.get('shop.dev.test')).status, 200)
    assert.equal((await shown.get('shop.localhost')).status, 404)
    assert.match(await forwardedFor(), /192\.0\.2\.9/)
    assert.equal((await shown.api('GET', '/projects/shop')).body.url, `http://shop.dev.test:${shown.service.proxyPort}`)
    await shown.service.kill()
    await shown.service.start()
    assert.equal((await shown.get('shop.dev.test')).status, 200)
    assert.match(await forwardedFor(), /192\.0\.2\.9/)
    await set({ baseDomain: null, trustedProxies: null })
    assert.equal((await shown.get('shop.localhost')).status, 200)
    assert.equal((await shown.get('shop.dev.test')).status, 404)
    assert.doesNotMatch(await forwardedFor(), /192\.0\.2\.9/)
    t.diagnostic(await asking.end())
    assert.deepEqual(asking.failures, [])
  })

  it('answers at its new addresses after a rename, those of before lead there, and back again', async () => {
    const before = (await shown.api('GET', '/projects/shop')).body
    const renamed = await shown.api('POST', '/projects/shop/rename?wait=60', { slug: 'store' })
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
    assert.equal(renamed.body.operation.state, 'succeeded', JSON.stringify(renamed.body.operation))
    assert.deepEqual([renamed.body.id, renamed.body.path], [before.id, before.path])
    assert.equal((await shown.get('store.localhost')).status, 200)
    const moved = await shown.get('shop.localhost', '/a/b?c=d')
    const at = `http://store.localhost:${shown.service.proxyPort}`
    assert.deepEqual([moved.status, moved.headers.location], [308, `${at}/a/b?c=d`])
    assert.equal((await shown.get('shop.localhost', '//evil.example/')).headers.location, `${at}//evil.example/`)
    await shown.service.kill()
    await shown.service.start()
    assert.equal((await shown.get('shop.localhost')).status, 308)
    assert.equal((await shown.api('GET', '/projects/shop')).body.slug, 'store')
    const back = await shown.api('POST', '/projects/store/rename?wait=60', { slug: 'shop', redirectDays: 0 })
    assert.equal(back.status, 200, JSON.stringify(back.body))
    assert.equal((await shown.get('shop.localhost')).status, 200)
    assert.equal((await shown.get('store.localhost')).status, 404)
  })
})
