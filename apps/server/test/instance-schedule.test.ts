import assert from 'node:assert/strict'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type {
  BackupTarget,
  DiagnosticCheck,
  InstanceBackup,
  InstanceBackupScheduleState,
  OperationRecord,
  Problem,
  TargetBackup,
} from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'
import { newFolder } from './schedule-targets-support.ts'
import { audited, setAndWake, testClock, wake } from './schedules-support.ts'

const path = '/instance/backup-schedule'
const keep = { last: 2, daily: 0, weekly: 0, monthly: 0 }
const nightly = { cron: '30 2 * * *', keep }
const key = '11'.repeat(32)
const env = { STACKQUAY_SECRET_KEY: key }

async function addFolder({ ask }: Pick<TestApp, 'ask'>, folder: string, more: object = {}) {
  const made = await ask<BackupTarget & { readonly recoveryPassphrase: string | null }>('POST', '/backup-targets', {
    name: 'Offsite',
    folder: { path: folder },
    ...more,
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

async function openAt(t: TestContext, time: string, settings: Readonly<Record<string, string>> = {}) {
  const clock = testClock(time)
  const app = await openTestApp(t, { now: clock.now, env: settings })
  return { app, clock }
}

async function set({ ask }: TestApp, body: object): Promise<Schedule> {
  const put = await ask<InstanceBackupScheduleState>('PUT', path, body)
  assert.equal(put.status, 200, JSON.stringify(put.body))
  return put.body.schedule!
}

type Schedule = NonNullable<InstanceBackupScheduleState['schedule']>

const scheduleOf = async ({ ask }: TestApp) => (await ask<InstanceBackupScheduleState>('GET', path)).body.schedule!

async function daysOf({ ask }: TestApp): Promise<readonly string[]> {
  const { body } = await ask<{ items: InstanceBackup[] }>('GET', '/instance/backups')
  return body.items
    .filter(({ source }) => source === 'schedule')
    .map(({ createdAt }) => createdAt.slice(5, 10))
    .reverse()
}

async function untilDays(app: TestApp, days: readonly string[]): Promise<void> {
  let seen: readonly string[] = []
  await waitFor(`backups of ${days}`, async () => {
    seen = await daysOf(app)
    const isQuiet = (await app.store.operations.unfinished()).length === 0
    return JSON.stringify(seen) === JSON.stringify(days) && isQuiet
  }).catch((error: unknown) => assert.deepEqual(seen, days, String(error)))
}

async function onTarget({ ask }: Pick<TestApp, 'ask'>, { id }: Pick<BackupTarget, 'id'>) {
  return (await ask<{ items: TargetBackup[] }>('GET', `/backup-targets/${id}/backups`)).body.items
}

const checkOf = async ({ ask }: TestApp, id: string) =>
  (await ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')).body.checks.filter((one) => one.id === id)

test('the instance is backed up at its time, once, kept by number and copied to its targets, in the name of the service', async (t) => {
  const { app, clock } = await openAt(t, '2026-05-01T02:29:59.900Z')
  const target = await addFolder(app, await newFolder(t))
  assert.deepEqual((await app.ask(`GET`, path)).body, { schedule: null })
  const first = await set(app, { ...nightly, targets: [target.id] })
  assert.deepEqual([first.nextAt, first.lastBackupAt, first.late], ['2026-05-01T02:30:00.000Z', null, false])
  assert.ok(!('verify' in first))
  clock.letGo()
  await untilDays(app, ['05-01'])
  const [made] = (await app.ask<{ items: InstanceBackup[] }>('GET', '/instance/backups')).body.items
  await waitFor('the copy', async () => (await scheduleOf(app)).copies[0]?.state === 'complete')
  const [entry] = await audited(app, 'instance.backup.create')
  assert.deepEqual([entry?.actor, entry?.target, entry?.project], ['system', made?.id, null])
  assert.equal((await audited(app, 'instance.backup.copy'))[0]?.target, made?.id)

  // A month off is made up for once; what is not kept goes here, and stays on the target.
  clock.set('2026-06-03T12:00:00Z')
  const again = await app.reopen({ now: clock.now })
  await untilDays(again, ['05-01', '06-03'])
  await wake(again)
  await setAndWake(clock, '2026-06-04T02:29:59.900Z', again)
  await untilDays(again, ['06-03', '06-04'])
  await waitFor('the copy', async () => (await onTarget(again, target)).length === 3)
  const shown = (await onTarget(again, target))[0]!
  assert.deepEqual(
    [shown.project, shown.engine, shown.source, shown.parts, shown.opens, shown.own, shown.here],
    [null, null, 'schedule', ['database'], true, true, true],
  )
  const removed = await audited(again, 'instance.backup.delete')
  assert.deepEqual(
    removed.map(({ actor, target: id }) => [actor, id]),
    [['system', made?.id]],
  )
})

test('a schedule of the instance that is late is told once, in diagnostics too; without one there is a hint', async (t) => {
  const { app, clock } = await openAt(t, '2026-05-01T12:00:00Z')
  assert.deepEqual(await checkOf(app, 'instance-backups'), [], 'an instance without projects')
  await app.ask('POST', '/projects?wait=10', { name: 'Shop' })
  assert.deepEqual(
    (await checkOf(app, 'instance-backups')).map(({ status }) => status),
    ['info'],
  )
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await set(app, { ...nightly, targets: [] })
  assert.match((await checkOf(app, 'instance-backups'))[0]?.detail ?? '', /this machine alone/)
  await set(app, { ...nightly, targets: [target.id] })
  assert.deepEqual(await checkOf(app, 'instance-backups'), [])
  const told: unknown[] = []
  t.after(app.store.onCommit((events) => void told.push(...events.filter(({ type }) => type === 'backup.late'))))
  await rename(folder, `${folder}-away`)
  clock.letGo()
  await setAndWake(clock, '2026-05-02T14:31:00Z', app)
  await untilDays(app, ['05-02'])
  await waitFor('the failed copy', async () => (await scheduleOf(app)).copies[0]?.problem != null)
  await setAndWake(clock, '2026-05-02T16:31:00Z', app)
  await waitFor('the event', () => told.length > 0)
  assert.equal((await scheduleOf(app)).late, true)
  assert.equal((await checkOf(app, 'backup-schedules'))[0]?.detail, 'Late: the instance (no new copy on Offsite).')
  const [entry] = await audited(app, 'instance.backup.late')
  assert.deepEqual((entry?.changes as { lateTargets?: unknown } | undefined)?.lateTargets, [target.id])

  await waitFor('the end of the attempt', async () => (await app.store.operations.unfinished()).length === 0)
  const refused = await app.ask<Problem>('DELETE', `/backup-targets/${target.id}`)
  assert.match(refused.body.detail ?? '', /: the instance\.$/)
  await rename(`${folder}-away`, folder)
  await setAndWake(clock, '2026-05-02T18:00:00Z', app)
  await waitFor('the copy', async () => (await scheduleOf(app)).copies[0]?.state === 'complete')
  assert.equal(told.length, 1)
})

test('a backup of the instance comes from a target to an instance that has nothing but the passphrase and the secret key', async (t) => {
  const { app } = await openAt(t, '2026-05-01T12:00:00Z', env)
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  const made = (await app.ask<InstanceBackup>('POST', '/instance/backups', { note: 'then' })).body
  const copied = await app.ask<InstanceBackup>('POST', `/instance/backups/${made.id}/copies?wait=60`, {
    target: target.id,
  })
  assert.equal(copied.status, 200, JSON.stringify(copied.body))
  assert.deepEqual(
    copied.body.copies.map(({ name, state }) => [name, state]),
    [['Offsite', 'complete']],
  )
  const busy = await app.ask<Problem>('POST', `/instance/backups/${made.id}/copies`, { target: 'tgt_0000000000' })
  assert.equal(busy.body.code, 'validation_failed')

  const passphrase = target.recoveryPassphrase
  const other = await openTestApp(t, { env: { STACKQUAY_SECRET_KEY: '22'.repeat(32) } })
  const there = await addFolder(other, folder, { passphrase })
  const [listed] = await onTarget(other, there)
  assert.deepEqual([listed?.id, listed?.opens, listed?.own, listed?.here], [made.id, false, false, false])
  const fetch = `/backup-targets/${there.id}/fetch-instance?wait=60`
  const locked = await other.ask<Problem>('POST', fetch, { backup: made.id })
  assert.deepEqual([locked.status, locked.body.code], [422, 'backup_locked'])
  assert.match(locked.body.detail ?? '', new RegExp(made.keyId))

  const second = await openTestApp(t, { env })
  const found = await addFolder(second, folder, { passphrase })
  const from = `/backup-targets/${found.id}/fetch-instance?wait=60`
  const fetched = await second.ask<InstanceBackup>('POST', from, { backup: made.id })
  assert.equal(fetched.status, 201, JSON.stringify(fetched.body))
  assert.deepEqual([fetched.body.note, fetched.body.opensHere], ['then', true])
  assert.equal((await second.ask<Problem>('POST', from, { backup: made.id })).body.code, 'conflict')
  assert.equal((await second.ask<Problem>('POST', from, { backup: 'ibk_0000000000' })).body.code, 'not_found')
  const { body } = await second.ask<{ items: OperationRecord[] }>('GET', '/operations?limit=5')
  assert.deepEqual(
    body.items.map(({ kind, project, state }) => [kind, project, state]),
    [['fetch-backup', null, 'succeeded']],
  )
  assert.deepEqual(await readdir(join(second.folder, 'instance-backups')), [made.id])
})
