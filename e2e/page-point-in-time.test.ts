import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { waitFor } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import type { Service } from './support/service.ts'

const project = 'harbour'

describe('restores to a time on the page', { concurrency: 1 }, () => {
  let service: Service
  let page: Page
  let errors: readonly string[]
  let dialog: ProjectPage['dialog']
  let inDialog: ProjectPage['inDialog']
  let close: ProjectPage['close'] | undefined

  before(async () => {
    ;({ service, page, errors, dialog, inDialog, close } = await openProjectPage({
      databases: { main: { type: 'postgresql' } },
    }))
  })
  after(() => close?.())

  const open = async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByRole('button', { name: 'More actions for main', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Restore to a time…' }).click()
  }
  const moments = () => service.client.call('getPointInTime', { params: { id: project, db: 'main' } })

  it('says how it is switched on, and that is a setting of the database', { timeout: 120_000 }, async () => {
    await open()
    await dialog()
      .getByText(/Its changes are not kept/)
      .waitFor()
    await assertLooks(page, 'restore to a time that is off')
    await inDialog('Close').last().click()
    await page.getByRole('button', { name: 'Change main', exact: true }).click()
    await dialog().getByRole('switch', { name: 'Restore to a time' }).click()
    await dialog().getByText(/main/).first().waitFor()
    await assertLooks(page, 'change a database')
    await inDialog('Apply').click()
    await waitFor('a base', async () => (await moments()).state === 'ready', { timeoutMs: 60_000 })
  })

  it('restores to a moment after its plan, and the new one names its past', { timeout: 120_000 }, async () => {
    await waitFor('a whole second', async () => {
      const [range] = (await moments()).ranges
      return range !== undefined && Date.parse(range.to) - Date.parse(range.from) > 3000
    })
    await open()
    await dialog().getByText('Can be restored').waitFor()
    await dialog()
      .getByText(/Add the database main_then/)
      .waitFor()
    await assertLooks(page, 'restore to a time')
    await inDialog('Restore').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByText(/main as it was at/).waitFor()
    await assertLooks(page, 'a restored database')
    assert.deepEqual(errors, [])
    await open()
    await dialog().getByLabel('Time').fill('2001-01-01T10:00:00')
    await dialog()
      .getByText(/cannot be restored/)
      .waitFor()
    await assertLooks(page, 'a time that cannot be restored')
  })
})
