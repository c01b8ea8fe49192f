import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

const execute = promisify(execFile)
const login = { username: 'grace', password: 'p4ss-w0rd-of-the-forge' }
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }

const file = `name: keeper
title: Keeper
description: Keeps keys.
versions: [{version: '8.0'}]
native:
  programs: [redis-server]
  argv: [--bind, '\${host}', --port, '\${port.main}', --dir, '\${data}']
secrets: [token]
ports: [{name: main, port: 6390}]
volumes: [{path: /data}]
credentials:
  - {label: url, value: 'redis://\${host}:\${port.main}'}
  - {label: token, value: '\${secret.token}', secret: true}
`

describe('addons, branch environments and notifications on the page', { concurrency: 1 }, () => {
  let browser: Browser
  let service: Service
  let git: GitServer
  let page: Page
  let errors: readonly string[]
  let work: string

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-page-addons-'))
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'index.html'), 'Hello\n')
    await publishRepository(join(work, 'source'), join(work, 'shop.git'))
    await execute('git', ['branch', 'feature/a-rather-long-name-that-a-phone-has-to-break'], {
      cwd: join(work, 'shop.git'),
      env,
    })
    git = await serveGit(work, login)
    service = await startService()
    const url = git.url('shop.git', `${login.username}:${login.password}`)
    await service.client.call('createProject', {
      body: { name: 'Shop', git: { url }, start: false },
      query: { wait: 60 },
    })
    ;({ browser, page, errors } = await openPage(service, 20_000))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const choose = (text: string) =>
    dialog()
      .locator('input[type=file]')
      .setInputFiles({ name: 'keeper.yml', mimeType: 'application/yaml', buffer: Buffer.from(text) })

  it('says where a file is wrong before it is added, and takes it when it is right', { timeout: 120_000 }, async () => {
    await page.getByRole('link', { name: 'Addons', exact: true }).click()
    await page.getByText('No addons yet').waitFor()
    await assertLooks(page, 'no addons')
    await page.getByRole('button', { name: 'Add addon' }).click()
    await inDialog('Begin with an example').click()
    await dialog().getByText('Adds Broker (broker), versions 2.12.').waitFor()
    await choose(file.replace('ports: [{name: main', 'portz: [{name: main'))
    await dialog().getByText('Line 9, column 1:').waitFor()
    await dialog().getByText('Unknown key "portz". Did you mean "ports"?').waitFor()
    await assertLooks(page, 'an addon with a fault')
    assert.deepEqual((await service.client.call('listAddons')).items, [])
    const editor = dialog().getByRole('textbox', { name: 'File of the addon' })
    // The word is at the begin of its line.
    await editor.getByText('portz:').dblclick({ position: { x: 16, y: 8 } })
    await page.keyboard.type('ports')
    await dialog().getByText('Adds Keeper (keeper), versions 8.0.').waitFor()
    await assertLooks(page, 'an addon that can be added')
    await inDialog('Add addon').click()
    await page.getByText('Keeper is added.').waitFor()
    await page.getByText('No project uses it.').waitFor()
  })

  it('is chosen by a project, and cannot be removed while it is', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/shop/services`)
    await page.getByRole('button', { name: 'Add Keeper' }).click()
    await dialog().getByText('Keeps all data').waitFor()
    await assertLooks(page, 'an addon in a project')
    await inDialog('Add Keeper').click()
    const card = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Keeper' }) })
      .first()
    await page.getByText('Saved.').waitFor()
    await service.client.call('startProject', { params: { id: 'shop' }, query: { wait: 60 } })
    await card.getByRole('button', { name: 'Credentials' }).click()
    await dialog().getByText('redis://').waitFor()
    await assertLooks(page, 'credentials of an addon')
    await inDialog('Done').click()

    await page.getByRole('link', { name: 'Addons', exact: true }).click()
    await page.getByRole('button', { name: 'Replace Keeper' }).click()
    await choose(file.replace('Keeps keys.', 'Keeps keys well.'))
    await dialog().getByText('Replaces Keeper (keeper), versions 8.0.').waitFor()
    await dialog().getByText('Until their next start these go on with the earlier definition: shop.').waitFor()
    await inDialog('Replace').click()
    await page.getByText('Keeps keys well.').waitFor()
    await page.getByText('(outdated until its next start)').waitFor()
    await assertLooks(page, 'addons in use')
    await page.getByRole('button', { name: 'Remove Keeper' }).click()
    await dialog().getByText('Keeper is in use').waitFor()
    assert.equal(await inDialog('Remove').count(), 0)
    await assertLooks(page, 'an addon that is in use')
    await dialog().getByRole('link', { name: 'shop' }).click()
    await page.waitForURL(/\/projects\/shop\/services/)

    const off = { addons: { keeper: { enabled: false, removeData: true } } }
    await service.client.call('updateProject', { params: { id: 'shop' }, body: off, query: { wait: 60 } })
    await page.getByRole('link', { name: 'Addons', exact: true }).click()
    await page.getByRole('button', { name: 'Remove Keeper' }).click()
    await inDialog('Remove').click()
    await page.getByText('No addons yet').waitFor()
  })

  it('makes an environment for a branch', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/shop/git`)
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Branch environments' }) })
    await panel.getByText('None yet.').waitFor()
    await assertLooks(page, 'no branch environments')
    const branch = 'feature/a-rather-long-name-that-a-phone-has-to-break'
    await panel.getByRole('textbox', { name: 'Branch' }).fill('feature/nowhere')
    await panel.getByRole('button', { name: 'Make environment' }).click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('has a branch "feature/nowhere"').waitFor({ timeout: 60_000 })
    await assertLooks(page, 'a branch that is not there')
    await page.goto(`${service.url}/projects/shop/git`)
    await panel.getByRole('textbox', { name: 'Branch' }).fill(branch)
    await panel.getByRole('button', { name: 'Make environment' }).click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
    await page.goto(`${service.url}/projects/shop/git`)
    await panel.getByRole('button', { name: `Delete ${branch}` }).waitFor()
    await panel.getByRole('link').first().waitFor()
    await assertLooks(page, 'a branch environment')
    assert.deepEqual(
      errors.filter((error) => !/^(404|422) /.test(error)),
      [],
    )
  })

  it('tells people by a channel that is added, tried and watched on the page', { timeout: 120_000 }, async () => {
    const received: string[] = []
    let status = 200
    const phone = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      received.push(body)
      response.writeHead(status).end('{"error":"unauthorized, token Atoken"}')
    }).listen(0, '127.0.0.1')
    await once(phone, 'listening')
    try {
      await page.goto(`${service.url}/settings/notifications`)
      await page.getByText('Nobody is told yet').waitFor()
      await assertLooks(page, 'no notification channels')
      await page.getByRole('button', { name: 'New channel' }).click()
      await assertLooks(page, 'a mail channel')
      await dialog().getByLabel('Kind').selectOption({ label: 'Gotify' })
      await dialog().getByLabel('Name').fill('phone')
      await dialog()
        .getByLabel('Server')
        .fill(`http://127.0.0.1:${(phone.address() as AddressInfo).port}`)
      await dialog().getByLabel('Token').fill('Atoken')
      await dialog().getByRole('switch', { name: 'Quiet hours' }).click()
      await dialog().getByLabel('Time zone').fill('Mars/Base')
      await inDialog('Add channel').click()
      await dialog().getByText('"Mars/Base" is not a time zone.').waitFor()
      await assertLooks(page, 'a channel with a fault')
      await dialog().getByLabel('Time zone').fill('Europe/Berlin')
      await inDialog('Add channel').click()
      await page.getByText('phone is added.').waitFor()
      const act = async (name: string) => {
        await page.getByRole('button', { name: 'More actions for phone' }).click()
        await page.getByRole('menuitem', { name }).click()
      }
      await act('Send a test message')
      await page.getByText('phone took the test message.').waitFor()
      assert.equal(JSON.parse(received[0]!).title, 'Test message from Stackquay')
      status = 401
      await act('Send a test message')
      await page.getByText('phone did not take the test message.').waitFor()
      await assertLooks(page, 'notification channels')
      await page.getByRole('link', { name: 'phone', exact: true }).click()
      const answers = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
      await answers.first().getByText('The receiver answered 401. {"error":"unauthorized, token [secret]"}').waitFor()
      await assertLooks(page, 'messages of a channel')
      await page.getByRole('link', { name: 'All channels' }).click()
      await act('Change…')
      await dialog().getByLabel('Minutes between messages').fill('5')
      await inDialog('Save').click()
      await dialog().waitFor({ state: 'detached' })
      await act('Remove…')
      await inDialog('Remove channel').click()
      await page.getByText('Nobody is told yet').waitFor()
    } finally {
      phone.closeAllConnections()
      phone.close()
    }
  })
})
