import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { admin, type Service, startService } from './support/service.ts'

describe('the instance on the page: its settings and its backups', () => {
  let browser: Browser
  let service: Service
  let page: Page

  before(async () => {
    service = await startService()
    ;({ browser, page } = await openPage(service, 20_000))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole('dialog')
  const slugs = async () => (await service.client.call('listProjects', { query: {} })).items.map(({ slug }) => slug)

  it('shows where settings come from, changes them, asks for the password where it must, and keeps registries', {
    timeout: 90_000,
  }, async () => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${service.url}/settings/general`)
    // The service of this test is started with its addresses.
    assert.equal(await page.getByLabel('Listen address').isEnabled(), false)
    await page.getByText('Set by STACKQUAY_LISTEN where the service is started.').waitFor()
    await page.getByLabel('Trash (days)').fill('7')
    await page.getByLabel('Public URL').fill('https://quay.example.org')
    await page.getByLabel('Image map').fill('redis:8')
    await page.getByLabel('Trusted proxies').fill('10.1.2.3\n10.2.0.0/16')
    await page.getByText(/A change of Public URL.* Trusted proxies reaches further/).waitFor()
    await page.getByLabel('Receiver of logs').fill('syslog://127.0.0.1')
    await page.getByLabel('Your password').fill(admin.password)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('"redis:8" says not what takes its place').waitFor()
    await page.getByText('It must begin with otlp+https://').waitFor()
    await assertLooks(page, 'settings of the instance, with a fault')
    await page.getByLabel('Image map').fill('redis:8=valkey/valkey:9')
    await page.getByLabel('Receiver of logs').fill('syslog+tcp://127.0.0.1:9')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Settings saved.').waitFor()
    await page.getByText('in use after the next restart of the service: Public URL.').waitFor()
    const { items } = await service.client.call('getSettings', {})
    const stored = items.filter(({ source }) => source === 'stored').map(({ key, value }) => [key, value])
    assert.deepEqual(Object.fromEntries(stored), {
      ...{ publicUrl: 'https://quay.example.org', trustedProxies: ['10.1.2.3', '10.2.0.0/16'] },
      ...{ imageMap: ['redis:8=valkey/valkey:9'], trashDays: 7 },
      logExportUrl: 'syslog+tcp://127.0.0.1:9',
    })
    await page.getByRole('button', { name: 'Add registry' }).click()
    await dialog().getByLabel('Host').fill('ghcr.io')
    await dialog().getByLabel('User name').fill('ada')
    await dialog().getByLabel('Password or token').fill('of the registry')
    await dialog().getByRole('button', { name: 'Add registry' }).click()
    await page.getByRole('cell', { name: 'ghcr.io', exact: true }).waitFor()
    await assertLooks(page, 'settings of the instance')
    await page.getByRole('button', { name: 'Remove the login of ghcr.io' }).click()
    await dialog().getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No registry has a login').waitFor()
    await page.getByRole('button', { name: 'Use the default of Public URL' }).click()
    await page.getByLabel('Your password').fill(admin.password)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('in use after the next restart').waitFor({ state: 'detached' })
  })

  it('makes one, restores it after saying what that means, and then asks for the password', {
    timeout: 90_000,
  }, async () => {
    // The page that follows the log-in is there: no navigation of its own is under way.
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${service.url}/settings/backups`)
    await page.getByText('None yet. One is made by itself').waitFor()
    await page.getByRole('button', { name: 'Back up instance' }).click()
    await page.getByText(/0 projects, 1 user/).waitFor()
    await assertLooks(page, 'backups of the instance')
    await service.client.call('createProject', { body: { name: 'Later', template: 'static', start: false } })

    await page.getByRole('button', { name: /^More actions for the backup of the instance/ }).click()
    await page.getByRole('menuitem', { name: 'Restore…' }).click()
    await dialog().getByText('Everybody is logged out.').waitFor()
    await assertLooks(page, 'restore the instance')
    const submit = dialog().getByRole('button', { name: 'Restore instance' })
    assert.equal(await submit.isEnabled(), false)
    await dialog().getByRole('textbox').fill('restore')
    await submit.click()
    await page.getByLabel('Password').waitFor({ timeout: 60_000 })
    assert.deepEqual(await slugs(), [])
  })
})
