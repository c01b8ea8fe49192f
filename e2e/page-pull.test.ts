import assert from 'node:assert/strict'
import { lchown, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readHostKey } from '@stackquay/targets'
import { type Browser, type SftpServer, startSftpServer } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

const project = 'harbour'

describe('seeds and pulls on the page', { concurrency: 1 }, () => {
  let browser: Browser
  let service: Service
  let page: Page
  let errors: readonly string[]
  let remote: SftpServer
  let source: string

  before(async () => {
    ;[service, remote] = await Promise.all([startService(), startSftpServer()])
    ;({ browser, page, errors } = await openPage(service, 20_000))
    const databases = { main: { type: 'postgresql', seed: 'seed.sql' } }
    const body = { name: 'Harbour', databases, start: false }
    const made = await service.client.call('createProject', { body, query: { wait: 90 } })
    source = made.path
    await writeFile(join(source, 'seed.sql'), 'CREATE TABLE seeded (n int);')
    await mkdir(join(source, 'storage'))
    const { uid, gid } = await stat(source)
    await lchown(join(source, 'storage'), uid, gid)
    await writeFile(join(remote.path, 'theirs.txt'), 'theirs')
    const production = {
      from: `ssh://${remote.user}@127.0.0.1:${remote.port}`,
      key: 'DEPLOY_KEY',
      hostKey: await readHostKey(remote),
      databases: { main: { command: ['echo', 'CREATE TABLE pulled (n int);'] } },
      files: { 'storage/app': remote.path },
    }
    const change = { pull: { production }, env: { DEPLOY_KEY: { value: remote.privateKey, secret: true } } }
    await service.client.call('updateProject', { params: { id: project }, body: change, query: { wait: 60 } })
    await service.client.call('startProject', { params: { id: project }, query: { wait: 90 } })
  })
  after(async () => {
    await browser?.close()
    await Promise.all([service?.close(), remote?.[Symbol.asyncDispose]()])
  })

  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const done = async () => {
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  }

  it('resets a database after its plan and its name', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByText('seed seed.sql').waitFor()
    await assertLooks(page, 'databases with a source to pull from')
    await page.getByRole('button', { name: 'More actions for main', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Reset…' }).click()
    await dialog().getByText('Fill PostgreSQL main from seed.sql').waitFor()
    await assertLooks(page, 'reset a database')
    await dialog().getByRole('textbox').fill('main')
    await inDialog('Reset').click()
    await done()
  })

  it('pulls after a plan with what is fetched, and only the parts that are chosen', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByRole('button', { name: 'Pull from production', exact: true }).click()
    await dialog().getByText('Fetch PostgreSQL main from production').waitFor()
    await dialog().getByText('Fetch storage/app from production').waitFor()
    await assertLooks(page, 'pull')
    await dialog().getByRole('checkbox', { name: 'main' }).uncheck()
    await dialog().getByText('Fetch PostgreSQL main from production').waitFor({ state: 'detached' })
    await dialog().getByRole('textbox').fill(project)
    await inDialog('Pull').click()
    await done()
    assert.equal(await readFile(join(source, 'storage', 'app', 'theirs.txt'), 'utf8'), 'theirs')
    const { items } = await service.client.call('listSnapshots', { params: { id: project, db: 'main' } })
    assert.deepEqual(
      items.map(({ source: made }) => made),
      ['before-reset'],
    )
    assert.deepEqual(errors, [])
  })
})
