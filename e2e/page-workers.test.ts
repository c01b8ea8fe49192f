import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import { until } from './support/service.ts'

describe('workers and cron jobs on the page', () => {
  let open: ProjectPage
  before(async () => {
    open = await openProjectPage({ node: { server: false }, env: { GREETING: 'hello' } } as never)
    const { path } = await open.service.client.call('getProject', { params: { id: 'harbour' } })
    const packageJson = { name: 'harbour', dependencies: { bullmq: '5' }, scripts: { worker: 'node worker.mjs' } }
    await writeFile(join(path, 'package.json'), JSON.stringify(packageJson))
    await writeFile(join(path, 'worker.mjs'), 'setInterval(() => {}, 1000)\n')
    await writeFile(join(path, 'clean.mjs'), `console.log('cleaned ' + process.env.GREETING)\n`)
  })
  after(() => open?.close())

  const project = () => open.service.client.call('getProject', { params: { id: 'harbour' } })

  it('a suggestion becomes a worker; a wrong command is told at its field', { timeout: 90_000 }, async () => {
    const { page, service, dialog, inDialog } = open
    await page.goto(`${service.url}/projects/harbour/workers`)
    await page.getByText('No workers').waitFor()
    await page.getByText('BullMQ', { exact: true }).first().waitFor()
    await assertLooks(page, 'no workers')
    await page.getByRole('button', { name: 'Add… BullMQ' }).click()
    assert.equal(await dialog().getByLabel('Command').inputValue(), 'npm run worker')
    // From here on nothing is to be installed.
    await writeFile(join((await project()).path, 'package.json'), JSON.stringify({ name: 'harbour' }))
    await dialog().getByLabel('Command').fill('node worker.mjs | cat')
    await dialog().getByLabel('How many').fill('2')
    await inDialog('Save').click()
    await dialog().getByText('means something to a shell').waitFor()
    await assertLooks(page, 'worker form with a fault')
    await dialog().getByLabel('Command').fill('node worker.mjs')
    await inDialog('Save').click()
    await dialog().waitFor({ state: 'detached' })
    assert.deepEqual((await project()).workers?.queue?.command, ['node', 'worker.mjs'])
    // It had nothing to run when it was made.
    await service.client.call('startProject', { params: { id: 'harbour' }, query: { wait: 60 } })
    await page.getByText('2 of 2 running').waitFor()
  })

  it('a cron job is added with its next times shown, run by hand, and switched off', { timeout: 90_000 }, async () => {
    const { page, dialog, inDialog } = open
    await page.getByRole('button', { name: 'Add cron job' }).click()
    await dialog().getByLabel('Name').fill('nightly')
    await dialog().getByLabel('Command').fill('node clean.mjs')
    await dialog().getByLabel('Schedule').fill('30 4 * * *')
    await dialog().getByLabel('Time zone').fill('Europe/Berlin')
    await until(
      async () =>
        (await dialog()
          .getByText(/, 04:30$/)
          .count()) === 5,
      'five times',
    )
    await assertLooks(page, 'cron form')
    await inDialog('Save').click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText(/^Next: .*04:30/).waitFor()
    await page.getByText('No runs yet').waitFor()

    await page.getByRole('button', { name: 'Run now nightly' }).click()
    await page.getByText('cleaned hello').waitFor()
    await assertLooks(page, 'cron run')
    await page.getByRole('link', { name: 'All cron jobs' }).click()
    await page.getByRole('row', { name: /nightly/ }).waitFor()
    await assertLooks(page, 'workers and cron')
    await page.getByRole('switch', { name: 'nightly is on' }).click()
    await until(async () => (await project()).cron?.nightly?.enabled === false, 'it to be off')
    await page.getByRole('button', { name: 'Remove nightly' }).click()
    await inDialog('Remove').click()
    await page.getByText('No cron jobs').waitFor()
    assert.deepEqual(
      open.errors.filter((error) => !error.startsWith('422')),
      [],
    )
  })
})
