import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { readRouteFile } from '@stackquay/proxy/route-file'
import { alive, throughProxy, until } from './support/service.ts'
import { openStream, openWebSocket, type ShownProject, showProject } from './support/shown-project.ts'

const path = '/projects/shop/share'

/** A service of root keeps what is the proxy's in a folder of its user. */
const proxyData = process.getuid?.() === 0 ? 'proxy/data' : 'proxy'

describe('a share', () => {
  let shown: ShownProject
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-tunnel-'))
    // The program runs as the user of projects, and writes down what it was told.
    await chmod(folder, 0o777)
    await writeFile(join(folder, 'cloudflared'), standIn, { mode: 0o755 })
    shown = await showProject({ PATH: `${folder}:${process.env.PATH}` })
  })
  after(async () => {
    await shown?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const share = async (body: object = { minutes: 5 }) => {
    const made = await shown.api('POST', path, body)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    return made.body
  }
  const end = async () => {
    assert.equal((await shown.api('DELETE', path)).status, 204)
  }
  const hostOf = ({ url }: { url: string }) => new URL(url).hostname
  const both = async (host: string) => {
    const { proxyPort } = shown.service
    return Promise.all([openStream(proxyPort, host), openWebSocket(proxyPort, host)])
  }
  /** The shortest time for a share is five minutes: the end of one that is there is moved, while nobody runs. */
  const endsIn = async (milliseconds: number) => {
    await shown.service.stop()
    const at = Date.now() + milliseconds
    const database = new DatabaseSync(join(shown.service.home, 'stackquay.db'))
    database.prepare('UPDATE shares SET expires_at = ?').run(new Date(at).toISOString())
    database.close()
    await shown.service.start()
    // Answered once the service knows its projects and has told the proxy.
    assert.equal(Date.parse((await shown.api('GET', path)).body.share.expiresAt), at)
    return at
  }
  /** 410 and closed sockets within a second after the end, and not before it. */
  const endsAt = async (at: number, host: string, sockets: Awaited<ReturnType<typeof both>>) => {
    assert.ok(Date.now() < at, 'the machine was too slow to see the share before its end')
    assert.equal((await shown.get(host)).status, 200)
    assert.ok(sockets.every((socket) => !socket.isClosed()))
    await delay(Math.max(0, at + 1_000 - Date.now()))
    assert.equal((await shown.get(host)).status, 410)
    for (const socket of sockets) {
      const late = (await socket.closed) - at
      // Measured in this process, which may be late itself.
      assert.ok(late >= -50 && late <= 1_500, `a socket was closed ${late} ms after the end`)
    }
  }

  it('that is ended answers 410 at once, and what is open over it is closed', async () => {
    const made = await share()
    const host = hostOf(made)
    assert.equal(made.url, `http://${host}:${shown.service.proxyPort}`)
    assert.equal((await shown.get(host)).status, 200)
    // Written down by the proxy, a moment after it was answered.
    await until(async () => (await shown.api('GET', path)).body.share.viewers === 1, 'the viewer to be counted')
    const sockets = await both(host)
    const others = await both('shop.localhost')
    const asked = Date.now()
    await end()
    assert.equal((await shown.get(host)).status, 410)
    for (const socket of sockets) assert.ok((await socket.closed) - asked <= 5_000)
    assert.ok(
      others.every((socket) => !socket.isClosed()),
      'the other ways in are left alone',
    )
    assert.equal((await shown.get(`${'a'.repeat(16)}.share.localhost`)).status, 410)
  })

  it('asks for its password on a page, for everything', async () => {
    const host = hostOf(await share({ password: 'a walrus in the bath' }))
    const asked = await shown.get(host, '/any')
    assert.equal(asked.status, 401)
    assert.match(asked.body, /password/i)
    await assert.rejects(openWebSocket(shown.service.proxyPort, host), /401/)
    const send = (password: string) =>
      throughProxy(shown.service.proxyPort, host, '/.stackquay/share', {
        method: 'POST',
        body: new URLSearchParams({ password, next: '/any' }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    assert.equal((await send('a guess')).status, 403)
    const known = await send('a walrus in the bath')
    assert.deepEqual([known.status, known.headers.location], [303, '/any'])
    const cookie = String(known.headers['set-cookie']).split(';')[0]!
    const page = await shown.get(host, '/any', { cookie })
    assert.equal(page.status, 200)
    assert.equal(JSON.parse(page.body).headers.cookie, undefined, 'the cookie is not for the application')
    await end()
  })

  it('ends by the clock', { timeout: 120_000 }, async () => {
    const host = hostOf(await share())
    const at = await endsIn(15_000)
    await endsAt(at, host, await both(host))
    await until(async () => (await shown.api('GET', path)).body.share === null, 'the share to be cleared away')
    const { body } = await shown.api('GET', '/audit?action=share.expire')
    assert.equal(body.items[0]?.actor, 'system')
  })

  it('ends by the clock also when the service was killed before', { timeout: 120_000 }, async () => {
    const host = hostOf(await share())
    const at = await endsIn(15_000)
    const sockets = await both(host)
    await shown.service.kill()
    await endsAt(at, host, sockets)
    await shown.service.start()
    await until(async () => (await shown.api('GET', path)).body.share === null, 'the share to be cleared away')
    assert.equal((await shown.get(host)).status, 410)
  })

  it('through a provider lets in whom the rules let in, and nobody for being on this machine', {
    timeout: 120_000,
  }, async () => {
    await shown.api('PUT', '/projects/shop/proxy-rules', { allowIps: ['127.0.0.0/8', '203.0.113.7'] })
    const made = await share({ provider: 'cloudflare', minutes: 5 })
    assert.equal(made.state, 'connecting')
    const now = async () => (await shown.api('GET', path)).body.share
    await until(async () => (await now()).state !== 'connecting', 'the address')
    assert.deepEqual(
      [(await now()).state, (await now()).url, (await now()).detail],
      ['open', 'https://stand-in-for-tests.trycloudflare.com', null],
    )
    const { port, pid } = await tunnel()
    const from = (headers: Record<string, string>, host = 'shop.localhost') =>
      throughProxy(port, host, '/', { headers })
    assert.equal((await shown.get('shop.localhost')).status, 200)
    assert.equal((await from({})).status, 403)
    assert.equal((await from({ 'x-forwarded-for': '203.0.113.7' })).status, 403)
    assert.equal((await from({ 'cf-connecting-ip': '198.51.100.1' })).status, 403)
    const seen = await from({ 'cf-connecting-ip': '203.0.113.7' })
    assert.equal(seen.status, 200)
    assert.equal(JSON.parse(seen.body).headers.host, 'stand-in-for-tests.trycloudflare.com')

    await shown.service.kill()
    assert.ok(alive(pid), 'the program goes on')
    assert.equal((await from({ 'cf-connecting-ip': '203.0.113.7' })).status, 200)
    await shown.service.start()
    assert.equal((await now()).state, 'open')
    assert.ok(alive(pid))

    await end()
    await assert.rejects(from({ 'cf-connecting-ip': '203.0.113.7' }), { code: 'ECONNREFUSED' })
    await until(async () => !alive(pid), 'the program to end')
    await shown.api('PUT', '/projects/shop/proxy-rules', {})
  })

  it('through a provider whose program ends has failed, and says what the program said last', async () => {
    await share({ provider: 'cloudflare', minutes: 5 })
    const now = async () => (await shown.api('GET', path)).body.share
    await until(async () => (await now()).state === 'open', 'the address')
    process.kill((await tunnel()).pid, 'SIGTERM')
    await until(async () => (await now()).state === 'failed', 'the failure')
    assert.match((await now()).detail, /^Its program ended with exit code 3\. It said: cut off$/)
    await end()
  })

  it('goes with its project, and so does its program', { timeout: 120_000 }, async () => {
    await share({ provider: 'cloudflare', minutes: 5 })
    await until(async () => (await shown.api('GET', path)).body.share.state === 'open', 'the address')
    const { pid, port } = await tunnel()
    assert.equal((await shown.api('DELETE', '/projects/shop?confirm=shop&data=delete&wait=60')).status, 200)
    await until(async () => !alive(pid), 'the program to end')
    await assert.rejects(throughProxy(port, 'shop.localhost', '/'), { code: 'ECONNREFUSED' })
  })

  /** Where the stand-in was told to lead people, and its process. */
  async function tunnel(): Promise<{ port: number; pid: number }> {
    const { routes } = await readRouteFile(join(shown.service.home, proxyData, 'routes.json'))
    const { port } = routes.find(({ share: one }) => one?.entrance !== undefined)!.share!.entrance!
    const { body } = await shown.api('GET', path)
    assert.ok(body.share)
    const told = JSON.parse(await readFile(join(folder, 'told.json'), 'utf8'))
    assert.equal(told.url, `http://127.0.0.1:${port}`)
    return { port, pid: told.pid }
  }
})

/** Prints what the real one prints, and then waits. */
const standIn = `#!/bin/sh
for url do :; done
echo "{\\"pid\\": $$, \\"url\\": \\"$url\\"}" > "$(dirname "$0")/told.json"
echo 'INF Requesting new quick Tunnel on trycloudflare.com...' >&2
echo 'INF |  https://stand-in-for-tests.trycloudflare.com   |' >&2
trap 'echo "cut off" >&2; exit 3' TERM
while :; do sleep 0.1; done
`
