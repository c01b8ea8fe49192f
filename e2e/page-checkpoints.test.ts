import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

const project = 'harbour'

describe('checkpoints on the page', { concurrency: 1 }, () => {
  let browser: Browser
  let service: Service
  let page: Page
  let errors: readonly string[]

  before(async () => {
    service = await startService()
    ;({ browser, page, errors } = await openPage(service, 20_000))
    const body = { name: 'Harbour', databases: { main: { type: 'postgresql' } }, env: { COLOUR: 'blue' } }
    const made = await service.client.call('createProject', { body, query: { wait: 90 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const backups = () => page.goto(`${service.url}/projects/${project}/backups`)
  const done = async () => {
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  }

  it('makes one after its plan, lists it, and puts the project back to it', { timeout: 180_000 }, async () => {
    await backups()
    await page.getByText('No checkpoints yet.').waitFor()
    await page.getByRole('button', { name: 'Make checkpoint', exact: true }).click()
    await dialog().getByText('Copy the source folder').waitFor()
    await dialog().getByLabel('Name').fill('before the upgrade')
    await assertLooks(page, 'make a checkpoint')
    await inDialog('Make checkpoint').click()
    await done()
    await assertLooks(page, 'a checkpoint was made')
    await service.client.call('updateProject', {
      params: { id: project },
      body: { env: { COLOUR: 'red' } },
      query: { wait: 60 },
    })

    await backups()
    await page.getByRole('button', { name: 'Restore before the upgrade', exact: true }).click()
    await dialog()
      .getByText(/Keep what is there now as a checkpoint/)
      .waitFor()
    await dialog()
      .getByText(/COLOUR/)
      .first()
      .waitFor()
    await assertLooks(page, 'restore a checkpoint')
    await dialog().getByRole('textbox').fill(project)
    await inDialog('Restore').click()
    await done()
    const { env } = await service.client.call('getProject', { params: { id: project } })
    assert.equal(env.COLOUR?.value, 'blue')
  })

  it('shows what a restore replaced, and deletes one', { timeout: 60_000 }, async () => {
    await backups()
    await page.getByText(/before a restore/).waitFor()
    await assertLooks(page, 'checkpoints of a project')
    await page.getByRole('button', { name: 'Delete before the upgrade', exact: true }).click()
    await inDialog('Delete').click()
    await page.getByText('before the upgrade', { exact: true }).waitFor({ state: 'detached' })
    const { items } = await service.client.call('listCheckpoints', { params: { id: project } })
    assert.deepEqual(
      items.map(({ source }) => source),
      ['before-restore'],
    )
    assert.deepEqual(errors, [])
  })
})
