import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backup, DiagnosticCheck, OperationRecord, Problem } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { admin } from './app-support.ts'
import type { TestApp } from './projects-support.ts'
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

/** As soon as nothing else is done. */
async function byHand({ ask }: TestApp): Promise<Backup> {
  const body = { parts: ['settings'] }
  const made = await waitFor('a backup by hand', async () => {
    const answer = await ask<Backup>('POST', '/projects/shop/backups?wait=10', body)
    return answer.status === 201 && answer
  })
  return made.body
}

/** Downloads it, deletes it and uploads it. */
async function bringAgain({ app, ask }: TestApp, { id }: Backup): Promise<void> {
  const login = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: admin })
  const headers = {
    cookie: String(login.headers['set-cookie']).split(';')[0]!,
    'x-csrf-token': login.json().csrfToken,
    host: 'localhost',
    'content-type': 'application/x-tar',
  }
  const { rawPayload } = await app.http.inject({ url: `/api/v1/backups/${id}/download`, headers })
  await ask('DELETE', `/backups/${id}`)
  const url = '/api/v1/backups/upload'
  const upload = await app.http.inject({ method: 'POST', url, headers, payload: rawPayload })
  assert.equal(upload.statusCode, 201, upload.body)
}

test('a backup is made at its time, by the service and with its audit entry; not when the schedule is set, and not again', async (t) => {
  const { app, clock, project, set } = await openScheduled(t, '2026-05-01T02:29:59.900Z')
  assert.deepEqual([set.nextAt, set.dueAt, set.lastBackupAt, set.late], ['2026-05-01T02:30:00.000Z', null, null, false])
  await untilDays(app, ['05-01'])
  const [made] = await audited(app, 'backup.create')
  assert.deepEqual(
    [made?.actor, made?.project, (made?.changes as { dueAt?: string } | undefined)?.dueAt],
    ['system', project.id, '2026-05-01T02:30:00.000Z'],
  )
  assert.equal((await audited(app, 'backup.schedule')).length, 1)
  const shown = await scheduleOf(app)
  assert.deepEqual([shown.nextAt, shown.problem], ['2026-05-02T02:30:00.000Z', null])
  assert.match(shown.lastBackupAt ?? '', /^2026-05-01T02:30/)

  // Put back: the same time comes once more, and its backup does not.
  await setAndWake(clock, '2026-05-01T02:29:59.900Z', app)
  await waitFor('the time once more', () => clock.now() > new Date('2026-05-01T02:30:00.500Z'))
  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-01', '05-02'])
})

test('a month without the service is made up for once, and then it goes on at the regular time', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  clock.set('2026-06-03T12:00:00Z')
  const again = await app.reopen({ now: clock.now })
  await untilDays(again, ['06-03'])
  await setAndWake(clock, '2026-06-04T02:29:59.900Z', again)
  await untilDays(again, ['06-03', '06-04'])
})

test('while something else is done with the project its backup waits, says so, and is made afterwards', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z', { databases: { main: { type: 'mariadb' } } })
  const hung = app.engine.hangNext('stop')
  const stop = await app.ask<OperationRecord>('POST', '/projects/shop/stop')
  await hung.reached
  clock.set('2026-05-02T02:30:01Z')
  const waiting = await scheduleOf(app)
  assert.equal(waiting.dueAt, '2026-05-02T02:30:00.000Z')
  assert.equal(waiting.problem, `It begins when the operation ${stop.body.id} (stop) is done.`)
  // Other numbers at the same times: what waits goes on waiting.
  await app.ask('PUT', '/projects/shop/backup-schedule', { ...nightly, keep: { last: 3 } })
  assert.equal((await scheduleOf(app)).dueAt, '2026-05-02T02:30:00.000Z')
  hung.release()
  await untilDays(app, ['05-02'])
  assert.deepEqual([(await scheduleOf(app)).dueAt, (await scheduleOf(app)).problem], [null, null])
})

test('one that fails keeps its reason, is not repeated before the next time, and is told when it is late', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T02:29:59.900Z', {
    databases: { main: { type: 'mariadb' } },
  })
  app.engine.failNext(
    'stop',
    new EngineError('disk_full', 'The copy needs 2 GB, and 1 GB is free.', { hint: 'Free some.', logTail: [] }),
  )
  const reason = await waitFor('the reason', async () => (await scheduleOf(app)).problem)
  assert.equal(reason, 'The copy needs 2 GB, and 1 GB is free.')

  const told: unknown[] = []
  const stopHearing = app.store.onCommit((events) => {
    told.push(...events.filter(({ type }) => type === 'backup.late').map((event) => event.project))
  })
  const diagnosed = async () => {
    const { body } = await app.ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')
    return body.checks.find(({ id }) => id === 'backup-schedules')
  }
  await setAndWake(clock, '2026-05-01T14:29:00Z', app)
  assert.deepEqual([(await scheduleOf(app)).late, (await diagnosed())?.status], [false, 'ok'])
  await setAndWake(clock, '2026-05-01T14:30:01Z', app)
  await waitFor('the event', () => told.length > 0)
  assert.equal((await scheduleOf(app)).late, true)
  assert.match((await diagnosed())?.detail ?? '', /^Late: shop \(none yet\)/)
  await wake(app)

  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-02'])
  stopHearing()
  assert.deepEqual(told, [project.id])
  assert.deepEqual(
    (await audited(app, 'backup.late')).map(({ actor, target, outcome }) => [actor, target, outcome]),
    [['system', 'shop', 'failure']],
  )
  const { late, problem } = await scheduleOf(app)
  assert.deepEqual([late, problem, (await diagnosed())?.status], [false, null, 'ok'])
})

test('old ones go after a new one is there; what people made or brought stays, and so does the only verified one', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T02:29:59.900Z')
  await untilDays(app, ['05-01'])
  const [first] = (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items
  const verified = await app.ask<Backup>('POST', `/projects/shop/backups/${first?.id}/verify?wait=20`)
  assert.equal(verified.body.verified?.outcome, 'whole', JSON.stringify(verified.body))
  const hand = [await byHand(app)]
  for (const day of ['05-02', '05-03', '05-04']) {
    await setAndWake(clock, `2026-${day}T02:29:59.900Z`, app)
    await waitFor(day, async () => (await daysOf(app)).includes(day))
    hand.push(await byHand(app))
  }
  await bringAgain(app, hand[0]!)

  // Fewer are to stay: nothing goes before the next one is there.
  await app.ask('PUT', '/projects/shop/backup-schedule', {
    ...nightly,
    keep: { last: 2, daily: 0, weekly: 0, monthly: 0 },
  })
  await wake(app)
  await untilDays(app, ['05-01', '05-02', '05-03', '05-04'])
  await setAndWake(clock, '2026-05-05T02:29:59.900Z', app)
  await untilDays(app, ['05-01', '05-04', '05-05'])
  const sources = (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items.map(
    ({ source }) => source,
  )
  assert.deepEqual(
    [sources.filter((one) => one === 'manual').length, sources.filter((one) => one === 'upload').length],
    [3, 1],
  )
  const deletions = (await audited(app, 'backup.delete')).filter(({ actor }) => actor === 'system')
  const [made] = (await audited(app, 'backup.create')).filter(({ actor }) => actor === 'system')
  assert.equal(deletions.length, 2)
  assert.ok(
    deletions.every(({ seq }) => seq > made!.seq),
    'none went before the new one was begun',
  )
})

test('a service that was killed before old ones went lets them go when it is back', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T02:29:59.900Z')
  await untilDays(app, ['05-01'])
  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-01', '05-02'])
  // As it was between the two: the new one is there, and nothing was looked at since.
  const schedule = await app.store.backupSchedules.of(project.id)
  assert.ok(schedule)
  await app.store.transaction((tx) =>
    tx.backupSchedules.put(project.id, { ...schedule, keep: { last: 1, daily: 0, weekly: 0, monthly: 0 } }),
  )
  const again = await app.reopen({ now: clock.now })
  await untilDays(again, ['05-02'])
})

test('of many that are due at one time two are made at once', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z', { databases: { main: { type: 'mariadb' } } })
  for (const name of ['One', 'Two', 'Three']) {
    await app.ask('POST', '/projects?wait=10', { name, databases: { main: { type: 'mariadb' } } })
    await app.ask('PUT', `/projects/${name.toLowerCase()}/backup-schedule`, nightly)
  }
  let most = 0
  const running = new Set<unknown>()
  t.after(
    app.store.onCommit((events) => {
      for (const { type, data } of events) {
        if (type !== 'operation.changed' || data.kind !== 'backup') continue
        if (data.state === 'queued' || data.state === 'running') running.add(data.id)
        else running.delete(data.id)
        most = Math.max(most, running.size)
      }
    }),
  )
  clock.set('2026-05-02T02:29:59.900Z')
  await app.ask('PUT', '/projects/shop/backup-schedule', { ...nightly, keep: { last: 9 } })
  await waitFor('all of them', async () => {
    const { items } = (await app.ask<{ items: Backup[] }>('GET', '/backups')).body
    return items.length === 4
  })
  assert.equal(most, 2)
})

test('a schedule verifies one a week, and never the same one twice', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T02:29:59.900Z', {}, { ...nightly, verify: 'weekly' })
  await untilDays(app, ['05-01'])
  const verified = async () =>
    (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items
      .filter((one) => one.verified !== null)
      .map(({ createdAt }) => createdAt.slice(5, 10))
  await waitFor('a drill', async () => (await verified()).length === 1)
  for (const day of ['05-02', '05-08']) {
    await setAndWake(clock, `2026-${day}T02:29:59.900Z`, app)
    await waitFor(day, async () => (await daysOf(app)).includes(day))
  }
  await setAndWake(clock, '2026-05-08T12:00:00Z', app)
  await waitFor('a second drill', async () => (await verified()).length === 2)
  assert.deepEqual(await verified(), ['05-08', '05-01'])
  const drills = await audited(app, 'backup.verify')
  assert.deepEqual(
    drills.map(({ actor }) => actor),
    ['system', 'system'],
  )
})

test('a schedule is refused where it never comes, set by administrators, and goes with its project', async (t) => {
  const { app } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const path = '/projects/shop/backup-schedule'
  const refusals = async (body: object) => {
    const { status, body: problem } = await app.ask<Problem>('PUT', path, body)
    return [status, ...(problem.errors ?? []).map(({ pointer }) => pointer)]
  }
  assert.deepEqual(await refusals({ cron: '0 0 31 2 *' }), [422, '/cron'])
  assert.deepEqual(await refusals({ cron: '0 3 * * *', timezone: 'Europe/Atlantis' }), [422, '/timezone'])
  assert.deepEqual(await refusals({ cron: '0 3 * * *', keep: { last: 0 } }), [422, '/keep/last'])
  const operator = await app.as('operate')
  assert.equal((await operator('PUT', path, nightly)).status, 403)
  assert.equal((await operator('DELETE', path)).status, 403)
  assert.equal((await operator('GET', path)).status, 200)

  // The same once more is no change.
  await app.ask('PUT', path, nightly)
  assert.equal((await audited(app, 'backup.schedule')).filter(({ outcome }) => outcome === 'success').length, 1)
  const made = await byHand(app)
  await app.ask('DELETE', '/projects/shop?confirm=shop&wait=10')
  assert.equal((await app.store.backupSchedules.all()).size, 0)
  assert.equal((await app.ask<Backup>('GET', `/backups/${made.id}`)).status, 200)
})

test('a schedule that is cleared is gone, also when it was', async (t) => {
  const { app } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const path = '/projects/shop/backup-schedule'
  assert.equal((await app.ask('DELETE', path)).status, 204)
  assert.equal((await app.ask('DELETE', path)).status, 204)
  assert.deepEqual((await app.ask('GET', path)).body, { schedule: null })
  assert.equal((await audited(app, 'backup.schedule')).length, 2)
})

test('a restore that somebody asks for begins after the backup that the schedule makes, and nothing else does', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T02:29:30.000Z', {
    databases: { main: { type: 'mariadb' } },
  })
  const db = '/projects/shop/databases/main/snapshots'
  const { body: snapshot } = await app.ask<{ id: string }>('POST', `${db}?wait=10`, { name: 'first' })
  const hang = app.engine.hangNext('stop')
  clock.set('2026-05-01T02:30:30.000Z')
  await wake(app)
  await hang.reached
  const asked = await app.ask<OperationRecord>(
    'POST',
    `${db}/${snapshot.id}/restore`,
    { confirm: 'main' },
    { 'if-match': '*' },
  )
  assert.deepEqual([asked.status, asked.body.state], [202, 'queued'], JSON.stringify(asked.body))
  const [copy] = (await app.store.operations.unfinished()).filter(({ id }) => id !== asked.body.id)
  assert.deepEqual([copy?.kind, copy?.actor], ['backup', 'system'])
  const again = await app.ask<Problem>('POST', `${db}/${snapshot.id}/restore`, { confirm: 'main' }, { 'if-match': '*' })
  assert.deepEqual([again.body.code, again.body.operation], ['busy', asked.body.id])
  hang.release()
  const ended = await app.ask<OperationRecord>('GET', `/operations/${asked.body.id}?wait=20`)
  assert.equal(ended.body.state, 'succeeded', JSON.stringify(ended.body.error))
  await untilDays(app, ['05-01'])
})
