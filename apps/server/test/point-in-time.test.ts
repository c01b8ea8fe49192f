import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Checkpoint, OperationRecord, Plan, PointInTime, Problem, ProjectView } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { type ArchiveServer, serveArchives } from './archives-support.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

const shop = {
  name: 'Shop',
  databases: { main: { type: 'postgresql', pointInTime: {} }, second: { type: 'mariadb' } },
}
const db = '/projects/shop/databases/main'

async function openShop(t: TestContext): Promise<{ app: TestApp; project: ProjectView; server: ArchiveServer }> {
  const app = await openTestApp(t)
  const server = serveArchives(app.engine)
  const { status, body } = await app.ask('POST', '/projects?wait=10', shop)
  assert.equal(status, 201, JSON.stringify(body))
  return { app, project: body, server }
}

const look = async ({ ask }: TestApp) => (await ask<PointInTime>('GET', `${db}/point-in-time`)).body
const ready = (app: TestApp) => waitFor('a base', async () => (await look(app)).state === 'ready')
const dataOf = ({ engine }: TestApp, project: string) =>
  [...engine.machine.data.keys()].filter((key) => key.startsWith(`${project}/`)).map((key) => key.split('/')[1] ?? '')
const archives = (app: TestApp, project: string) => dataOf(app, project).filter((name) => name.startsWith('arc_'))
const later = () => new Date().toISOString()

test('what is switched on gets an archive and a base, which no list of snapshots shows', async (t) => {
  const { app, project } = await openShop(t)
  assert.deepEqual(project.databases.main?.pointInTime, { keep: '7d' })
  await ready(app)
  const { ranges, bases, keep } = await look(app)
  assert.deepEqual([ranges.length, bases, keep], [1, 1, '7d'])
  assert.equal(archives(app, project.id).length, 1)
  assert.deepEqual((await app.ask<{ items: unknown[] }>('GET', `${db}/snapshots`)).body.items, [])
  const base = (await app.store.snapshots.of(project.id)).find(({ source }) => source === 'base')
  assert.equal(base?.piece, 'A3')
  assert.equal((await app.ask('DELETE', `${db}/snapshots/${base?.id}`)).status, 404)
})

test('switching it on restarts the database, and its plan says so', async (t) => {
  const { app } = await openShop(t)
  await ready(app)
  await app.ask('POST', '/projects/shop/databases?wait=10', { name: 'third', type: 'postgresql' })
  const third = '/projects/shop/databases/third'
  const on = { pointInTime: { keep: '30d' } }
  const { plan } = (await app.ask<Plan>('PATCH', `${third}?dryRun=true`, on)).body
  assert.deepEqual(plan.restarts, ['postgresql-third'])
  assert.deepEqual(plan.changes, [{ field: 'databases.third.pointInTime', before: null, after: { keep: '30d' } }])
  assert.equal((await app.ask<PointInTime>('GET', `${third}/point-in-time`)).body.state, 'off')
  const refused = await app.ask<Problem>('POST', `${third}/restore-to`, { to: later(), name: 'then' })
  assert.deepEqual([refused.status, refused.body.code], [422, 'engine_cannot'])
})

test('a type that keeps no changes says so', async (t) => {
  const { app } = await openShop(t)
  const second = '/projects/shop/databases/second'
  const patch = await app.ask<Problem>('PATCH', second, { pointInTime: {} })
  assert.deepEqual([patch.status, patch.body.errors?.[0]?.code], [422, 'point_in_time_unsupported'])
  const asked = await app.ask<Problem>('GET', `${second}/point-in-time`)
  assert.deepEqual([asked.status, asked.body.code], [422, 'engine_cannot'])
})

test('a restore makes a new database by base, mark and recovery, and names its last transaction', async (t) => {
  const { app, project, server } = await openShop(t)
  await ready(app)
  const to = later()
  server.asked.length = 0
  const made = await app.ask('POST', `${db}/restore-to?wait=10`, { to, name: 'then' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { then, main } = made.body.databases
  assert.deepEqual(then?.recovered, { database: 'main', to, lastTransactionAt: '2026-11-26T10:00:00.123456Z' })
  assert.deepEqual([then?.pointInTime, main?.pointInTime, main?.recovered], [undefined, { keep: '7d' }, undefined])
  const recover = server.asked.find(({ act }) => act === 'recover')
  const [archive] = archives(app, project.id)
  assert.deepEqual(recover?.data, ['postgresql-then', archive, 'postgresql-main'])
  assert.deepEqual(recover?.words.at(-1), 'A3')
  const acts = server.asked.map(({ act }) => act)
  assert.ok(acts.indexOf('mark') >= 0 && acts.indexOf('mark') < acts.indexOf('recover'))
  const states = (await app.ask('GET', '/projects/shop')).body.status.workloads.map(({ state }) => state)
  assert.deepEqual(new Set(states), new Set(['running']))
  const audit = await app.ask<{ items: { action: string; changes: unknown }[] }>('GET', '/audit?limit=200')
  const entry = audit.body.items.find(({ action }) => action === 'database.restore-to')
  assert.deepEqual(entry?.changes, { name: 'then', to })
})

test('a recovery that fails leaves nothing, and says why', async (t) => {
  const { app, project, server } = await openShop(t)
  await ready(app)
  server.recovered = null
  const { status, body } = await app.ask<OperationRecord>('POST', `${db}/restore-to?wait=10`, {
    to: later(),
    name: 'then',
  })
  assert.deepEqual([status, body.state, body.error?.code], [202, 'failed', 'job_failed'])
  assert.match(body.error?.detail ?? '', /ends before that moment/)
  assert.ok(!dataOf(app, project.id).includes('postgresql-then'))
  assert.deepEqual(Object.keys((await app.ask('GET', '/projects/shop')).body.databases), ['main', 'second'])
})

test('a gap ends the range and has a new base made; moments in it are refused', async (t) => {
  const { app, server } = await openShop(t)
  await ready(app)
  server.pieces = [
    ['A1', 'A3'],
    ['A5', 'A8'],
  ]
  server.newest = 'A8'
  assert.equal((await app.ask('POST', `${db}/restore-to?dryRun=true`, { to: later(), name: 'then' })).status, 422)
  await app.ask('POST', '/projects/shop/restart?wait=10')
  await waitFor('a base after it', async () => (await look(app)).bases === 2)
  const plan = await app.ask<Plan>('POST', `${db}/restore-to?dryRun=true`, { to: later(), name: 'then' })
  assert.equal(plan.status, 200, JSON.stringify(plan.body))
})

test('changes that do not get into the archive are a warning of the project, until they do', async (t) => {
  const { app, server } = await openShop(t)
  await ready(app)
  server.waitingSince = new Date(Date.now() - 10 * 60_000).toISOString()
  assert.equal((await look(app)).state, 'late')
  const codes = async () => (await app.ask('GET', '/projects/shop')).body.status.warnings.map(({ code }) => code)
  await app.ask('POST', '/projects/shop/restart?wait=10')
  await waitFor('a warning', async () => (await codes()).includes('archive_late'))
  server.waitingSince = null
  await app.ask('POST', '/projects/shop/restart?wait=10')
  await waitFor('no warning', async () => !(await codes()).includes('archive_late'))
})

test('other data in its place begins another archive, and a database that is dropped takes them all along', async (t) => {
  const { app, project } = await openShop(t)
  await ready(app)
  await app.ask('POST', `${db}/snapshots?wait=10`, { name: 'first' })
  const body = { confirm: 'main' }
  const restored = await app.ask('POST', `${db}/snapshots/first/restore?wait=10`, body, { 'if-match': '*' })
  assert.equal((restored.body as unknown as OperationRecord).state, 'succeeded')
  await waitFor('the base of what was restored', async () => (await look(app)).bases === 2)
  const known = await app.store.archives.of(project.id)
  assert.deepEqual(
    known.map(({ endedAt }) => endedAt === null),
    [false, true],
  )
  assert.equal(archives(app, project.id).length, 2)
  const { plan } = (await app.ask<Plan>('DELETE', `${db}?dryRun=true`)).body
  for (const { id } of known) assert.ok(plan.deletesData.includes(id))
  const dropped = await app.ask('DELETE', `${db}?confirm=main&wait=10`)
  assert.equal(dropped.status, 200, JSON.stringify(dropped.body))
  assert.deepEqual(
    dataOf(app, project.id).filter((name) => /^(arc|snp)_/.test(name)),
    [],
  )
  assert.deepEqual(await app.store.archives.of(project.id), [])
  const [item] = (await app.ask<{ items: { id: string }[] }>('GET', '/trash')).body.items
  assert.equal((await app.ask('POST', `/trash/${item?.id}/restore?wait=10`)).status, 200)
  assert.deepEqual(await app.store.archives.of(project.id), known)
  for (const { id } of known) assert.ok(dataOf(app, project.id).includes(id))
})

test('what is switched off is written no more and can be restored for its days', async (t) => {
  const { app, project, server } = await openShop(t)
  await ready(app)
  const off = await app.ask('PATCH', `${db}?wait=10`, { pointInTime: null })
  assert.equal(off.body.databases.main?.pointInTime, undefined)
  await waitFor('its end', async () =>
    (await app.store.archives.of(project.id)).every(({ endedAt }) => endedAt !== null),
  )
  server.newest = null
  const { state, ranges, keep } = await look(app)
  assert.deepEqual([state, keep], ['off', null])
  assert.ok(ranges.length <= 1)
})

test('a checkpoint takes no archive along, and its restore ends those of what it replaces and of what came later', async (t) => {
  const { app, project } = await openShop(t)
  await ready(app)
  const made = await app.ask<Checkpoint>('POST', '/projects/shop/checkpoints?wait=10', { name: 'then' })
  assert.deepEqual(
    made.body.parts.map(({ name }) => name),
    ['source', 'mariadb-second', 'postgresql-main'],
  )
  await app.ask('POST', '/projects/shop/databases?wait=10', { name: 'late', type: 'postgresql', pointInTime: {} })
  assert.equal(archives(app, project.id).length, 2)
  const late = () => app.ask<PointInTime>('GET', '/projects/shop/databases/late/point-in-time')
  // Its first base is an operation of its own, which a restore is refused beside.
  await waitFor('its base', async () => (await late()).body.state === 'ready')
  await waitFor('rest', async () => (await app.store.operations.unfinishedOf(project.id)).length === 0)
  const restored = await app.ask<OperationRecord>(
    'POST',
    `/projects/shop/checkpoints/${made.body.id}/restore?wait=10`,
    { confirm: 'shop' },
    { 'if-match': '*' },
  )
  assert.equal(restored.body.state, 'succeeded', JSON.stringify(restored.body))
  await waitFor('their ends', async () => {
    const open = (await app.store.archives.of(project.id)).filter(({ endedAt }) => endedAt === null)
    return open.length === 1 && open[0]?.database === 'main'
  })
  await waitFor('the base of what was restored', async () => (await look(app)).bases === 2)
  assert.equal((await look(app)).state, 'ready')
})

test('a duplicate has an archive of its own, and a clone none', async (t) => {
  const { app, project } = await openShop(t)
  await ready(app)
  const copy = await app.ask('POST', '/projects/shop/duplicate?wait=10', { name: 'Copy' })
  assert.equal(copy.status, 201, JSON.stringify(copy.body))
  await app.ask('POST', `/projects/${copy.body.id}/start?wait=10`)
  const [own, its] = [archives(app, project.id), archives(app, copy.body.id)]
  assert.deepEqual([own.length, its.length], [1, 1])
  assert.notEqual(own[0], its[0])
  const cloned = await app.ask('POST', `${db}/clone?wait=10`, { name: 'twin' })
  assert.equal(cloned.status, 201, JSON.stringify(cloned.body))
  assert.equal(cloned.body.databases.twin?.pointInTime, undefined)
  assert.equal(archives(app, project.id).length, 1)
})

test('what is left of an archive that nobody knows is removed by the next start', async (t) => {
  const { app, project } = await openShop(t)
  await ready(app)
  const [known] = archives(app, project.id)
  app.engine.machine.data.set(`${project.id}/arc_left`, 1)
  const next = await app.reopen()
  await next.app.ready
  assert.deepEqual(archives(next, project.id), [known])
})
