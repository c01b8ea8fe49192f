import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ProjectView } from '@stackquay/contract'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import nodemailer from 'nodemailer'
import type { BrowserContext, Page } from 'playwright-core'
import { assertAccessible, assertLooks, logIn, makeUser, openPage, textOf } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'

const project = 'harbour'
const at = (path: string) => `/projects/${project}/${path}`

describe('services, mail and databases on the page', () => {
  let browser: Browser
  let service: Service
  let page: Page
  let errors: readonly string[]

  before(async () => {
    service = await startService()
    ;({ browser, page, errors } = await openPage(service, 20_000))
    const body = { name: 'Harbour', template: 'static', node: { enabled: true, server: false } }
    const made = await service.client.call('createProject', { body: body as never, query: { wait: 60 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const open = (path: string) => page.goto(`${service.url}${path}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const card = (name: string) => page.getByRole('region', { name, exact: true })
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const act = async (of: string, name: string) => {
    await button(`More actions for ${of}`).click()
    await page.getByRole('menuitem', { name }).click()
  }
  const read = async () => (await service.client.call('getProject', { params: { id: project } })) as ProjectView
  const settings = async (name: string) => (await read())[name] as Record<string, unknown>
  const active = async () =>
    (await service.client.call('listOperations', { query: { project, active: true } })).items.length > 0
  const idle = () =>
    until(async () => !(await active()) && (await read()).operation === null, 'the project to be idle', 60_000)
  const audited = async (action: string) =>
    (await service.client.call('listAudit', { query: { action } })).items.map(({ target }) => target)

  it('adds a service: its settings and the plan before, its state and variables after', {
    timeout: 90_000,
  }, async () => {
    await open(at('services'))
    await page.getByText('No services in use').waitFor()
    await assertAccessible(page, 'no services')
    await button('Add Redis').click()
    await dialog().getByText('Starts 1 workload').waitFor()
    await dialog()
      .getByText(/^because the variables REDIS_URL/)
      .waitFor()
    await assertAccessible(page, 'add a service')
    await inDialog('Add Redis').click()
    await dialog().waitFor({ state: 'detached' })
    await card('Redis').getByText('Running', { exact: true }).waitFor({ timeout: 30_000 })
    await card('Redis').getByText('REDIS_PASSWORD').waitFor()
    await card('Redis').getByText('loopback only').waitFor()
    await idle()
    await assertAccessible(page, 'services')
  })

  it('shows credentials with their secrets hidden until they are asked for, and the read stands in the audit log', {
    timeout: 60_000,
  }, async () => {
    const { password } = await service.client.call('getServiceCredentials', {
      params: { id: project, service: 'redis' },
    })
    const reads = (await audited('service.credentials.read')).length
    await button('Credentials of Redis').click()
    await dialog()
      .getByText(/^redis:\/\/.*••••/)
      .waitFor()
    await dialog().getByText('The audit log records every reading.').waitFor()
    assert.ok(!(await page.content()).includes(String(password)))
    await assertAccessible(page, 'credentials')
    await inDialog('Show secrets').click()
    await dialog().getByText(String(password), { exact: true }).waitFor()
    await inDialog('Done').click()
    await dialog().waitFor({ state: 'detached' })
    assert.ok(!(await page.content()).includes(String(password)))
    assert.equal((await audited('service.credentials.read')).length, reads + 1)
  })

  it('makes new credentials after the plan was shown', { timeout: 90_000 }, async () => {
    const credentials = () =>
      service.client.call('getServiceCredentials', { params: { id: project, service: 'redis' } })
    const { password } = await credentials()
    await act('Redis', 'Rotate credentials…')
    await dialog().getByText('Restarts 2 of 2 workloads').waitFor()
    await assertAccessible(page, 'new credentials')
    await inDialog('Rotate credentials').click()
    await dialog().waitFor({ state: 'detached' })
    await idle()
    assert.notEqual((await credentials()).password, password)
  })

  it('takes a server that runs elsewhere, and never shows its password again', { timeout: 90_000 }, async () => {
    await button('Change Redis').click()
    const external = dialog().getByRole('switch', { name: 'External server' })
    await external.check()
    await dialog().getByText('Fill this in.').waitFor()
    await dialog().getByLabel('Host').fill('cache.example.test')
    await dialog().getByLabel('Password').fill('elsewhere-canary-4711')
    await dialog()
      .getByText(/Stops 1 workload/)
      .waitFor()
    await assertAccessible(page, 'external server')
    await inDialog('Apply').click()
    await dialog().waitFor({ state: 'detached' })
    await card('Redis').getByText('runs elsewhere').waitFor()
    await idle()
    const stored = (await settings('redis')).external as Record<string, unknown>
    assert.deepEqual([stored.host, stored.hasPassword, 'password' in stored], ['cache.example.test', true, false])

    await button('Change Redis').click()
    const password = dialog().getByLabel('Password')
    assert.equal(await password.inputValue(), '')
    assert.equal(await password.getAttribute('type'), 'password')
    await dialog().getByText('Not shown. Leave it empty to keep it.').waitFor()
    assert.ok(!(await page.content()).includes('elsewhere-canary-4711'))
    await dialog().getByLabel('Host').fill('cache2.example.test')
    await dialog().getByText('redis.external.host').waitFor()
    await inDialog('Apply').click()
    await dialog().waitFor({ state: 'detached' })
    await idle()
    const kept = (await settings('redis')).external as Record<string, unknown>
    assert.deepEqual([kept.host, kept.hasPassword], ['cache2.example.test', true])

    await button('Change Redis').click()
    await external.uncheck()
    await dialog()
      .getByText(/Starts 1 workload/)
      .waitFor()
    await inDialog('Apply').click()
    await card('Redis').getByText('Running', { exact: true }).waitFor({ timeout: 30_000 })
    await idle()
  })

  it('disables a service and keeps its data, and enables it again', { timeout: 90_000 }, async () => {
    await act('Redis', 'Disable…')
    await dialog().getByText('Keeps all data').waitFor()
    await assertAccessible(page, 'disable')
    await inDialog('Disable').click()
    await page.getByRole('heading', { name: 'Kept data' }).waitFor({ timeout: 30_000 })
    await idle()
    await assertAccessible(page, 'kept data')
    await button('Enable again: Redis').click()
    await dialog()
      .getByText(/Starts 1 workload/)
      .waitFor()
    await inDialog('Enable again').click()
    await dialog().waitFor({ state: 'detached', timeout: 30_000 })
    await card('Redis').getByText('Running', { exact: true }).waitFor({ timeout: 30_000 })
    await idle()
  })

  it('deletes data only after its name was typed: with the service, and what was kept', {
    timeout: 90_000,
  }, async () => {
    const kept = async () =>
      (await service.client.call('listExtras', { params: { id: project } })).keptData.map(({ kind }) => kind)
    await act('Redis', 'Disable…')
    await inDialog('Disable').click()
    await button('Delete the kept data of Redis').click()
    await dialog()
      .getByText(/^Moves data to the trash until .*: redis\./)
      .waitFor()
    assert.ok(await inDialog('Delete data').isDisabled())
    await dialog().getByLabel('Type redis to confirm').fill('redis')
    await assertAccessible(page, 'delete kept data')
    await idle()
    await inDialog('Delete data').click()
    await dialog().waitFor({ state: 'detached', timeout: 30_000 })
    await page.getByRole('heading', { name: 'Kept data' }).waitFor({ state: 'detached', timeout: 30_000 })
    await idle()
    await until(async () => (await kept()).length === 0, 'the kept data to be gone')

    await button('Enable again: Redis').click()
    await inDialog('Enable again').click()
    await dialog().waitFor({ state: 'detached', timeout: 30_000 })
    await card('Redis').getByText('Running', { exact: true }).waitFor({ timeout: 30_000 })
    await idle()
    await act('Redis', 'Disable and delete data…')
    await dialog()
      .getByText(/^Moves data to the trash until .*: redis\./)
      .waitFor()
    assert.ok(await inDialog('Disable and delete data').isDisabled())
    await dialog().getByLabel('Type redis to confirm').fill('redis')
    await inDialog('Disable and delete data').click()
    await dialog().waitFor({ state: 'detached', timeout: 30_000 })
    await card('Redis').waitFor({ state: 'detached', timeout: 30_000 })
    await idle()
    await until(async () => (await kept()).length === 0, 'the kept data to be gone')
  })

  /** Sees that the mail catcher runs, and answers what sends a mail to it. */
  const catchMails = async () => {
    const body = { mailpit: { enabled: true } }
    const params = { id: project }
    await service.client.call('updateProject', { params, body: body as never, query: { wait: 60 } })
    const { status } = await read()
    const port = status.workloads
      .find((workload) => workload.name === 'mailpit')
      ?.ports.find((one) => one.name === 'smtp')?.hostPort
    assert.ok(port)
    return async (mail: Readonly<Record<string, unknown>>) => {
      const transport = nodemailer.createTransport({ host: '127.0.0.1', port })
      await transport.sendMail({ from: 'Harbour Shop <shop@example.test>', to: 'ada@example.test', ...mail })
      transport.close()
    }
  }

  describe('the inbox', () => {
    const asked: string[] = []
    let send: Awaited<ReturnType<typeof catchMails>>
    const row = (subject: string) => page.getByRole('list', { name: 'Mails' }).getByRole('link', { name: subject })
    const show = (view: string) => page.getByRole('radio', { name: view, exact: true }).check()
    const frame = () => page.frameLocator('iframe')

    before(async () => {
      send = await catchMails()
      await answerElsewhere(browser.context, asked)
    })

    it('shows a mail that comes while one looks, without being loaded again', { timeout: 60_000 }, async () => {
      await open(at('mail'))
      await page.getByText('No mail yet').waitFor()
      await assertAccessible(page, 'empty inbox')
      await page.evaluate(() => Object.assign(globalThis, { notLoadedAgain: true }))
      await send({ subject: 'The first', text: 'Hello Ada' })
      await row('The first').waitFor()
      await page.getByText('1 mail, 1 unread').waitFor()
      assert.equal(await page.evaluate(() => 'notLoadedAgain' in globalThis), true)
    })

    it('shows HTML without running anything in it and without asking anybody', { timeout: 60_000 }, async () => {
      await send({
        subject: 'Boarding card',
        text: 'In plain words',
        html: `<base href="https://elsewhere.test/"><meta http-equiv="refresh" content="0;url=https://elsewhere.test/away">
          <script>top.document.title = 'owned'</script><link rel="stylesheet" href="https://elsewhere.test/a.css">
          <style>h1 { color: teal } div { background: url(https://elsewhere.test/css.png) }</style>
          <h1>Boarding</h1><div>deck</div><form action="https://elsewhere.test/form"><button>Send</button></form>
          <img src="https://elsewhere.test/pixel.png" onerror="top.document.title = 'owned'" alt="pixel">
          <iframe src="https://elsewhere.test/frame"></iframe><svg onload="top.document.title = 'owned'"></svg>
          <a href="https://elsewhere.test/ticket">Your ticket</a> <a href="javascript:top.document.title='owned'">Trap</a>
          <a href="/api/v1/auth/me">Inside</a>`,
        attachments: [{ filename: 'card.txt', content: 'Deck 4, cabin 711' }],
      })
      await row('Boarding card').click()
      await frame().getByRole('heading', { name: 'Boarding' }).waitFor()
      await page.getByText('Images from elsewhere are not loaded.').waitFor()
      assert.equal(
        await frame()
          .getByRole('heading')
          .evaluate((node) => getComputedStyle(node).color),
        'rgb(0, 128, 128)',
      )
      // A link that is not absolute leads to a name that never resolves, and not into the service.
      const inside = await frame()
        .getByRole('link', { name: 'Inside' })
        .evaluate((link) => (link as HTMLAnchorElement).href)
      assert.equal(inside, 'https://mail.invalid/api/v1/auth/me')
      assert.equal(await page.locator('iframe').getAttribute('sandbox'), 'allow-popups allow-popups-to-escape-sandbox')
      await frame().getByRole('button', { name: 'Send' }).click()
      await frame().getByText('Trap').click()
      await assertAccessible(page, 'mail')
      assert.doesNotMatch(await page.title(), /owned/)
      assert.deepEqual(asked, [])
    })

    it('opens a link of a mail in a new tab that knows nothing of the page', { timeout: 60_000 }, async () => {
      const opened = async () => {
        const [tab] = await Promise.all([
          browser.context.waitForEvent('page'),
          frame().getByRole('link', { name: 'Your ticket' }).click(),
        ])
        const isThere = await tab.waitForURL('https://elsewhere.test/ticket', { timeout: 5000 }).then(
          () => true,
          () => false,
        )
        if (isThere) return tab
        await tab.close()
        return null
      }
      // A new tab may ask before anybody stands in for that host, and finds none.
      const tab = (await opened()) ?? (await opened()) ?? (await opened())
      assert.ok(tab)
      assert.equal(await tab.evaluate(() => window.opener), null)
      assert.equal(await tab.evaluate(() => document.referrer), '')
      await tab.close()
    })

    it('lets a mail load images over https when that is asked for, and nothing else', { timeout: 60_000 }, async () => {
      const policyAfter = async (act: () => Promise<unknown>) => {
        const [answer] = await Promise.all([
          page.waitForResponse((response) => /\/mail\/\w+\/html\?/.test(response.url())),
          act(),
        ])
        assert.equal(answer.status(), 200)
        assert.equal(new URL(answer.url()).searchParams.get('ticket')?.length, 43)
        return (await answer.headerValue('content-security-policy')) ?? ''
      }
      await show('Text')
      const before = await policyAfter(() => show('HTML'))
      assert.match(before, /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src data:;/)
      assert.match(before, /frame-ancestors 'self'$/)
      const remote = page.getByRole('switch', { name: 'Load images over https' })
      const after = await policyAfter(() => remote.check())
      assert.equal(after.replace(' https:;', ';'), before)
      assert.match(after, /img-src data: https:;/)
    })

    it('shows text, headers and source, and hands out what is attached', { timeout: 60_000 }, async () => {
      await show('Text')
      await page.getByRole('region', { name: 'Text' }).getByText('In plain words').waitFor()
      await show('Headers')
      await page.getByText('Harbour Shop <shop@example.test>', { exact: true }).last().waitFor()
      await assertAccessible(page, 'mail headers')
      await show('Source')
      await page.getByText(/^MIME-Version: 1\.0/m).waitFor()
      await page.getByRole('link', { name: 'Download source' }).waitFor()
      await assertAccessible(page, 'mail source')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: /^Download card\.txt/ }).click(),
      ])
      assert.equal(await textOf(await download.createReadStream()), 'Deck 4, cabin 711')
    })

    it('searches, marks as unread, deletes one, and empties', { timeout: 60_000 }, async () => {
      await page.getByText('2 mails, 1 unread').waitFor()
      await page.getByRole('searchbox', { name: 'Search in the inbox' }).fill('first')
      await row('Boarding card').waitFor({ state: 'detached' })
      await row('The first').waitFor()
      await page.getByRole('searchbox', { name: 'Search in the inbox' }).fill('')
      await row('Boarding card').waitFor()
      await button('Mark as unread').click()
      await page.getByText('2 mails, 2 unread').waitFor()
      await row('The first').focus()
      await page.keyboard.press('Enter')
      await page.getByText('2 mails, 1 unread').waitFor()
      await button('Delete mail').click()
      await row('The first').waitFor({ state: 'detached' })
      await button('Empty inbox').click()
      await assertAccessible(page, 'empty the inbox')
      await inDialog('Delete all mails').click()
      await page.getByText('No mail yet').waitFor()
    })

    it('says so when the catcher does not run, and is back when it does', { timeout: 90_000 }, async () => {
      const query = { wait: 60 }
      await service.client.call('stopProject', { params: { id: project }, query })
      await page.getByText('Mail catcher is not running').waitFor()
      await service.client.call('startProject', { params: { id: project }, query })
      await page.getByText('No mail yet').waitFor()
    })
  })

  it('changes a database and gives it a new password, each after its plan', { timeout: 120_000 }, async () => {
    const body = { name: 'main', type: 'postgresql' }
    await service.client.call('createDatabase', { params: { id: project }, body, query: { wait: 90 } })
    const credentials = () => service.client.call('getDatabaseCredentials', { params: { id: project, db: 'main' } })
    const { password } = await credentials()
    await open(at('databases'))
    await card('main').getByText('Running', { exact: true }).waitFor()
    await button('Change main').click()
    await dialog().getByRole('switch', { name: 'Publish its port' }).check()
    await dialog().getByText('databases.main.exposePort').waitFor()
    await assertAccessible(page, 'change a database')
    await inDialog('Apply').click()
    await card('main').getByText('published').waitFor()
    await idle()
    await act('main', 'Rotate password…')
    await dialog()
      .getByText(/^Restarts \d of \d workloads/)
      .waitFor()
    await inDialog('Rotate password').click()
    await dialog().waitFor({ state: 'detached' })
    await idle()
    const next = await credentials()
    assert.notEqual(next.password, password)
    await button('Show credentials').click()
    await dialog()
      .getByText(/^postgres(ql)?:\/\/main:••••/)
      .waitFor()
    assert.ok(!(await page.content()).includes(next.password))
    await assertAccessible(page, 'database credentials')
    await inDialog('Done').click()
  })

  it('opens a terminal beside a database, from no terminal and from another', { timeout: 90_000 }, async () => {
    await open(at('terminal'))
    await button('In a database or service').click()
    const items = page.getByRole('menuitem')
    await items.filter({ hasText: 'Terminal with PostgreSQL main' }).waitFor()
    await assertLooks(page, 'terminals beside databases')
    await items.filter({ hasText: 'Terminal with PostgreSQL main' }).click()
    await page.locator('.xterm-rows').getByText('+postgresql-main:').first().waitFor()
    await button('Open a terminal').click()
    await items.filter({ hasText: 'Terminal with PostgreSQL main' }).waitFor()
    await assertLooks(page, 'a further terminal beside databases')
    await page.keyboard.press('Escape')
    const { items: opened } = await service.client.call('listTerminals', { params: { id: project } })
    assert.deepEqual(
      opened.map(({ workload }) => workload),
      ['postgresql-main'],
    )
    for (const { id } of opened) await service.client.call('endTerminal', { params: { id: project, term: id } })
  })

  it('gives a variable to one of several runtimes, and changes that of a secret without its value', {
    timeout: 60_000,
  }, async () => {
    await open(at('environment'))
    await button('Add variable').click()
    await dialog().getByLabel('Name').fill('FEATURE_KEY')
    await dialog().getByLabel('Value').fill('receivers-canary')
    await dialog().getByRole('switch', { name: 'Secret' }).check()
    await dialog().getByRole('radio', { name: 'Only these' }).check()
    await dialog().getByRole('checkbox', { name: 'Static files' }).uncheck()
    await dialog().getByText('nothing is started, stopped or restarted').waitFor()
    await assertAccessible(page, 'receivers')
    await inDialog('Save').click()
    const row = page.getByRole('row', { name: /FEATURE_KEY/ })
    await row.getByText('Node.js').waitFor()
    await idle()
    await assertAccessible(page, 'environment')

    await button('Change FEATURE_KEY').click()
    await dialog().getByRole('radio', { name: 'All runtimes' }).check()
    await dialog().getByText('Restarts 1 of').waitFor()
    await inDialog('Save').click()
    await row.getByText('All runtimes').waitFor()
    await idle()
    const query = { reveal: true }
    const kept = await service.client.call('getProjectEnvValue', {
      params: { id: project, name: 'FEATURE_KEY' },
      query,
    })
    assert.deepEqual(kept, { name: 'FEATURE_KEY', value: 'receivers-canary', secret: true, runtimes: null })
  })

  it('applies a project file, and takes away what it does not name only when told to', {
    timeout: 90_000,
  }, async () => {
    await open(at('settings'))
    const file = page.getByRole('textbox', { name: 'stackquay.yml' })
    const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Project file' }) })
    await file.fill(`${await file.inputValue()}surprise: true\n`)
    await panel.getByText(/^Line \d+, column 1:$/).waitFor()
    await file.fill('version: 1\nname: Harbour\nstatic:\n  version: "1"\nmailpit:\n  version: "1"\n')
    await panel.getByText('nothing is started, stopped or restarted').waitFor()
    await panel.getByRole('switch', { name: 'Remove what the file does not name' }).check()
    await panel.getByText('env.FEATURE_KEY').first().waitFor()
    await panel.getByText('Keeps all data').waitFor()
    await assertAccessible(page, 'project file')
    await panel.getByRole('button', { name: 'Apply' }).click()
    await panel.getByRole('button', { name: 'Undo edits' }).waitFor({ state: 'detached' })
    await idle()
    const { env, databases, status } = await read()
    assert.deepEqual([Object.keys(env), Object.keys(databases)], [[], ['main']])
    assert.ok(status.workloads.some((workload) => workload.name === 'mailpit'))
  })

  it('offers services with a new project', { timeout: 90_000 }, async () => {
    await open('/new')
    await page.getByRole('radio', { name: /Static page/ }).check()
    await page.getByRole('checkbox', { name: /^Memcached/ }).check()
    const plan = page.getByRole('complementary', { name: 'Plan' })
    await plan.getByText('Starts 2 workloads').waitFor()
    await assertAccessible(page, 'new project with a service')
    await page.getByLabel('Name', { exact: true }).fill('Pier')
    await plan.locator('[aria-busy=true]').waitFor({ state: 'detached' })
    await button('Create project').click()
    await page.getByText('Pier is running').waitFor({ timeout: 60_000 })
    const pier = (await service.client.call('getProject', { params: { id: 'pier' } })) as ProjectView
    assert.equal((pier.memcached as { enabled: boolean }).enabled, true)
  })

  it('offers a reader neither changes nor credentials nor mails', { timeout: 60_000 }, async () => {
    const reader = { username: 'rita', password: 'look-but-do-not-touch' }
    await makeUser(page, reader, 'read')
    const other = await launchBrowser()
    other.context.setDefaultTimeout(20_000)
    try {
      const seen = await other.page()
      await logIn(seen, service, reader)
      await seen.goto(`${service.url}${at('services')}`)
      await seen.getByRole('region', { name: 'Mail catcher' }).waitFor()
      assert.equal(await seen.getByRole('button', { name: /^(Add|Change|Enable|More actions|Credentials)/ }).count(), 0)
      assert.equal(await seen.getByRole('link', { name: /^(Mail|Inbox)$/ }).count(), 0)
    } finally {
      await other.close()
    }
  })

  it('made no error that nobody expected', () => {
    const expected = [
      // The plan of a form that is not filled in yet, and of a project file with a mistake.
      `422 /api/v1/projects/${idOf(errors)}`,
      `422 /api/v1/projects/${idOf(errors)}/manifest/plan`,
      // The inbox was asked for in the moment in which the project was stopped.
      `409 /api/v1/projects/${idOf(errors)}/mail`,
      // The images of a mail that was allowed to load them.
      `Failed to load resource: ${noSuchHost}`,
    ]
    const unexpected = errors.filter(
      (error) => !expected.includes(error) && !/Content Security Policy|Blocked/.test(error),
    )
    assert.deepEqual(unexpected, [])
  })

  // Of a browser of its own, and last: it ends its session and the service.
  it('opens the page of a service at an address of its own, for whoever is logged in', {
    timeout: 90_000,
  }, async (t) => {
    const send = await catchMails()
    await send({ subject: 'The first', text: 'Hello Ada' })
    const other = await launchBrowser()
    t.after(() => other.close())
    other.context.setDefaultTimeout(20_000)
    const own = await other.page()
    await logIn(own, service, admin)
    await own.goto(`${service.url}${at('services')}`)
    const link = own
      .getByRole('region', { name: 'Mail catcher' })
      .getByRole('link', { name: 'Open the page of Mail catcher' })
    const url = `http://mailpit--${project}.localhost:${service.proxyPort}/`
    assert.equal(new URL((await link.getAttribute('href'))!).href, url)
    const [opened] = await Promise.all([other.context.waitForEvent('page'), link.click()])
    await opened.waitForURL(url)
    await opened.getByText('The first').waitFor()
    // It reads, and it changes something, as at its own port.
    const changed = await opened.evaluate(async () => {
      const headers = { 'x-inbox-request': '1' }
      return (await fetch(`/api/messages/${'0'.repeat(32)}`, { method: 'DELETE', headers })).status
    })
    assert.equal(changed, 404)

    assert.deepEqual(await audited('service.page.open'), [`${project}/mailpit`])
    const seen = await service.get(`mailpit--${project}`, '/')
    const unknown = await service.get('mailpit--nobody', '/')
    assert.deepEqual([seen.status, unknown.status], [303, 303])
    assert.ok(!seen.body.includes('The first'))
    const jar = await other.context.cookies(url)
    const cookie = jar.find(({ name }) => name.startsWith('stackquay_page_'))
    assert.deepEqual(
      [cookie?.domain, cookie?.httpOnly, cookie?.sameSite],
      [`mailpit--${project}.localhost`, true, 'Lax'],
    )

    // It outlives both processes, and ends with the session.
    const inside = () =>
      service.get(`mailpit--${project}`, '/', { headers: { cookie: `${cookie!.name}=${cookie!.value}` } })
    assert.equal((await inside()).status, 200)
    await service.kill()
    assert.equal((await inside()).status, 200)
    await service.start()
    assert.equal((await inside()).status, 200)
    await opened.goto(service.url)
    const status = await opened.evaluate(async () => {
      const headers = { 'x-csrf-token': localStorage.getItem('stackquay.session') ?? '' }
      return (await fetch('/api/v1/auth/logout', { method: 'POST', headers })).status
    })
    assert.equal(status, 204)
    await until(async () => (await inside()).status === 303, 'the pass to end', 1_000)
    await opened.goto(url)
    await opened.getByRole('heading', { name: 'Log in' }).waitFor()
    await opened.getByLabel('User name').fill(admin.username)
    await opened.getByLabel('Password').fill(admin.password)
    await opened.getByRole('button', { name: 'Log in' }).click()
    // Back where one wanted to go, without a further click.
    await opened.waitForURL(url)
    await opened.getByText('The first').waitFor()
    await opened.goto(url.replace('mailpit', 'nothing'))
    await opened.getByText('No service has its page at').waitFor()
    await assertLooks(opened, 'no page of a service')
  })
})

/** The project's id, as requests name it. */
function idOf(errors: readonly string[]): string {
  return errors.map((error) => /\/(prj_\w+)/.exec(error)?.[1]).find((id) => id !== undefined) ?? ''
}

const noSuchHost = 'net::ERR_NAME_NOT_RESOLVED'

/** Stands in for a host of the internet, and says what it was asked for. */
async function answerElsewhere(context: BrowserContext, asked: string[]): Promise<void> {
  await context.route('https://elsewhere.test/**', async (route) => {
    asked.push(route.request().url())
    await route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html><title>elsewhere</title>' })
  })
  // What a frame in a process of its own asks for may be on its way before this stands in; it finds no such host then.
  context.on('requestfailed', (request) => {
    if (new URL(request.url()).host === 'elsewhere.test' && request.failure()?.errorText === noSuchHost)
      asked.push(request.url())
  })
}
