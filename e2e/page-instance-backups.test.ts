import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

describe('backups of the instance on the page', () => {
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
