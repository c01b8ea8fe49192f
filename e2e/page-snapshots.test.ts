import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import type { Service } from './support/service.ts'

const project = 'harbour'

describe('snapshots and clones on the page', { concurrency: 1 }, () => {
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

  const act = async (name: string) => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByRole('button', { name: 'More actions for main', exact: true }).click()
    await page.getByRole('menuitem', { name }).click()
  }

  it('makes one after its plan, lists it, and puts the database back to it', { timeout: 120_000 }, async () => {
    await act('Snapshots…')
    await dialog().getByText('No snapshots yet.').waitFor()
    await dialog()
      .getByText(/Copy the data of PostgreSQL main while it runs/)
      .waitFor()
    await dialog().getByLabel('Name').fill('before-the-upgrade')
    await inDialog('Make snapshot').click()
    await inDialog('Restore before-the-upgrade').waitFor({ timeout: 60_000 })
    await assertLooks(page, 'snapshots of a database')
    await inDialog('Restore before-the-upgrade').click()
    await dialog()
      .getByText(/Keep PostgreSQL main as a snapshot/)
      .waitFor()
    await assertLooks(page, 'restore a snapshot')
    await dialog().getByRole('textbox').fill('main')
    await inDialog('Restore').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  })

  it('clones a database from one, and deletes it', { timeout: 120_000 }, async () => {
    await act('Snapshots…')
    await inDialog('Clone from before-the-upgrade').click()
    await dialog()
      .getByText(/Add the database main_copy/)
      .waitFor()
    await assertLooks(page, 'clone a database')
    await inDialog('Clone').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
    const { databases } = await service.client.call('getProject', { params: { id: project } })
    assert.deepEqual(Object.keys(databases), ['main', 'main_copy'])

    await act('Snapshots…')
    await inDialog('Delete before-the-upgrade').click()
    await inDialog('Delete').click()
    await dialog().getByText('before-the-upgrade').waitFor({ state: 'detached' })
    const { items } = await service.client.call('listSnapshots', { params: { id: project, db: 'main' } })
    assert.deepEqual(
      items.map(({ source }) => source),
      ['before-restore'],
    )
    assert.deepEqual(errors, [])
  })
})
