import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import { type Service, until } from './support/service.ts'

const project = 'harbour'

describe('the version of a database on the page', { concurrency: 1 }, () => {
  let service: Service
  let page: Page
  let errors: readonly string[]
  let dialog: ProjectPage['dialog']
  let close: ProjectPage['close'] | undefined

  before(async () => {
    ;({ service, page, errors, dialog, close } = await openProjectPage({
      databases: { main: { type: 'postgresql', version: '15' } },
    }))
  })
  after(() => close?.())

  const apply = () => dialog().getByRole('button', { name: 'Apply', exact: true })
  const choose = async (version: string) => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByRole('button', { name: 'Change main' }).click()
    await dialog().getByLabel('Version').selectOption(version)
  }
  const versionIs = (version: string) =>
    until(
      async () => {
        const { databases, operation } = await service.client.call('getProject', { params: { id: project } })
        return operation === null && databases.main?.version === version
      },
      `version ${version}`,
      120_000,
    )

  it('is changed after its plan', { timeout: 200_000 }, async () => {
    await choose('18')
    await dialog().getByText('Write the data of PostgreSQL 15 anew as PostgreSQL 18, and compare both').waitFor()
    await assertLooks(page, 'upgrade a database')
    await apply().click()
    await versionIs('18')
  })

  it('goes back after the name was typed, because later writes are lost', { timeout: 200_000 }, async () => {
    await choose('15')
    await dialog().getByText('Deletes data: postgresql-main').waitFor()
    assert.equal(await apply().isDisabled(), true)
    await assertLooks(page, 'back to an earlier version')
    await dialog().getByLabel('Type main to confirm').fill('main')
    await apply().click()
    await versionIs('15')
    // The browser names the refusal that asks for the word.
    assert.deepEqual(
      errors.filter((text) => !/^422 \/api\/v1\/projects\/[^/]+\/databases\/main/.test(text)),
      [],
    )
  })
})
