import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import { type Service, until } from './support/service.ts'

const project = 'harbour'

describe('dumps on the page', { concurrency: 1 }, () => {
  let service: Service
  let page: Page
  let errors: readonly string[]
  let dialog: ProjectPage['dialog']
  let inDialog: ProjectPage['inDialog']
  let close: ProjectPage['close'] | undefined

  before(async () => {
    ;({ service, page, errors, dialog, inDialog, close } = await openProjectPage({
      databases: { main: { type: 'mariadb' } },
    }))
  })
  after(() => close?.())

  const act = async (name: string) => {
    await page.getByRole('button', { name: 'More actions for main' }).click()
    await page.getByRole('menuitem', { name }).click()
  }

  it('imports a file after its plan, and says what of it was left out', { timeout: 90_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await act('Import…')
    await dialog()
      .getByText(/Import the dump into MariaDB main/)
      .waitFor()
    await assertLooks(page, 'import a dump')
    const dump = Buffer.from("USE other;\nCREATE TABLE ship (name text);\nINSERT INTO ship VALUES ('Ada');\n")
    await dialog().getByLabel('Dump').setInputFiles({ name: 'dump.sql', mimeType: 'application/sql', buffer: dump })
    await inDialog('Import').click()
    await dialog().getByText('USE other', { exact: true }).waitFor()
    await assertLooks(page, 'what was left out')
    await inDialog('Show the import').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  })

  it('exports it to a file that the browser saves', { timeout: 90_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await act('Export…')
    await assertLooks(page, 'export a database')
    await dialog().getByLabel('Format').selectOption('custom')
    await inDialog('Download').click()
    await dialog()
      .getByText(/is exported as sql/)
      .waitFor()
    await dialog().getByLabel('Format').selectOption('sql')
    const [download] = await Promise.all([page.waitForEvent('download'), inDialog('Download').click()])
    assert.match(download.suggestedFilename(), /^harbour-main-[\d-]+\.sql\.gz$/)
    assert.match(gunzipSync(await readFile(await download.path())).toString(), /INSERT INTO `ship` VALUES/)
  })

  it('replaces what is there after the name was typed', { timeout: 90_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await act('Import…')
    await dialog().getByRole('radio', { name: 'Replace what is there' }).check()
    const buffer = Buffer.from('CREATE TABLE quay (name text);\n')
    await dialog().getByLabel('Dump').setInputFiles({ name: 'dump.sql', mimeType: 'application/sql', buffer })
    await until(() => inDialog('Import').isDisabled(), 'the name to be asked for')
    await dialog().getByLabel('Type main to confirm').fill('main')
    await inDialog('Import').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  })

  it('has caused no error in the console', () => {
    // The browser names each refusal, and one was asked for.
    assert.deepEqual(
      errors.filter((text) => !/^422 \/api\/v1\/projects\/[^/]+\/databases\/main\/export/.test(text)),
      [],
    )
  })
})
