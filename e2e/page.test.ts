import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, freePort, launchBrowser, spawnTracked, temporaryHome } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertAccessible, assertLooks, refuseUnbuiltPage } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'
import { serviceProgramOf } from './support/service-program.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('the page', () => {
  let browser: Browser
  before(async () => {
    await refuseUnbuiltPage()
    browser = await launchBrowser({ viewport: { width: 1440, height: 900 } })
    browser.context.setDefaultTimeout(20_000)
  })
  after(() => browser?.close())

  it('leads from the one-time code to the first administrator and an empty quay', { timeout: 60_000 }, async () => {
    await using home = await temporaryHome()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const { STACKQUAY_ADMIN_USER: _, STACKQUAY_ADMIN_PASSWORD: __, ...env } = process.env
    await using service = spawnTracked([process.execPath, await serviceProgramOf(root)], {
      env: {
        ...env,
        ...home.env,
        STACKQUAY_LISTEN: `127.0.0.1:${port}`,
        STACKQUAY_PROXY_HTTP: 'off',
        STACKQUAY_SSH: 'off',
      },
    })
    const [, code = ''] = await service.line(/one-time code: (\S+)/, 30_000)
    await until(
      async () => (await fetch(`${url}/api/v1/health`).catch(() => null))?.ok === true,
      'the service to answer',
    )
    const page = await browser.page()
    const seen = watch(page, url)

    await page.goto(url)
    await page.waitForURL(`${url}/setup`)
    await assertAccessible(page, 'set-up')
    await page.getByLabel('One-time code').fill('wrong')
    await page.getByLabel('User name').fill(admin.username)
    await page.getByLabel('Password').fill(admin.password)
    await page.getByRole('button', { name: 'Create administrator' }).click()
    await page.getByText('This is not the one-time code of this service.').waitFor()
    await page.getByLabel('One-time code').fill(code)
    await page.getByRole('button', { name: 'Create administrator' }).click()
    await page.getByText('The quay is empty').waitFor()
    await assertAccessible(page, 'no projects')

    await page.close()
    assert.deepEqual(seen.errors, ['403 /api/v1/setup'])
    assert.deepEqual(seen.foreign, [])
  })

  describe('of a service with an administrator', () => {
    let service: Service
    let page: Page
    let seen: Seen
    before(async () => {
      service = await startService()
      page = await browser.page()
      seen = watch(page, service.url)
    })
    after(async () => {
      await page?.close()
      await service?.close()
    })
    const open = (path: string) => page.goto(`${service.url}${path}`)
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
    const dialog = () => page.getByRole('dialog')

    it('says what is wrong when a login fails, and then leads to where one wanted to go', async () => {
      await open('/settings/users')
      await page.waitForURL(/\/login\?next=/)
      await page.getByLabel('User name').fill(admin.username)
      await page.getByLabel('Password').fill('not this one')
      await button('Log in').click()
      await page.getByRole('alert').getByText('User name or password is wrong').waitFor()
      await assertAccessible(page, 'login')
      await page.getByLabel('Password').fill(admin.password)
      await button('Log in').click()
      await page.waitForURL(`${service.url}/settings/users`)
    })

    it('creates a project from a template, with the plan before and the steps after, up to its URL', {
      timeout: 60_000,
    }, async () => {
      await open('/new')
      await page.getByRole('radio', { name: /Static page/ }).check()
      const plan = page.getByRole('complementary', { name: 'Plan' })
      await plan.getByText('Starts 1 workload').waitFor()
      await page.getByLabel('Name', { exact: true }).fill('Leaflet')
      await plan
        .getByText(/Static files/)
        .first()
        .waitFor()
      await assertAccessible(page, 'new project')
      await button('Create project').click()
      await page.waitForURL(/\/operations\/op_/)
      await page.getByText('Leaflet is running').waitFor({ timeout: 30_000 })
      await page.getByText(`http://leaflet.localhost:${service.proxyPort}`).first().waitFor()
      assert.equal((await service.get('leaflet')).status, 200)
      await assertAccessible(page, 'operation')
    })

    it('shows on the overview what happens elsewhere, without being loaded again', { timeout: 60_000 }, async () => {
      await open('/projects/leaflet')
      const state = (name: string) => page.locator('header').getByText(name, { exact: true })
      await state('Running').waitFor()
      await page.evaluate(() => Object.assign(globalThis, { notLoadedAgain: true }))
      await service.client.call('stopProject', { params: { id: 'leaflet' }, query: { wait: 30 } })
      await state('Stopped').waitFor({ timeout: 5000 })
      await service.client.call('startProject', { params: { id: 'leaflet' }, query: { wait: 30 } })
      await state('Running').waitFor({ timeout: 5000 })
      assert.equal(await page.evaluate(() => 'notLoadedAgain' in globalThis), true)
      await assertAccessible(page, 'overview')
      await idle(service, 'leaflet')
    })

    it('sets a secret variable and does not show its value', { timeout: 60_000 }, async () => {
      await open('/projects/leaflet/environment')
      await button('Add variable').click()
      await dialog().getByLabel('Name').fill('API_KEY')
      await dialog().getByLabel('Value').fill('page-canary-4711')
      await dialog().getByRole('switch', { name: 'Secret' }).check()
      await assertAccessible(page, 'variable')
      await dialog().getByRole('button', { name: 'Save' }).click()
      const row = page.getByRole('row', { name: /API_KEY/ })
      await row.getByText('sealed').waitFor()
      await assertAccessible(page, 'environment')
      assert.ok(!(await page.content()).includes('page-canary-4711'))
      await button('Reveal value of API_KEY').click()
      await row.getByText('page-canary-4711').waitFor()
      await button('Copy value of API_KEY').waitFor()
      await button('Hide value of API_KEY').click()
      await row.getByText('sealed').waitFor()
      assert.ok(!(await page.content()).includes('page-canary-4711'))
      await idle(service, 'leaflet')
    })

    it('adds a database and shows its credentials when they are asked for', { timeout: 60_000 }, async () => {
      await open('/projects/leaflet/databases')
      await button('Add database').click()
      await dialog().getByText('Starts 1 workload').waitFor()
      await assertAccessible(page, 'new database')
      await dialog().getByRole('button', { name: 'Add database' }).click()
      await button('Show credentials').click()
      await page.getByText(/^postgresql:\/\/|^postgres:\/\//).waitFor({ timeout: 30_000 })
      await assertAccessible(page, 'databases')
      await idle(service, 'leaflet')
    })

    it('shows log lines', { timeout: 60_000 }, async () => {
      await open('/projects/leaflet/logs')
      await page
        .getByRole('log')
        .getByText(/Serving .* on http/)
        .first()
        .waitFor()
      await assertAccessible(page, 'logs')
    })

    it('creates an API token, says what it may do, and shows its value once', { timeout: 60_000 }, async () => {
      await open('/settings/tokens')
      await button('New token').click()
      await dialog().getByLabel('Name').fill('page test')
      await dialog().getByRole('radio', { name: /^Read/ }).check()
      const mayNot = dialog().getByText('It may not', { exact: true }).locator('xpath=following-sibling::ul')
      await mayNot.getByText('Start, stop and restart them').waitFor()
      await assertAccessible(page, 'new token')
      await button('Create token').click()
      const value = await dialog()
        .getByText(/^stq_\w+$/)
        .textContent()
      const answer = await fetch(`${service.url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${value}` } })
      assert.equal(((await answer.json()) as { scope: string }).scope, 'read')
      // How programs are told of the service, with the token in it.
      await dialog().getByText('MCP', { exact: true }).click()
      await dialog().getByLabel('Program').selectOption('VS Code')
      const { servers } = JSON.parse((await dialog().locator('pre', { hasText: 'servers' }).textContent())!)
      assert.equal(servers.stackquay.url, `${service.url}/mcp`)
      assert.equal(servers.stackquay.headers.Authorization, `Bearer ${value}`)
      await assertLooks(page, 'token')
      await button('Done').click()
      await page.getByRole('row', { name: /page test/ }).waitFor()
      assert.ok(!(await page.content()).includes(value!))
      await page.getByText('claude mcp add --transport http stackquay').waitFor()
      await assertLooks(page, 'tokens')
    })

    it('creates a user, lowers the role, disables and deletes', { timeout: 60_000 }, async () => {
      await open('/settings/users')
      await button('New user').click()
      await dialog().getByLabel('User name').fill('grace')
      await dialog().getByRole('radio', { name: 'You choose it' }).check()
      const password = await dialog().getByLabel('Password', { exact: true }).inputValue()
      await assertAccessible(page, 'new user')
      await button('Create user').click()
      await dialog().getByText('grace can log in now').waitFor()
      await button('Done').click()
      assert.equal(await loginStatus(service, 'grace', password), 200)

      const act = async (name: string) => {
        await button('Actions for grace').click()
        await page.getByRole('menuitem', { name }).click()
      }
      const row = page.getByRole('row', { name: /grace/ })
      await act('Change role…')
      await dialog().getByRole('radio', { name: /^Read/ }).check()
      await assertAccessible(page, 'role')
      await button('Change role').click()
      await row.getByText('Read', { exact: true }).waitFor()
      await act('Disable…')
      await button('Disable user').click()
      await row.getByText('Disabled').waitFor()
      assert.equal(await loginStatus(service, 'grace', password), 401)
      await assertAccessible(page, 'users')
      await act('Delete…')
      assert.ok(await button('Delete user').isDisabled())
      await dialog().getByLabel('Type grace to confirm').fill('grace')
      await assertAccessible(page, 'delete user')
      await button('Delete user').click()
      await row.waitFor({ state: 'detached' })
    })

    it('invites a person to one project by a link, and that one sees nothing else', { timeout: 60_000 }, async () => {
      await open('/settings/users')
      await button('New user').click()
      await dialog().getByLabel('User name').fill('lin')
      await dialog().getByRole('radio', { name: /^None/ }).check()
      assert.ok(await button('Create user').isDisabled())
      await button('Add a project').click()
      await dialog().getByLabel('Project', { exact: true }).selectOption({ label: 'Leaflet' })
      await assertLooks(page, 'new user')
      await button('Create user').click()
      await dialog().getByText('Invitation for lin').waitFor()
      const link = ((await dialog().locator('code, pre').first().textContent()) ?? '').trim()
      assert.ok(link.startsWith(`${service.url}/welcome#`), link)
      await assertLooks(page, 'invitation')
      await button('Done').click()
      await page.getByRole('row', { name: /lin/ }).getByText('Invited').waitFor()
      await page.getByRole('row', { name: /lin/ }).getByText('Operate on 1 project').waitFor()
      await assertLooks(page, 'users')

      const other = await launchBrowser()
      other.context.setDefaultTimeout(20_000)
      try {
        const theirs = await other.page()
        await theirs.goto(link)
        await theirs.getByText('Welcome, lin').waitFor()
        await theirs.getByLabel('New password', { exact: true }).fill('chosen by lin alone')
        await theirs.getByLabel('New password again').fill('chosen by lin alone')
        await assertLooks(theirs, 'welcome')
        await theirs.getByRole('button', { name: 'Set password' }).click()
        await theirs.getByRole('link', { name: 'Log in' }).click()
        await theirs.getByLabel('User name').fill('lin')
        await theirs.getByLabel('Password').fill('chosen by lin alone')
        await theirs.getByRole('button', { name: 'Log in' }).click()
        await theirs.getByRole('link', { name: 'Leaflet' }).first().waitFor()
        await theirs.getByRole('button', { name: /^Stop/ }).first().waitFor()
        assert.equal(await theirs.getByRole('link', { name: 'New project' }).count(), 0)
        assert.equal(await theirs.getByRole('link', { name: 'Users' }).count(), 0)
        await theirs.goto(`${service.url}/settings/sessions`)
        await theirs.getByRole('button', { name: /^Forget the device/ }).waitFor()
        await assertLooks(theirs, 'sessions')
        // A page that differs in its fragment alone would not be read again.
        await theirs.goto('about:blank')
        await theirs.goto(link)
        await theirs.getByText('This link does not hold').waitFor()
      } finally {
        await other.close()
      }
    })

    it('offers a reader nothing that a reader may not do', { timeout: 60_000 }, async () => {
      const password = 'look-but-do-not-touch'
      await asAdmin(page, { username: 'rita', role: 'read', password })
      const other = await launchBrowser()
      other.context.setDefaultTimeout(20_000)
      try {
        const reader = await other.page()
        await reader.goto(`${service.url}/login`)
        await reader.getByLabel('User name').fill('rita')
        await reader.getByLabel('Password').fill(password)
        await reader.getByRole('button', { name: 'Log in' }).click()
        await reader.getByRole('link', { name: 'Leaflet' }).first().waitFor()
        const links = await reader.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()
        assert.ok(links.includes('Sessions'), links.join())
        for (const name of ['Users', 'Secret key', 'Diagnostics']) assert.ok(!links.includes(name), name)
        assert.equal(await reader.getByRole('link', { name: 'New project' }).count(), 0)
        assert.equal(await reader.getByRole('button', { name: /^(Start|Stop|Restart)/ }).count(), 0)
        await reader.goto(`${service.url}/settings/users`)
        await reader.getByRole('alert').waitFor()
      } finally {
        await other.close()
      }
    })

    it('shows the secret key only after the password, and a wrong one does not log out', {
      timeout: 60_000,
    }, async () => {
      await open('/settings/secret-key')
      await assertAccessible(page, 'secret key')
      await button('Show the key…').click()
      await dialog().getByLabel('Your password').fill('not this one')
      await button('Show the key').click()
      await dialog().getByRole('alert').waitFor()
      await dialog().getByLabel('Your password').fill(admin.password)
      await button('Show the key').click()
      await dialog()
        .getByText(/^[A-Za-z0-9+/]{43}=$/)
        .waitFor()
      await assertAccessible(page, 'key shown')
      await button('Done').click()
    })

    it('tells in the audit log who did what, filters it, and says that its chain holds', {
      timeout: 60_000,
    }, async () => {
      await open('/activity?view=audit')
      await page.getByText(/^Chain of \d+ entries verified$/).waitFor()
      await page.getByLabel('Action', { exact: true }).selectOption({ label: 'Set variable' })
      await page.waitForURL(/action=project\.env\.set/)
      await button('Set variable: details').click()
      await page.getByText('env.API_KEY').waitFor()
      await page.getByText('secret, version 1').waitFor()
      await assertAccessible(page, 'audit log')
      await button('Export').click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: 'JSON Lines' }).click(),
      ])
      const chunks: Buffer[] = []
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
      const lines = Buffer.concat(chunks).toString('utf8').trimEnd().split('\n')
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { action: string }).action),
        ['project.env.set'],
      )
    })

    for (const [path, ready] of [
      ['/', 'Leaflet'],
      ['/activity', 'Create'],
      ['/settings/sessions', 'This session'],
      ['/settings/diagnostics', 'Toolchains'],
      ['/projects/leaflet/runtimes', 'Static files'],
      ['/projects/leaflet/settings', 'Project file'],
      ['/nowhere', 'Page not found'],
    ] as const) {
      it(`${path} has no barrier that axe finds`, { timeout: 60_000 }, async () => {
        await open(path)
        await page.locator('#content, body').last().getByText(ready).first().waitFor({ timeout: 20_000 })
        await assertAccessible(page, path)
      })
    }

    it('made no error that nobody expected, and asked no other machine', () => {
      const refused = ['401 /api/v1/auth/login', '401 /api/v1/settings/secret-key/reveal']
      assert.deepEqual(seen.errors, refused)
      assert.deepEqual(seen.foreign, [])
    })
  })
})

interface Seen {
  /** `401 /api/v1/auth/me` for an answer that the console calls an error; the text of any other. */
  readonly errors: string[]
  /** Requests to anywhere but the service. */
  readonly foreign: string[]
}

function watch(page: Page, origin: string): Seen {
  const seen: Seen = { errors: [], foreign: [] }
  page.on('console', (message) => {
    if (message.type() !== 'error') return
    const status = /responded with a status of (\d+)/.exec(message.text())?.[1]
    const { url } = message.location()
    seen.errors.push(status === undefined ? message.text() : `${status} ${new URL(url).pathname}`)
  })
  page.on('pageerror', (error) => seen.errors.push(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) seen.foreign.push(url)
  })
  page.on('websocket', (socket) => {
    if (new URL(socket.url()).host !== new URL(origin).host) seen.foreign.push(socket.url())
  })
  return seen
}

/** Waits until no operation holds the project. */
async function idle({ client }: Service, id: string): Promise<void> {
  await until(async () => (await client.call('getProject', { params: { id } })).operation === null, `${id} to be idle`)
}

async function loginStatus({ url }: Service, username: string, password: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  await answer.body?.cancel()
  return answer.status
}

/** With the session of the page that an administrator is logged in at. */
async function asAdmin(page: Page, user: { username: string; role: 'read'; password: string }): Promise<void> {
  const status = await page.evaluate(async (body) => {
    const key = localStorage.getItem('stackquay.session') ?? ''
    const headers = { 'content-type': 'application/json', 'x-csrf-token': key }
    return (await fetch('/api/v1/users', { method: 'POST', headers, body: JSON.stringify(body) })).status
  }, user)
  assert.equal(status, 201)
}
