import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import type { Service } from './support/service.ts'

const project = 'harbour'

describe('checkpoints on the page', { concurrency: 1 }, () => {
  let service: Service
  let page: Page
  let errors: readonly string[]
  let dialog: ProjectPage['dialog']
  let inDialog: ProjectPage['inDialog']
  let close: ProjectPage['close'] | undefined

  before(async () => {
    ;({ service, page, errors, dialog, inDialog, close } = await openProjectPage({
      databases: { main: { type: 'postgresql' } },
      env: { COLOUR: 'blue' },
    }))
  })
  after(() => close?.())

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
