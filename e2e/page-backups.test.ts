import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService, until } from './support/service.ts'

const project = 'harbour'

describe('backups on the page', () => {
  let browser: Browser
  let service: Service
  let page: Page
  let errors: readonly string[]

  before(async () => {
    service = await startService()
    ;({ browser, page, errors } = await openPage(service, 20_000))
    const body = { name: 'Harbour', template: 'static', redis: { enabled: true } }
    const made = await service.client.call('createProject', { body: body as never, query: { wait: 90 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const backups = async () => (await service.client.call('listBackups', { params: { id: project } })).items
  const act = async (name: string) => {
    await page
      .getByRole('button', { name: /^More actions for the backup of/ })
      .first()
      .click()
    await page.getByRole('menuitem', { name }).click()
  }
  const looked = (screen: string) => assertLooks(page, screen)

  it('makes one after its plan, and shows its parts', { timeout: 90_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/backups`)
    await page.getByText('No backups yet').waitFor()
    await looked('no backups')
    await page.getByRole('button', { name: 'Back up now' }).click()
    await dialog().getByText('Copy Redis while it runs').waitFor()
    await dialog().getByLabel('Note').fill('Before the storm')
    await looked('make a backup')
    await inDialog('Back up').click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('Before the storm').waitFor()
    await page.getByText('Not verified', { exact: true }).waitFor()
    await page.locator('main li button[aria-controls]').first().click()
    await page.getByText('service:redis', { exact: true }).waitFor()
    await page.getByText('Online', { exact: true }).waitFor()
    await looked('a backup')
  })

  it('verifies it, and says what was checked', { timeout: 90_000 }, async () => {
    await page.getByRole('button', { name: /^Verify the backup of/ }).click()
    await page.getByText(/^Verified /).waitFor({ timeout: 60_000 })
    await page.getByText(/Restored into a test environment/).waitFor()
    await looked('a verified backup')
    assert.equal((await backups())[0]?.verified?.outcome, 'whole')
  })

  it('is made by schedule when that was set, and not when it was turned off', { timeout: 60_000 }, async () => {
    const offsite = await mkdtemp(join(tmpdir(), 'stackquay-cellar-'))
    const body = { name: 'Cellar', folder: { path: offsite } }
    const target = await service.client.call('createBackupTarget', { body })
    const schedule = async () => (await service.client.call('getBackupSchedule', { params: { id: project } })).schedule
    await page.getByText('No schedule.').waitFor()
    await page.getByRole('button', { name: 'Set a schedule' }).click()
    await dialog().getByLabel('When').selectOption('Another time…')
    await dialog().getByLabel('Cron expression').fill('0 0 31 2 *')
    await dialog().getByLabel('Time zone').fill('Europe/Berlin')
    await inDialog('Save').click()
    await dialog().getByText('names no time in the next five years').waitFor()
    await looked('a schedule that never comes')
    await dialog().getByLabel('When').selectOption('Every night at 02:30')
    await dialog().getByLabel('Weeks').fill('9')
    await dialog().getByLabel('Cellar').check()
    await dialog().getByLabel('Delete old copies there').check()
    await dialog().getByRole('group', { name: 'Keep there' }).getByLabel('Months').fill('12')
    await looked('a schedule with a target')
    await inDialog('Save').click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('Keeps the newest 7').waitFor()
    await page.getByText('Copies of the newest: Cellar (none yet)').waitFor()
    await looked('a schedule')
    await page.getByText('kept there: the newest 7').waitFor()
    const { cron, timezone, keep, targets, keepOnTargets } = (await schedule())!
    assert.deepEqual([cron, timezone, keep.weekly, targets], ['30 2 * * *', 'Europe/Berlin', 9, [target.id]])
    assert.equal(keepOnTargets?.monthly, 12)
    await page.getByRole('button', { name: 'Turn off' }).click()
    await inDialog('Turn off').click()
    await page.getByText('No schedule.').waitFor()
    assert.equal(await schedule(), null)
    await service.client.call('deleteBackupTarget', { params: { target: target.id } })
    await rm(offsite, { recursive: true })
  })

  it('warns of a schedule that is late, and of copies that do not come or do not go', { timeout: 60_000 }, async () => {
    const offsite = await mkdtemp(join(tmpdir(), 'stackquay-attic-'))
    const body = { name: 'Attic of the harbour master’s office', folder: { path: offsite } }
    const target = await service.client.call('createBackupTarget', { body })
    const put = { cron: '0 3 * * *', timezone: 'Europe/Berlin', targets: [target.id] }
    await service.client.call('putBackupSchedule', { params: { id: project }, body: { ...put, verify: 'never' } })
    await page.goto('about:blank')
    // As after nights on which no backup was made and the target refused: set back, the service tells it by itself.
    await service.stop()
    setBack(service.home)
    await service.start()
    await page.goto(`${service.url}/projects/${project}/backups`)
    const warning = page.getByRole('status').filter({ hasText: 'No new backup has come to Attic' })
    await warning.waitFor()
    await warning.getByText(/Old copies on Attic of the harbour master’s office could not be deleted/).waitFor()
    await looked('a schedule that is late')
    await service.client.call('deleteBackupSchedule', { params: { id: project } })
    await until(async () => {
      const { items } = await service.client.call('listOperations', { query: { limit: 20 } })
      return items.every(({ state }) => state !== 'running' && state !== 'queued')
    }, 'the end of what the schedule began')
    for (const { source, id } of await backups())
      if (source === 'schedule') await service.client.call('deleteAnyBackup', { params: { backup: id } })
    await service.client.call('deleteBackupTarget', { params: { target: target.id } })
    await rm(offsite, { recursive: true })
  })

  it('backs the instance up by schedule, and deletes a copy of it with its word typed', {
    timeout: 90_000,
  }, async () => {
    const offsite = await mkdtemp(join(tmpdir(), 'stackquay-vault-'))
    const target = await service.client.call('createBackupTarget', {
      body: { name: 'Vault', folder: { path: offsite } },
    })
    await page.goto(`${service.url}/settings/backups`)
    await page.getByText('A copy of this service’s own state on a target').waitFor()
    await page.getByRole('button', { name: 'Set a schedule' }).click()
    assert.equal(await dialog().getByText('Verify one a week').count(), 0)
    await dialog().getByLabel('Vault').check()
    await looked('a schedule of the instance')
    await inDialog('Save').click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('Copies of the newest: Vault (none yet)').waitFor()
    const { schedule } = await service.client.call('getInstanceBackupSchedule', {})
    assert.deepEqual(schedule?.targets, [target.id])
    const made = await service.client.call('createInstanceBackup', { body: { note: 'Before the storm' } })
    const input = { params: { backup: made.id }, body: { target: target.id }, query: { wait: 60 } }
    await service.client.call('copyInstanceBackup', input)
    await page.getByText(/^Copies: Vault \(complete, /).waitFor()
    await looked('backups of the instance')
    await page.getByRole('button', { name: 'More actions for Vault' }).click()
    await page.getByRole('menuitem', { name: 'Show backups' }).click()
    await dialog().getByText('The instance itself').waitFor()
    await looked('a backup of the instance on a target')
    await dialog()
      .getByRole('button', { name: /^Delete the copy of the instance itself/ })
      .click()
    const confirm = page.getByRole('dialog').last()
    await confirm.getByLabel('Type delete to confirm').fill('delete')
    await looked('delete a copy')
    await confirm.getByRole('button', { name: 'Delete copy' }).click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Delete the copy on Vault').waitFor()
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
    assert.deepEqual((await service.client.call('listTargetBackups', { params: { target: target.id } })).items, [])
    await service.client.call('deleteInstanceBackupSchedule', {})
    await service.client.call('deleteInstanceBackup', { params: { backup: made.id } })
    await service.client.call('deleteBackupTarget', { params: { target: target.id } })
    await rm(offsite, { recursive: true })
  })

  it('adds a target, copies to it, and fetches from it', { timeout: 180_000 }, async () => {
    const path = await mkdtemp(join(tmpdir(), 'stackquay-offsite-'))
    try {
      await page.goto(`${service.url}/settings/backups`)
      await page.getByText('No targets yet').waitFor()
      await page.getByRole('button', { name: 'Add target' }).click()
      await dialog().getByLabel('Name').fill('Offsite')
      await dialog().getByLabel('Folder', { exact: true }).fill(join(path, 'none'))
      await looked('add a target')
      await inDialog('Add target').click()
      await dialog()
        .getByText(/There is no folder/)
        .waitFor()
      await dialog().getByLabel('Folder', { exact: true }).fill(path)
      await inDialog('Add target').click()
      await page.getByText(/^([0-9a-z]{4}-){7}[0-9a-z]{4}$/).waitFor({ timeout: 60_000 })
      await looked('the passphrase of a target')
      await inDialog('Done').click()
      await act('Copy to a target…')
      await inDialog('Copy').click()
      await page.waitForURL(/\/operations\//)
      await page.getByRole('heading', { name: /^(Copy|Copying) a backup/ }).waitFor()
      await page.getByText('Copy the backup to Offsite').waitFor()
      await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
      await looked('a copy')
      await page.goto(`${service.url}/settings/backups`)
      await page.getByText(/^Copies: Offsite \(complete, /).waitFor()
      await looked('targets')
      await page.getByRole('button', { name: 'More actions for Offsite' }).click()
      await page.getByRole('menuitem', { name: 'Check' }).click()
      await page.getByText('Offsite keeps what is written, and gives it back.').waitFor()
      const [backup] = await backups()
      await service.client.call('deleteAnyBackup', { params: { backup: backup!.id } })
      await page.getByRole('button', { name: 'More actions for Offsite' }).click()
      await page.getByRole('menuitem', { name: 'Show backups' }).click()
      await dialog().getByText('Before the storm').waitFor()
      await looked('backups on a target')
      await dialog()
        .getByRole('button', { name: /^Fetch the backup of Harbour/ })
        .click()
      await page.waitForURL(/\/operations\//)
      await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
      assert.deepEqual(
        (await backups()).map(({ id }) => id),
        [backup!.id],
      )
      await page.goto(`${service.url}/activity`)
      await page.getByRole('link', { name: 'Copy a backup' }).first().waitFor()
      await page.goto(`${service.url}/projects/${project}/backups`)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })

  it('restores after its plan and the name typed, and keeps what was replaced', { timeout: 90_000 }, async () => {
    await act('Restore…')
    await dialog()
      .getByText(/service:redis|Put Redis back|Redis/)
      .first()
      .waitFor()
    const submit = inDialog('Restore')
    await until(() => submit.isDisabled(), 'the name to be asked for')
    await looked('restore')
    await dialog().getByLabel(`Type ${project} to confirm`).fill(project)
    await submit.click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
    assert.deepEqual(
      (await backups()).map(({ source }) => source),
      ['before-restore', 'upload'],
    )
  })

  it('keeps those of a deleted project, and makes a new one of them', { timeout: 90_000 }, async () => {
    const query = { confirm: project, data: 'delete', wait: 60 } as const
    await service.client.call('deleteProject', { params: { id: project }, query })
    await page.goto(`${service.url}/settings/backups`)
    await page.getByText('Harbour (deleted)').first().waitFor()
    await looked('all backups')
    await act('Restore as new project…')
    await until(async () => inDialog('Create project').isEnabled(), 'the plan')
    await looked('restore as a new project')
    await inDialog('Create project').click()
    await page.waitForURL(/\/operations\//)
    await page.getByText('Done', { exact: true }).first().waitFor({ timeout: 60_000 })
  })

  it('has caused no error in the console', () => {
    // The deleted project was asked for once more while its page was left; a schedule that never comes and a folder that is not there were refused.
    const expected =
      /^(404 \/api\/v1\/projects\/prj_|422 \/api\/v1\/(backup-targets|projects\/prj_\w+\/backup-schedule)$)/
    const others = errors.filter((text) => !expected.test(text))
    assert.deepEqual(others, [])
  })
})

/** Some days without a backup, in the one schedule that there is; up to now, so that none is made when the service starts. */
function setBack(home: string): void {
  const database = new DatabaseSync(join(home, 'stackquay.db'))
  try {
    const { targets } = database.prepare('SELECT targets FROM backup_schedules').get() as { targets: string }
    const then = new Date(Date.now() - 5 * 86_400_000).toISOString()
    const late = (JSON.parse(targets) as object[]).map((one) => ({
      ...one,
      setAt: then,
      keepProblem: 'The backup target refuses.',
    }))
    database
      .prepare('UPDATE backup_schedules SET times_set_at = ?, keep_set_at = ?, counts_from = ?, targets = ?')
      .run(then, then, new Date().toISOString(), JSON.stringify(late))
  } finally {
    database.close()
  }
}
