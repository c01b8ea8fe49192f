import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

describe('the trash on the page', () => {
  let browser: Browser
  let service: Service
  let page: Page

  before(async () => {
    service = await startService()
    const databases: object = { main: { type: 'postgresql' } }
    const made = await service.client.call('createProject', {
      body: { name: 'Shop', ...Object.fromEntries([['redis', {}]]), databases: databases as never, start: true },
      query: { wait: 120 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    ;({ browser, page } = await openPage(service, 20_000))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole('dialog')
  const state = async () => (await service.client.call('listProjects', { query: {} })).items.map(({ slug }) => slug)

  it('a deletion says until when its data lies there, and what frees disk now', { timeout: 90_000 }, async () => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${service.url}/settings/trash`)
    await page.getByText('The trash is empty').waitFor()
    await assertLooks(page, 'empty trash')
    await service.client.call('deleteDatabase', {
      params: { id: 'shop', db: 'main' },
      query: { confirm: 'main', wait: 60 },
    })
    // Without a reload: the page hears of it.
    await page.getByText('Database main of Shop').waitFor()

    await page.goto(`${service.url}/projects/shop/settings`)
    await page.getByRole('button', { name: 'Delete project…' }).click()
    await dialog().getByText('Settings and secrets can be restored from the trash until').waitFor()
    await dialog().getByLabel('Also delete the data of its databases and services').click()
    await dialog().getByText('Moves data to the trash until').waitFor()
    await assertLooks(page, 'delete a project with its data')
    await dialog().getByLabel('Delete for good, past the trash').click()
    await dialog().getByText('Deletes data: redis').waitFor()
    await dialog().getByLabel('Delete for good, past the trash').click()
    await dialog().getByText('Moves data to the trash until').waitFor()
    await dialog().getByRole('textbox').fill('shop')
    await dialog().getByRole('button', { name: 'Delete project and data' }).click()
    await page.getByText('Shop is being deleted.').waitFor()
  })

  it('lists what lies there, restores a project, and deletes for good when the name was typed', {
    timeout: 90_000,
  }, async () => {
    await page.goto(`${service.url}/settings/trash`)
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor()
    await page.getByText('its project was deleted too: restore that first').waitFor()
    await assertLooks(page, 'trash')
    await page.getByRole('button', { name: 'Restore Shop', exact: true }).click()
    await dialog().getByLabel('Short name').waitFor()
    await assertLooks(page, 'restore a project')
    await dialog().getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText('Shop is restored.').waitFor()
    assert.deepEqual(await state(), ['shop'])

    await page.getByRole('button', { name: 'Delete for good: Database main of Shop' }).click()
    const submit = dialog().getByRole('button', { name: 'Delete for good', exact: true })
    await submit.waitFor()
    assert.equal(await submit.isEnabled(), false)
    await assertLooks(page, 'delete from the trash for good')
    await dialog().getByRole('textbox').fill('main')
    await submit.click()
    await page.getByText('The trash is empty').waitFor()
    assert.deepEqual((await service.client.call('listTrash', {})).items, [])
  })
})
