import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createRelay, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import nodemailer from 'nodemailer'
import type { Download, Page, Response } from 'playwright-core'
import { WebSocket } from 'ws'
import { logIn, refuseUnbuiltPage } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'

/** A program of a project, on another port of the same host: it serves a page and hears what browsers send. */
interface Thief {
  readonly url: string
  readonly heard: IncomingHttpHeaders[]
  /** `Set-Cookie` lines of its next answers. */
  tossed: readonly string[]
  close(): Promise<void>
}

describe('a browser session against the projects of its host', () => {
  let service: Service
  let thief: Thief
  let browser: Browser
  let page: Page
  /** Every ticket that the page used. */
  const tickets = new Set<string>()
  const file = Buffer.alloc(6_000_000, 'quay ')

  before(async () => {
    await refuseUnbuiltPage()
    service = await startService({ env: { STACKQUAY_LOG_LEVEL: 'trace' } })
    thief = await openThief()
    browser = await launchBrowser()
    browser.context.setDefaultTimeout(20_000)
    page = await browser.page()
    watchTickets(page, tickets)
    await logIn(page, service)
  })
  after(async () => {
    await browser?.close()
    await thief?.close()
    await service?.close()
  })

  const account = (at: Page = page) => at.getByRole('button', { name: /^Account:/ })
  const isLoggedIn = async (at: Page = page) => {
    await at.goto(`${service.url}/`)
    await account(at).waitFor()
  }
  /** What a browser would send to any port of the host. */
  const stolenCookie = async () => {
    await page.goto(`${service.url}/`)
    thief.heard.length = 0
    // A link or a redirect of a project’s page.
    await Promise.all([page.waitForURL(`${thief.url}/`), page.evaluate((url) => location.assign(url), `${thief.url}/`)])
    const { cookie = '' } = thief.heard[0] ?? {}
    assert.match(cookie, /stackquay_session_[0-9a-f]{8}=[\w-]{43}/, 'cookies know no port')
    return cookie
  }
  const opened = async (path: string, headers: Record<string, string>) => {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}${path}`, { headers })
    const { promise, resolve } = Promise.withResolvers<number>()
    socket.once('open', () => resolve(101))
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
    socket.on('error', () => undefined)
    const status = await promise
    socket.terminate()
    return status
  }

  it('gives a project that got the cookie nothing: no name, no token, no stream, no ticket', async () => {
    const cookie = await stolenCookie()
    const secret = /stackquay_session_\w+=([\w-]+)/.exec(cookie)?.[1] ?? ''
    for (const key of [undefined, '', secret, 'x'.repeat(43)]) {
      const headers: Record<string, string> = {
        cookie,
        origin: service.url,
        referer: `${service.url}/`,
        'sec-fetch-site': 'same-origin',
        'user-agent': 'Mozilla/5.0',
        ...(key === undefined ? {} : { 'x-csrf-token': key }),
      }
      const status = async (method: string, path: string, body?: object) => {
        const init = { method, headers: { ...headers, 'content-type': 'application/json' } }
        const sent = body === undefined ? init : { ...init, body: JSON.stringify(body) }
        return (await fetch(`${service.url}/api/v1${path}`, sent)).status
      }
      assert.equal(await status('GET', '/auth/me'), 401)
      assert.equal(await status('GET', '/projects'), 401)
      assert.equal(await status('POST', '/tokens', { name: `stolen ${key}`, scope: 'admin' }), 401)
      assert.equal(await status('POST', '/auth/tickets', { path: '/api/v1/events/ws' }), 401)
      assert.equal(await status('GET', `/audit/export?format=jsonl&ticket=${secret}`), 401)
      assert.equal(await opened('/api/v1/events/ws', headers), 401)
      assert.equal(await opened(`/api/v1/events/ws?ticket=${secret}`, headers), 401)
    }
    await isLoggedIn()
  })

  it('keeps a project’s page from reading the key, the page or the API in the browser itself', async () => {
    await page.goto(`${thief.url}/`)
    const seen = await page.evaluate(async (target) => {
      const read = await fetch(`${target}/api/v1/auth/me`, { credentials: 'include' }).then(
        (answer) => answer.status,
        () => 'blocked',
      )
      const socket = await new Promise((resolve) => {
        const opening = new WebSocket(`${target.replace('http', 'ws')}/api/v1/events/ws`)
        opening.onopen = () => resolve('open')
        opening.onerror = () => resolve('refused')
      })
      const frame = document.createElement('iframe')
      frame.src = `${target}/`
      document.body.append(frame)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return { read, socket, key: localStorage.getItem('stackquay.session'), framed: frame.contentDocument !== null }
    }, service.url)
    assert.deepEqual(seen, { read: 'blocked', socket: 'refused', key: null, framed: false })
    await isLoggedIn()
  })

  it('lets the page connect to its own origin alone', async () => {
    await isLoggedIn()
    const blocked = await page.evaluate(
      (elsewhere) =>
        new Promise<string>((resolve) => {
          document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective))
          try {
            new WebSocket(elsewhere).onopen = () => resolve('open')
          } catch {
            // Some versions throw as well.
          }
        }),
      thief.url.replace('http', 'ws'),
    )
    assert.equal(blocked, 'connect-src')
  })

  it('stays logged in when a project tosses cookies of the same name, and can log in among them', async () => {
    const name = /(stackquay_session_\w+)=/.exec(await stolenCookie())?.[1] ?? ''
    const paths = ['/api', '/api/', '/api/v1', '/api/v1/', '/api/v1/auth', '/api/v1/auth/', '/api/v1/auth/me']
    const more = [
      '/api/v1/auth/login',
      '/api/v1/auth/tickets',
      '/api/v1/projects',
      '/api/v1/events',
      '/api/v1/events/ws',
    ]
    thief.tossed = [...paths, ...more].map((path, index) => `${name}=tossed-${index}; Path=${path}; Max-Age=86400`)
    await page.goto(`${thief.url}/`)
    thief.tossed = []
    // Its page does the same; a script cannot replace a cookie that scripts cannot see.
    await page.evaluate((given) => {
      for (const path of ['/', '/api/v1/auth/', '/settings', '/login']) {
        // biome-ignore lint/suspicious/noDocumentCookie: this is what a hostile page does
        document.cookie = `${given}=by-script; path=${path}; max-age=86400`
      }
    }, name)
    await isLoggedIn()
    await live(page, service)
    await account().click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.waitForURL(`${service.url}/login`)
    await logIn(page, service)
    await account().waitFor()

    // One with the same path replaces ours: that ends the visit and opens nothing, and a login brings it back.
    thief.tossed = [`${name}=replaced; Path=/; Max-Age=86400`]
    await page.goto(`${thief.url}/`)
    thief.tossed = []
    await page.goto(`${service.url}/`)
    await page.waitForURL(`${service.url}/login`)
    await logIn(page, service)
    await isLoggedIn()
    await browser.context.clearCookies()
    await page.goto(`${service.url}/`)
    await page.waitForURL(`${service.url}/login`)
    await logIn(page, service)
  })

  it('is logged in at two instances of one host at once', { timeout: 120_000 }, async () => {
    const other = await startService()
    try {
      const tab = await browser.page()
      await logIn(tab, other)
      await isLoggedIn()
      await tab.reload()
      await account(tab).waitFor()
      await live(tab, other)
      await live(page, service)
      await tab.close()
    } finally {
      await other.close()
    }
  })

  it('follows a log-out and a login of another tab, survives a reload, and is nobody in a private window', async () => {
    const tab = await browser.page()
    await isLoggedIn(tab)
    await tab.goto(`${service.url}/settings/tokens`)
    await isLoggedIn()
    await page.reload()
    await account().waitFor()
    await account().click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await tab.waitForURL(`${service.url}/login?next=%2Fsettings%2Ftokens`)
    await logIn(page, service)
    await tab.waitForURL(`${service.url}/settings/tokens`)
    await account(tab).waitFor()
    await tab.close()

    const other = await launchBrowser()
    try {
      const hidden = await other.page()
      await hidden.goto(`${service.url}/settings/tokens`)
      await hidden.waitForURL(`${service.url}/login?next=%2Fsettings%2Ftokens`)
      // Somebody who carries the cookie there has half of it.
      await other.context.addCookies(await browser.context.cookies(service.url))
      await hidden.goto(`${service.url}/settings/tokens`)
      await hidden.waitForURL(`${service.url}/login?next=%2Fsettings%2Ftokens`)
    } finally {
      await other.close()
    }
  })

  it('has a project whose mail catcher holds a mail with a large file', { timeout: 150_000 }, async () => {
    await mailTo(service, file)
  })

  it('saves files with a ticket, once', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/activity?view=audit`)
    await page.getByRole('row').filter({ hasText: 'Log in' }).first().waitFor()
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    const [log] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'JSON Lines' }).click(),
    ])
    assert.match(await contentOf(log), /"action":"auth.login"/)
    const address = new URL(log.url())
    assert.equal(address.searchParams.get('ticket')?.length, 43)
    const replayed = await page.evaluate(async (url) => (await fetch(url)).status, log.url())
    assert.equal(replayed, 401, 'a download is begun once')

    await page.goto(`${service.url}/projects/harbour/mail`)
    await page.getByRole('link', { name: 'A large file' }).click()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^Download large\.bin/ }).click(),
    ])
    assert.equal(Buffer.compare(await readFile(await saved.path()), file), 0)
  })

  it('goes on under its ticket with a download that broke, and begins none anew', { timeout: 60_000 }, async () => {
    const relay = await openRelay(new URL(service.url))
    // A browser of its own: this is another origin of the same instance, and they would share the cookie.
    const far = await launchBrowser()
    try {
      const tab = await far.page()
      await logIn(tab, { ...service, url: relay.url })
      await tab.goto(`${relay.url}/projects/harbour/mail`)
      await tab.getByRole('link', { name: 'A large file' }).click()
      const path = await tab.getByRole('link', { name: /^Download large\.bin/ }).getAttribute('href')
      relay.cutAfter = 1_000_000
      const seen = await tab.evaluate(async (wanted) => {
        const key = localStorage.getItem('stackquay.session') ?? ''
        const made = await fetch('/api/v1/auth/tickets', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-csrf-token': key },
          body: JSON.stringify({ path: wanted }),
        })
        const url = `${wanted}?ticket=${((await made.json()) as { ticket: string }).ticket}`
        const first = await fetch(url)
        const etag = first.headers.get('etag') ?? ''
        let got = 0
        const broke = await (async () => {
          for await (const chunk of first.body as unknown as AsyncIterable<Uint8Array>) got += chunk.length
        })().then(
          () => false,
          () => true,
        )
        const rest = await fetch(url, { headers: { range: `bytes=${got}-`, 'if-range': etag } })
        const whole = got + (await rest.arrayBuffer()).byteLength
        const anew = await fetch(url)
        return { broke, got, rest: rest.status, range: rest.headers.get('content-range'), whole, anew: anew.status }
      }, path ?? '')
      assert.ok(seen.broke && seen.got > 500_000 && seen.got < file.length, JSON.stringify(seen))
      assert.deepEqual(
        [seen.rest, seen.range, seen.whole, seen.anew],
        [206, `bytes ${seen.got}-${file.length - 1}/${file.length}`, file.length, 401],
      )
      assert.equal(relay.cuts, 1)
    } finally {
      await far.close()
      await relay.close()
    }
  })

  it('shows a mail in a frame of its own, with a ticket', async () => {
    await page.goto(`${service.url}/projects/harbour/mail`)
    await page.getByRole('link', { name: 'A large file' }).click()
    await page.frameLocator('iframe').getByRole('heading', { name: 'All aboard' }).waitFor()
    const src = new URL((await page.locator('iframe').getAttribute('src')) ?? '', service.url)
    const cookie = await cookieOf(browser, service)
    const again = await fetch(src, { headers: { cookie } })
    assert.deepEqual([again.status, ((await again.json()) as { code: string }).code], [401, 'ticket_invalid'])
  })

  it('comes back with new tickets after the service was killed', { timeout: 60_000 }, async () => {
    await page.goto(`${service.url}/`)
    await live(page, service)
    const before = new Set(tickets)
    await page.evaluate(() => Object.assign(globalThis, { notLoadedAgain: true }))
    await service.kill()
    await service.start()
    await live(page, service)
    assert.equal(await page.evaluate(() => 'notLoadedAgain' in globalThis), true)
    assert.ok([...tickets].some((ticket) => !before.has(ticket)))
  })

  it('refuses a ticket that was used, is late, or is shown for another address or session', {
    timeout: 90_000,
  }, async () => {
    const cookie = await cookieOf(browser, service)
    const make = (path: string) =>
      page.evaluate(async (wanted) => {
        const headers = {
          'content-type': 'application/json',
          'x-csrf-token': localStorage.getItem('stackquay.session') ?? '',
        }
        const body = JSON.stringify({ path: wanted })
        const answer = await fetch('/api/v1/auth/tickets', { method: 'POST', headers, body })
        return ((await answer.json()) as { ticket: string }).ticket
      }, path)
    const stream = '/api/v1/events/ws'
    const late = await make(stream)
    const began = Date.now()
    const ticket = await make(stream)
    tickets.add(ticket)
    assert.equal(await opened(`${stream}?after=1&ticket=${ticket}`, { cookie }), 401)
    assert.equal(await opened(`/api/v1/projects/harbour/logs/ws?ticket=${ticket}`, { cookie }), 401)
    assert.equal(await opened(`${stream}?ticket=${ticket}`, { cookie: await otherSession(service) }), 401)
    assert.equal(await opened(`${stream}?ticket=${ticket}`, {}), 401)
    assert.equal(await opened(`${stream}?ticket=${ticket}`, { cookie, origin: thief.url }), 403)
    assert.equal(await opened(`${stream}?ticket=${ticket}`, { cookie, origin: service.url }), 101)
    assert.equal(await opened(`${stream}?ticket=${ticket}`, { cookie, origin: service.url }), 401)
    for (const used of tickets) assert.equal(await opened(`${stream}?ticket=${used}`, { cookie }), 401)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + 30_500 - Date.now())))
    assert.equal(await opened(`${stream}?ticket=${late}`, { cookie }), 401)
  })

  it('has written no ticket and no half of the session to any log or file', async () => {
    const key = await page.evaluate(() => localStorage.getItem('stackquay.session') ?? '')
    const secrets = [...tickets, key, (await cookieOf(browser, service)).split('=')[1] ?? '']
    assert.ok(secrets.length > 8 && secrets.every((secret) => secret.length === 43), String(secrets.length))
    for (const secret of secrets) assert.ok(!service.output().includes(secret))
    let files = 0
    for (const entry of await readdir(service.home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const content = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0))
      files += 1
      for (const secret of secrets) assert.ok(!content.includes(secret), join(entry.parentPath, entry.name))
    }
    assert.ok(files > 5)
  })

  it('leads to the login and back when the session has expired', { timeout: 150_000 }, async () => {
    await page.goto(`${service.url}/settings/tokens`)
    await account().waitFor()
    await service.stop()
    const database = new DatabaseSync(join(service.home, 'stackquay.db'))
    const idle = new Date(Date.now() - 13 * 3_600_000).toISOString()
    assert.ok(Number(database.prepare('update sessions set last_seen_at = ?').run(idle).changes) > 0)
    database.close()
    const heard: string[] = []
    const note = (response: Response) => heard.push(`${response.status()} ${new URL(response.url()).pathname}`)
    page.on('response', note)
    await service.start()
    // The page asks less and less often while nobody answers, at least every ten seconds.
    const login = `${service.url}/login?next=%2Fsettings%2Ftokens`
    await page.waitForURL(login, { timeout: 60_000 }).catch((error: unknown) => {
      throw new Error(`The page heard: ${heard.join(', ') || 'nothing'}`, { cause: error })
    })
    page.off('response', note)
    assert.equal(await page.evaluate(() => localStorage.getItem('stackquay.session')), null)
    await page.getByLabel('User name').fill(admin.username)
    await page.getByLabel('Password').fill(admin.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL(`${service.url}/settings/tokens`)
    await account().waitFor()
  })
})

/** What happens elsewhere is shown: the event stream is open. */
async function live(page: Page, service: Service): Promise<void> {
  const name = `Seen ${Math.random().toString(36).slice(2, 8)}`
  const { id } = await service.client.call('createProject', { body: { name } as never, query: { wait: 30 } })
  await page.getByRole('link', { name }).first().waitFor()
  await service.client
    .call('deleteProject', { params: { id }, query: { confirm: id, data: 'delete', wait: 30 } })
    .catch(() => undefined)
}

function watchTickets(page: Page, tickets: Set<string>): void {
  const note = (url: string) => {
    const ticket = URL.parse(url)?.searchParams.get('ticket')
    if (ticket) tickets.add(ticket)
  }
  page.on('websocket', (socket) => note(socket.url()))
  page.on('request', (request) => note(request.url()))
}

async function cookieOf(browser: Browser, service: Service): Promise<string> {
  // Two instances of one host have cookies of their own; the one that answers is the one of this service.
  const { name } = await otherSessionCookie(service)
  const cookies = await browser.context.cookies(service.url)
  const own = cookies.find((cookie) => cookie.name === name && cookie.path === '/')
  return `${name}=${own?.value ?? ''}`
}

async function otherSession(service: Service): Promise<string> {
  const { name, value } = await otherSessionCookie(service)
  return `${name}=${value}`
}

async function otherSessionCookie({ url }: Service): Promise<{ name: string; value: string }> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(admin),
  })
  await answer.body?.cancel()
  const [name = '', value = ''] = (answer.headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? []
  return { name, value }
}

async function contentOf(download: Download): Promise<string> {
  return readFile(await download.path(), 'utf8')
}

async function mailTo({ client }: Service, content: Buffer): Promise<void> {
  const body = { name: 'Harbour', template: 'static', mailpit: { enabled: true }, start: true }
  await client.call('createProject', { body: body as never, query: { wait: 60 } })
  const running = async () => {
    const { items } = await client.call('listOperations', { query: { project: 'harbour' } })
    assert.ok(!items.some(({ state }) => state === 'failed'), JSON.stringify(items))
    return items.length > 0 && items.every(({ state }) => state === 'succeeded')
  }
  await until(running, 'the project to run', 90_000)
  const port = () =>
    client
      .call('getProject', { params: { id: 'harbour' } })
      .then(
        ({ status }) =>
          status.workloads.find(({ name }) => name === 'mailpit')?.ports.find((one) => one.name === 'smtp')?.hostPort,
      )
  await until(async () => (await port()) !== undefined, 'the mail catcher to listen')
  const transport = nodemailer.createTransport({ host: '127.0.0.1', port: (await port()) ?? 0 })
  await transport.sendMail({
    from: 'shop@example.test',
    to: 'ada@example.test',
    subject: 'A large file',
    html: '<h1>All aboard</h1>',
    attachments: [{ filename: 'large.bin', content }],
  })
  transport.close()
}

async function openThief(): Promise<Thief> {
  const heard: IncomingHttpHeaders[] = []
  const thief = { tossed: [] as readonly string[] }
  const server: Server = createServer((request, response) => {
    if (request.url === '/') heard.push(request.headers)
    response.setHeader('set-cookie', [...thief.tossed])
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>A project</title><p>Hello')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(thief, {
    url: `http://127.0.0.1:${port}`,
    heard,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

/** Hands bytes to the service and back; breaks one connection when so many came back on it after `cutAfter` was set. */
async function openRelay(target: URL) {
  const sockets = new Set<Socket>()
  const relay = { cutAfter: 0, cuts: 0 }
  const server = createRelay((near) => {
    const far = connect(Number(target.port), target.hostname)
    let back = 0
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => {
      back += bytes.length
      near.write(bytes)
      if (relay.cutAfter === 0 || back < relay.cutAfter) return
      relay.cutAfter = 0
      relay.cuts += 1
      // What was sent arrives, then the line is dead.
      far.pause()
      setTimeout(() => near.resetAndDestroy(), 200)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(relay, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
