import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { ProjectView } from '@stackquay/contract'
import { openMetricsFile } from '@stackquay/store'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertAccessible, assertLooks, logIn, makeUser, openPage, textOf } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'

const project = 'harbour'
const at = (path: string) => `/projects/${project}/${path}`

const files: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    name: 'harbour',
    private: true,
    type: 'module',
    scripts: { build: 'node build.mjs', watch: 'node watch.mjs', test: 'node --test' },
  }),
  'build.mjs': `console.log('\\u001b[32mbuilding\\u001b[0m the quay')
console.error('mind the gap')
process.exitCode = 3
`,
  'watch.mjs': `let count = 0
setInterval(() => console.log('lap ' + (count += 1)), 100)
`,
  'test/cart.test.mjs': `import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

describe('cart', () => {
  it('takes an item', () => {})
  it('knows its sum', () => {
    assert.equal(40 + 1, 42)
  })
})
`,
}

describe('logs, actions, tests, terminals and webhooks on the page', () => {
  let browser: Browser
  let service: Service
  let page: Page
  let errors: readonly string[]

  before(async () => {
    service = await startService()
    ;({ browser, page, errors } = await openPage(service))
    const body = { name: 'Harbour', template: 'static', node: { enabled: true, server: false } }
    const made = await service.client.call('createProject', { body: body as never, query: { wait: 60 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    const { path } = made as unknown as ProjectView
    await mkdir(join(path, 'test'), { recursive: true })
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const open = (path: string) => page.goto(`${service.url}${path}`)
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const dialog = () => page.getByRole('dialog')
  const output = () => page.getByRole('log', { name: 'Output' })

  describe('logs', () => {
    const search = () => page.getByRole('searchbox', { name: 'Search in the log' })
    const lines = () => page.getByRole('log', { name: 'Log lines' })

    it('searches where the logs are kept, and the search stands in the address', { timeout: 90_000 }, async () => {
      await open(at('logs'))
      await lines()
        .getByText(/^Serving /)
        .waitFor()
      await search().fill('no such line anywhere')
      await page.getByText('No line matches the filters.').waitFor()
      await search().fill('serv')
      await lines().locator('mark').getByText('Serv', { exact: true }).waitFor()
      await page.waitForURL(/[?&]q=serv(&|$)/)
      await page.reload()
      await lines().locator('mark').getByText('Serv', { exact: true }).waitFor()
      await assertAccessible(page, 'logs')
    })

    it('takes a regular expression, and says in place what is wrong with one', { timeout: 90_000 }, async () => {
      await button('Regular expression').click()
      await search().fill('s.rving')
      await lines().locator('mark').getByText('Serving', { exact: true }).waitFor()
      await search().fill('((')
      await page.getByRole('alert').getByText('Invalid regular expression').waitFor()
      await assertAccessible(page, 'wrong expression')
      await search().fill('')
      await lines()
        .getByText(/^Serving /)
        .waitFor()
    })

    it('filters by level and time, and hands out a file of what fits', { timeout: 90_000 }, async () => {
      await open(at('logs'))
      await page.getByRole('combobox', { name: 'Level' }).selectOption('Errors')
      await page.getByText('No line matches the filters.').waitFor()
      await page.getByRole('combobox', { name: 'Level' }).selectOption('All levels')
      await page.getByRole('combobox', { name: 'Time' }).selectOption('Last hour')
      await lines()
        .getByText(/^Serving /)
        .waitFor()
      await button('Download').click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: 'Text' }).click(),
      ])
      assert.match(await textOf(await download.createReadStream()), /Serving /)
    })
  })

  describe('usage', () => {
    it('shows what workloads used over a day and a year, in pictures, in words and as a table', {
      timeout: 90_000,
    }, async () => {
      const { id } = (await service.client.call('getProject', { params: { id: project } })) as ProjectView
      await rememberUsage(join(service.home, 'metrics.db'), id)
      await open(at(''))
      await page.getByRole('radio', { name: '24 h' }).check()
      const day = page.getByRole('img', {
        name: /^CPU over the last 24 hours\. node: .*worker: 5\.0 %, at most 5\.0 %/,
      })
      await day.waitFor()
      await page.getByRole('img', { name: /^Requests over the last 24 hours\. Requests: .*5xx responses: / }).waitFor()
      await page.getByText('As a table').click()
      await page.getByRole('row', { name: /^worker 5\.0 % 5\.0 % 50 MB 50 MB – – – –$/ }).waitFor()
      await assertLooks(page, 'usage of a day')
      await page.getByRole('radio', { name: '1 y' }).check()
      await page.getByRole('img', { name: /^Memory over the last year\. node: / }).waitFor()
      await assertLooks(page, 'usage of a year')
      await page.reload()
      await page.getByRole('img', { name: /^Memory over the last year\. node: / }).waitFor()
      await page.getByRole('radio', { name: 'Live' }).check()
      await page.getByRole('img', { name: /^CPU of each workload over the last minutes/ }).waitFor()
    })
  })

  describe('actions', () => {
    it('runs one and shows what it prints, how it ended, and its history', { timeout: 120_000 }, async () => {
      await open(at('actions'))
      await button('Run npm run build').waitFor()
      await assertAccessible(page, 'actions')
      await button('Run npm run build').click()
      await output().getByText('building', { exact: true }).waitFor()
      await output().getByText('mind the gap').waitFor()
      await page.getByText('exit code 3').waitFor()
      await assertAccessible(page, 'a run')
      await page.getByRole('radio', { name: 'Standard error' }).check()
      await output().getByText('mind the gap').waitFor()
      await output().getByText('building', { exact: true }).waitFor({ state: 'detached' })
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download the output' }).click(),
      ])
      assert.match(await textOf(await download.createReadStream()), /mind the gap/)
      await page.getByRole('link', { name: 'All actions' }).click()
      const row = page.getByRole('row', { name: /npm run build/ })
      await row.getByText('exit code 3').waitFor()
      await row.getByText(admin.username, { exact: true }).waitFor()
    })

    it('goes on when the page is loaded again, and ends when it is cancelled', { timeout: 120_000 }, async () => {
      await button('Run npm run watch').click()
      await output()
        .getByText(/^lap \d+$/)
        .first()
        .waitFor()
      await page.waitForURL(/[?&]run=run_/)
      await page.reload()
      // From its first line, and it goes on.
      await output()
        .getByText(/^lap \d+$/)
        .first()
        .waitFor()
      await button('Pause').click()
      await output().press('Home')
      await output().getByText('lap 1', { exact: true }).waitFor()
      await button('Cancel').click()
      await page.getByText('Cancelled', { exact: true }).waitFor()
      await button('Run again').waitFor()
    })
  })

  it('runs a test suite and shows the failed test with its file and line', { timeout: 180_000 }, async () => {
    await open(at('tests'))
    const run = button(/^Run .*node:test/)
    await run.waitFor()
    await assertAccessible(page, 'tests')
    await run.click()
    await page.getByText('test/cart.test.mjs:7', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByText('1 of 2 passed, 1 failed').waitFor()
    await button(/^Details.*knows its sum$/).click()
    await page
      .getByRole('region', { name: 'Details: knows its sum' })
      .getByText(/AssertionError/)
      .waitFor()
    await assertAccessible(page, 'a test run')
    await page.getByRole('radio', { name: /^Passed/ }).check()
    await page.getByRole('list', { name: 'Results' }).getByText('takes an item').waitFor()

    await page.getByRole('link', { name: 'All tests' }).click()
    await page.getByRole('textbox', { name: 'Only some tests' }).fill('takes an item')
    await button(/^Run these/).click()
    await page.getByText('Done', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByRole('link', { name: 'All tests' }).click()
    await run.click()
    await page.getByText('1 of 2 passed, 1 failed').waitFor({ timeout: 60_000 })
    await page.getByRole('link', { name: 'All tests' }).click()
    // Two whole runs; the filtered one is not compared with them.
    await page.getByRole('img', { name: /^Failed tests of the last 2 runs; the newest had 1/ }).waitFor()
    await page.getByText('As a table').click()
    await page.getByRole('region', { name: 'Last runs' }).getByRole('row').nth(2).waitFor()
    await assertAccessible(page, 'history of tests')
  })

  describe('terminals', () => {
    const input = () => page.getByRole('textbox', { name: 'Terminal input' }).filter({ visible: true })
    const screen = () => page.locator('.xterm-rows').filter({ visible: true })
    const tab = (name: string) =>
      page.getByRole('list', { name: 'Terminals' }).getByRole('button', { name, exact: true })
    /** Typed once the shell has asked for it. */
    const type = async (line: string) => {
      await screen()
        .getByText(/[$#%>]/)
        .first()
        .waitFor()
      await input().focus()
      await page.keyboard.type(`${line}\n`)
    }

    it('runs a shell, which is still there after a reload', { timeout: 120_000 }, async () => {
      await open(at('terminal'))
      await page.getByText('No terminal is open').waitFor()
      await assertAccessible(page, 'no terminal')
      await page
        .getByRole('button', { name: /^(Open a terminal|Terminal with)/ })
        .first()
        .click()
      // What is looked for is printed and never typed.
      await type('echo hello-$((40+2))')
      await screen().getByText('hello-42', { exact: true }).waitFor()
      await page.waitForURL(/[?&]term=term_/)
      await assertAccessible(page, 'terminal')
      await page.reload()
      await screen().getByText('hello-42', { exact: true }).waitFor()
      await type('echo again-$((40+3))')
      await screen().getByText('again-43', { exact: true }).waitFor()
    })

    it('leaves all keys to the program but the one that leads out', { timeout: 90_000 }, async () => {
      await input().focus()
      await page.keyboard.press('Control+k')
      await page.keyboard.press('Tab')
      assert.equal(await input().evaluate((node) => node === document.activeElement), true)
      assert.equal(await dialog().count(), 0)
      await page.keyboard.press('Control+F6')
      assert.equal(await input().evaluate((node) => node === document.activeElement), false)
      await page.keyboard.press('Tab')
      assert.equal(
        await button(/^End /)
          .first()
          .evaluate((node) => node === document.activeElement),
        true,
      )
    })

    it('has keys for screens without a keyboard', { timeout: 90_000 }, async () => {
      await page.setViewportSize({ width: 390, height: 844 })
      await type('sleep 1000; echo stopped-$((40+4))')
      await screen().getByText('sleep 1000').first().waitFor()
      const keys = page.getByRole('toolbar', { name: 'Keys' })
      await keys.getByRole('button', { name: 'Ctrl' }).click()
      await page.keyboard.press('c')
      await keys.getByRole('button', { name: 'Up arrow' }).click()
      await keys.getByRole('button', { name: 'Ctrl' }).click()
      await page.keyboard.press('c')
      await page.setViewportSize({ width: 1280, height: 900 })
      await type('echo free-$((40+5))')
      await screen().getByText('free-45', { exact: true }).waitFor()
    })

    it('opens several, comes back to each as it was, and ends them', { timeout: 120_000 }, async () => {
      await button('Open a terminal').click()
      const menu = page.getByRole('menuitem', { name: /^Terminal with/ }).first()
      await menu.or(tab('bash 2')).or(tab('sh 2')).first().waitFor()
      if (await menu.isVisible()) await menu.click()
      const second = page.getByRole('list', { name: 'Terminals' }).getByRole('button', { name: / 2$/ }).first()
      await second.waitFor()
      await screen().getByText('free-45').waitFor({ state: 'detached' })
      await type('echo second-$((40+6))')
      await screen().getByText('second-46', { exact: true }).waitFor()
      await page.getByRole('list', { name: 'Terminals' }).getByRole('button', { name: / 1$/ }).first().click()
      await screen().getByText('free-45', { exact: true }).waitFor()
      for (let left = 2; left > 0; left -= 1) {
        await button(/^End /).first().click()
        await assertAccessible(page, 'end a terminal')
        await dialog().getByRole('button', { name: 'End terminal' }).click()
        await dialog().waitFor({ state: 'detached' })
      }
      await page.getByText('No terminal is open').waitFor()
      const { items } = await service.client.call('listTerminals', { params: { id: project } })
      assert.deepEqual(items, [])
    })
  })

  it('makes a webhook, shows its secret once, and what was sent to it', { timeout: 120_000 }, async () => {
    await open('/settings/webhooks')
    await page.getByText('No webhooks yet').waitFor()
    await assertAccessible(page, 'no webhooks')
    await button('New webhook').click()
    await dialog().getByLabel('Name').fill('ci')
    await dialog().getByLabel('Address').fill('http://127.0.0.1:9/hook')
    await assertAccessible(page, 'new webhook')
    await dialog().getByRole('button', { name: 'Create webhook' }).click()
    const secret = await dialog()
      .getByText(/^whsec_/)
      .textContent()
    await dialog().getByRole('button', { name: 'Done' }).click()
    await dialog().waitFor({ state: 'detached' })
    assert.ok(!(await page.content()).includes(String(secret)))
    await button('More actions for ci').click()
    await page.getByRole('menuitem', { name: 'Send a test event' }).click()
    await page.getByText('ci did not accept the test event.').waitFor()
    await assertAccessible(page, 'webhooks')
    await page.getByRole('link', { name: 'ci', exact: true }).click()
    const delivery = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem').first()
    await delivery.getByRole('button', { name: /Details of msg_/ }).click()
    await page.getByRole('region', { name: 'Payload' }).getByText('"webhook.test"').waitFor()
    await assertAccessible(page, 'deliveries')
    await page.getByRole('link', { name: 'All webhooks' }).click()
    await button('More actions for ci').click()
    await page.getByRole('menuitem', { name: 'Pause' }).click()
    await page.getByText('Paused', { exact: true }).waitFor()
    await button('More actions for ci').click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await dialog().getByRole('button', { name: 'Delete webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()
  })

  it('offers nothing to a reader that only others may do', { timeout: 90_000 }, async () => {
    const reader = { username: 'rosa', password: 'only-looking-around' }
    await makeUser(page, reader, 'read')
    await using other = await launchBrowser({ viewport: { width: 1280, height: 900 } })
    other.context.setDefaultTimeout(30_000)
    const theirs = await other.page()
    await logIn(theirs, service, reader)
    await theirs.goto(`${service.url}${at('actions')}`)
    await theirs.getByText('npm run build').first().waitFor()
    assert.equal(await theirs.getByRole('button', { name: /^Run/ }).count(), 0)
    assert.equal(await theirs.getByRole('link', { name: 'Terminal', exact: true }).count(), 0)
    await theirs.goto(`${service.url}${at('terminal')}`)
    await theirs.getByText('Your role cannot open terminals').waitFor()
  })

  it('wrote nothing into the console but what it was told to provoke', () => {
    const provoked = [`400 /api/v1/projects/${project}/logs`]
    assert.deepEqual(
      errors.filter((error) => !provoked.some((known) => normal(error) === known)),
      [],
    )
  })

  it('is at the same place when the service was killed and started again: runs and terminals went on', {
    timeout: 180_000,
  }, async () => {
    const run = await service.client.call('runAction', { params: { id: project, action: 'node.watch' } })
    const terminal = await service.client.call('createTerminal', { params: { id: project }, body: {} })
    const typed = await browser.page()
    await page.goto(`${service.url}${at('actions')}?run=${run.id}`)
    await output()
      .getByText(/^lap \d+$/)
      .first()
      .waitFor()
    await typed.goto(`${service.url}${at('terminal')}?term=${terminal.id}`)
    const rows = typed.locator('.xterm-rows')
    await rows
      .getByText(/[$#%>]/)
      .first()
      .waitFor()
    await typed.getByRole('textbox', { name: 'Terminal input' }).focus()
    await typed.keyboard.type('echo ready-$((40+8)); read answer; echo before-$((40+9))-$answer\n')
    // Keys that are on their way when a connection breaks may be lost: the shell has these.
    await rows.getByText('ready-48', { exact: true }).waitFor()
    await service.kill()
    await typed.getByText('Connection lost. The terminal keeps running; reconnecting…').waitFor()
    await page.getByText('Connection lost. The run continues; reconnecting to its output…').waitFor()
    const { length } = await output().getByText(/^lap /).all()
    assert.ok(length > 0)
    await service.start()
    await typed.getByText('Connection lost. The terminal keeps running; reconnecting…').waitFor({ state: 'detached' })
    await typed.getByRole('textbox', { name: 'Terminal input' }).focus()
    await typed.keyboard.type('after\n')
    await rows.getByText('before-49-after', { exact: true }).waitFor()
    await button('Cancel').click()
    await page.getByText('Cancelled', { exact: true }).waitFor()
    await typed.close()
    // Every lap once, and in order, whatever happened to the connection.
    const lines = await allLines(page)
    const first = lines.indexOf('lap 1')
    const laps = lines.slice(first).filter((line) => line.startsWith('lap '))
    assert.ok(first >= 0 && laps.length >= length)
    assert.deepEqual(
      laps,
      laps.map((_, index) => `lap ${index + 1}`),
    )
  })
})

/** The page asks by id, which no test knows beforehand. */
function normal(error: string): string {
  return error.replace(/\/projects\/prj_\w+\//, `/projects/${project}/`)
}

/** All lines of the output, of which only those in sight are in the document. */
async function allLines(page: Page): Promise<readonly string[]> {
  const log = page.getByRole('log', { name: 'Output' })
  const lines = new Map<number, string>()
  const height = 20
  // Without wrapping each line has the same height, so that a line is where its number says.
  await page.getByRole('button', { name: 'Wrap lines' }).click()
  await log.hover()
  await page.mouse.wheel(0, -1)
  for (let next = 0, last = 0; next <= last; next += 20) {
    await log.evaluate((node, top) => node.scrollTo({ top }), next * height)
    await until(async () => (await log.locator(`[data-index="${next}"]`).count()) > 0, `line ${next} to be drawn`)
    const drawn = await log
      .locator('[data-index]')
      .evaluateAll((rows) => rows.map((row) => [Number((row as HTMLElement).dataset.index), row.textContent] as const))
    for (const [index, text] of drawn) lines.set(index, text ?? '')
    last = (await log.evaluate((node, one) => Math.floor(node.scrollHeight / one), height)) - 1
  }
  return [...lines].sort(([one], [other]) => one - other).map(([, text]) => text)
}

/** As if the service had measured for months: minutes of a day with a gap, and before that one minute of every sixth hour. */
async function rememberUsage(file: string, id: string): Promise<void> {
  const metrics = openMetricsFile(file)
  const now = Math.floor(Date.now() / 60_000) * 60
  const pointsAt = (time: number) => {
    const wave = Math.round(3000 + 2500 * Math.sin(time / 9000))
    const node = [wave, null, 80e6 + 4000 * wave, null, 5000, 90_000, null, null, null, null, null]
    const worker = [500, null, 50 * 1024 ** 2, null, null, null, null, null, null, null, null]
    const requests = [null, null, null, null, null, null, null, null, wave, wave > 5000 ? 40 : 0, 20 * wave]
    return [
      { project: id, workload: 'node', time, values: node },
      { project: id, workload: 'worker', time, values: worker },
      { project: id, workload: '', time, values: requests },
    ]
  }
  for (let hours = 300 * 24; hours > 24; hours -= 6) metrics.write(pointsAt(now - hours * 3600))
  for (let minutes = 24 * 60; minutes > 0; minutes -= 1)
    if (minutes < 500 || minutes > 700) metrics.write(pointsAt(now - minutes * 60))
  await metrics.pack(now)
  metrics.close()
}
