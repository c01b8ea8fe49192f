import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Backup, DiagnosticCheck, OperationRecord, Problem } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import type { TestApp } from './projects-support.ts'
import { addFolder, are, daysOn, nameTargets, newFolder, path, untilCopied } from './schedule-targets-support.ts'
import {
  audited,
  daysOf,
  nightly,
  openScheduled,
  scheduleOf,
  setAndWake,
  untilDays,
  wake,
} from './schedules-support.ts'

test('each backup by schedule is copied to its targets, once; older ones and those by hand are not', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T02:29:59.900Z')
  await untilDays(app, ['05-01'])
  const one = await addFolder(app, await newFolder(t))
  const other = await addFolder(app, await newFolder(t), 'Cellar')
  await nameTargets(app, [one.id, other.id])
  await wake(app)
  await app.ask('POST', '/projects/shop/backups?wait=10', { parts: ['settings'] })
  const nothing = { state: null, at: null, late: false, problem: null, keepProblem: null }
  assert.deepEqual((await scheduleOf(app)).copies, [
    { target: one.id, name: 'Offsite', ...nothing },
    { target: other.id, name: 'Cellar', ...nothing },
  ])

  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-01', '05-02'])
  const copies = await untilCopied(app, are('complete'))
  assert.match(copies[0]?.at ?? '', /^2026-05-02T02:30/)
  assert.deepEqual([await daysOn(app, one), await daysOn(app, other)], [['05-02'], ['05-02']])
  const [newest] = (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items
  const entries = await audited(app, 'backup.copy')
  const begun = entries.filter(({ outcome, changes }) => outcome === 'success' && changes !== null)
  assert.deepEqual(
    begun.map(({ actor, target, project: of, changes }) => [actor, target, of, (changes as { name?: string }).name]),
    ['Cellar', 'Offsite'].map((name) => ['system', `shop/${newest?.id}`, project.id, name]),
  )
  // Another look, and one after a restart, copy nothing twice.
  await wake(app)
  const again = await app.reopen({ now: clock.now })
  await setAndWake(clock, '2026-05-03T02:29:59.900Z', again)
  await untilDays(again, ['05-01', '05-02', '05-03'])
  await untilCopied(again, are('complete'))
  assert.equal((await copyOperations(again)).length, 4)
  assert.deepEqual(await daysOn(again, one), ['05-02', '05-03'])
})

async function copyOperations({ ask }: TestApp): Promise<readonly OperationRecord[]> {
  const { body } = await ask<{ items: OperationRecord[] }>('GET', '/operations?limit=100')
  return body.items.filter(({ kind }) => kind === 'copy-backup')
}

test('a copy that fails says why, is tried again after an hour and not before, and is told when it is late', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id])
  await rename(folder, `${folder}-away`)
  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-02'])
  const [failed] = await untilCopied(app, are('incomplete'))
  assert.match(failed?.problem ?? '', /^The backup target .*\(op_\w+\)\.$/)
  assert.ok(!failed?.problem?.includes('stackquay-offsite'), 'who reads the project need not know the place')
  const told: unknown[] = []
  t.after(
    app.store.onCommit((events) => {
      told.push(...events.filter(({ type }) => type === 'backup.late').map((event) => event.project))
    }),
  )
  const attempts = async () => (await copyOperations(app)).length
  await setAndWake(clock, '2026-05-02T03:29:30Z', app)
  await untilLooked(app)
  assert.equal(await attempts(), 1)
  await setAndWake(clock, '2026-05-02T03:31:00Z', app)
  await waitFor('another attempt', async () => (await attempts()) === 2)
  await untilCopied(app, are('incomplete'))
  assert.deepEqual([(await scheduleOf(app)).late, told], [false, []])

  await setAndWake(clock, '2026-05-02T14:31:00Z', app)
  await waitFor('the event', () => told.length > 0)
  await waitFor('the third attempt', async () => (await attempts()) === 3)
  const [late] = await untilCopied(app, are('incomplete'))
  assert.deepEqual([late?.late, (await scheduleOf(app)).late], [true, true])
  const [entry] = await audited(app, 'backup.late')
  assert.deepEqual((entry?.changes as { lateTargets?: unknown } | undefined)?.lateTargets, [target.id])
  const { body } = await app.ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')
  assert.equal(body.checks.find(({ id }) => id === 'backup-schedules')?.detail, 'Late: shop (no new copy on Offsite).')

  await rename(`${folder}-away`, folder)
  await setAndWake(clock, '2026-05-02T15:32:00Z', app)
  const [copied] = await untilCopied(app, are('complete'))
  assert.deepEqual([copied?.problem, copied?.late, (await scheduleOf(app)).late], [null, false, false])
  assert.deepEqual(told, [project.id])
})

/** After a look that began after this call. */
async function untilLooked(app: TestApp): Promise<void> {
  const id = (await app.ask('GET', '/projects/shop')).body.id
  const before = await app.store.backupSchedules.of(id)
  assert.ok(before)
  // A look puts right what is remembered wrongly.
  await app.store.transaction((tx) => tx.backupSchedules.put(id, { ...before, late: true }))
  await wake(app)
  await waitFor('a look', async () => (await app.store.backupSchedules.of(id))?.late === false)
}

test('what is copied stays on the target when it goes here, and is not late for that', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const target = await addFolder(app, await newFolder(t))
  await nameTargets(app, [target.id], { keep: { last: 1, daily: 0, weekly: 0, monthly: 0 } })
  for (const day of ['05-02', '05-03']) {
    await setAndWake(clock, `2026-${day}T02:29:59.900Z`, app)
    await untilDays(app, [day])
    await untilCopied(app, are('complete'))
  }
  assert.deepEqual(await daysOf(app), ['05-03'])
  assert.deepEqual(await daysOn(app, target), ['05-02', '05-03'])
  assert.equal((await scheduleOf(app)).late, false)
})

test('a copy that a person cancels does not come back, and says so; the next backup is copied again', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const target = await addFolder(app, await newFolder(t))
  await nameTargets(app, [target.id])
  // So that it is still under way when it is cancelled.
  await writeFile(join(project.path, 'data.bin'), randomBytes(60 << 20))
  const seen = waitFor('a copy', async () => {
    const [operation] = await copyOperations(app)
    return operation !== undefined && operation
  })
  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  const { id } = await seen
  const { body: ended } = await app.ask<OperationRecord>('POST', `/operations/${id}/cancel?wait=60`)
  assert.equal(ended.state, 'cancelled')
  await setAndWake(clock, '2026-05-02T06:00:00Z', app)
  await untilLooked(app)
  assert.equal((await copyOperations(app)).length, 1)
  const [copy] = (await scheduleOf(app)).copies
  assert.deepEqual([copy?.state, copy?.problem], [null, `The last copy was cancelled (${id}).`])
  await rm(join(project.path, 'data.bin'))
  await setAndWake(clock, '2026-05-03T02:29:59.900Z', app)
  await untilDays(app, ['05-02', '05-03'])
  await untilCopied(app, are('complete'))
})

test('targets are refused that are not there, twice, too many or not the token’s to name; one that is named is not removed', async (t) => {
  const { app, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const target = await addFolder(app, await newFolder(t))
  const refusal = async (targets: readonly string[]) => {
    const { status, body } = await app.ask<Problem>('PUT', path, { ...nightly, targets })
    return [status, body.code, ...(body.errors ?? []).map(({ pointer }) => pointer)]
  }
  const unknown = 'tgt_0000000000'
  assert.deepEqual(await refusal([target.id, unknown]), [422, 'validation_failed', '/targets/1'])
  assert.deepEqual(await refusal(['Offsite']), [422, 'validation_failed', '/targets/0'])
  assert.deepEqual(await refusal([target.id, target.id]), [422, 'validation_failed', '/targets'])
  const many = [0, 1, 2, 3, 4, 5].map((at) => `tgt_000000000${at}`)
  assert.deepEqual(await refusal(many), [422, 'validation_failed', '/targets'])
  assert.deepEqual((await scheduleOf(app)).targets, [])

  const restricted = await app.as('admin', [project.id])
  const body = { ...nightly, targets: [target.id] }
  assert.equal((await restricted<Problem>('PUT', path, body)).body.code, 'token_restricted')
  await nameTargets(app, [target.id])
  assert.equal((await restricted('PUT', path, { ...body, verify: 'always' })).status, 200, 'it names no new one')
  const [entry] = (await audited(app, 'backup.schedule')).filter(({ changes }) => changes !== null)
  assert.deepEqual((entry?.changes as { after?: { targets?: unknown } } | undefined)?.after?.targets, [target.id])

  const gone = await app.ask<Problem>('DELETE', `/backup-targets/${target.id}`)
  assert.deepEqual([gone.status, gone.body.code], [409, 'conflict'])
  assert.match(gone.body.detail ?? '', /: shop\.$/)
  await nameTargets(app, [])
  assert.equal((await app.ask('DELETE', `/backup-targets/${target.id}`)).status, 204)
})
