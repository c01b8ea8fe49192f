import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OperationRecord, Plan, Problem, ProjectView, Snapshot, TrashItem } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'

/** MariaDB stops for a copy; a PostgreSQL is held. */
const shop = { name: 'Shop', databases: { main: { type: 'mariadb' }, second: { type: 'postgresql' } } }
const db = '/projects/shop/databases/main'
const now = { 'if-match': '*' }

async function openShop(t: TestContext): Promise<{ app: TestApp; project: ProjectView }> {
  const app = await openTestApp(t)
  const { status, body } = await app.ask('POST', '/projects?wait=10', shop)
  assert.equal(status, 201)
  return { app, project: body }
}

const make = async ({ ask }: TestApp, name: string, of = db): Promise<Snapshot> => {
  const made = await ask<Snapshot>('POST', `${of}/snapshots?wait=10`, { name })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}
const list = async ({ ask }: TestApp, of = db) =>
  (await ask<{ items: Snapshot[] }>('GET', `${of}/snapshots`)).body.items
const dataOf = ({ engine }: TestApp, project: string) =>
  [...engine.machine.data.keys()]
    .filter((key) => key.startsWith(`${project}/`))
    .map((key) => key.slice(project.length + 1))
const held = ({ engine }: TestApp, text = 'ready\n{}\n', code = 0) =>
  engine.nextCommand({ output: [{ text }], exit: { code } })
const statesOf = async ({ ask }: TestApp) =>
  (await ask('GET', '/projects/shop')).body.status.workloads.map(({ state }) => state)

test('the plan says how it is copied and what stops, and makes none', async (t) => {
  const { app } = await openShop(t)
  const stops = (await app.ask<Plan>('POST', `${db}/snapshots?dryRun=true`, {})).body.plan
  assert.deepEqual(stops.restarts, ['mariadb-main'])
  assert.match(stops.steps[0]?.because[0] ?? '', /copy-on-write/)
  app.engine.machine.copyMethod = 'copy'
  const runs = (await app.ask<Plan>('POST', '/projects/shop/databases/second/snapshots?dryRun=true')).body.plan
  assert.deepEqual([runs.restarts, runs.warnings], [[], []])
  assert.match(runs.steps[0]?.because[0] ?? '', /are copied/)
  assert.deepEqual(await list(app), [])
})

test('a snapshot is listed with how it was made, is kept data of the project, and what ran runs', async (t) => {
  const { app, project } = await openShop(t)
  const made = await make(app, 'first')
  assert.deepEqual([made.method, made.source, made.database, made.type], ['copy-on-write', 'manual', 'main', 'mariadb'])
  held(app)
  const other = await make(app, 'first', '/projects/shop/databases/second')
  assert.deepEqual(await list(app), [made])
  assert.ok([made.id, other.id].every((id) => dataOf(app, project.id).includes(id)))
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  const again = await app.ask<Problem>('POST', `${db}/snapshots`, { name: 'first' })
  assert.deepEqual([again.status, again.body.code], [409, 'conflict'])
  for (const name of ['snp_other', '../x', '', 'a'.repeat(61)])
    assert.equal((await app.ask('POST', `${db}/snapshots`, { name })).status, 422, name)
  assert.equal((await app.ask('GET', '/projects/shop/databases/third/snapshots')).status, 404)
})

test('a database that cannot be held leaves nothing, and goes on', async (t) => {
  const { app, project } = await openShop(t)
  const of = '/projects/shop/databases/second'
  for (const [text, code] of [
    ['', 1],
    ['what\n', 0],
    ['ready\nno json\n', 0],
    ['ready\n{}\n', 3],
  ] as const) {
    held(app, text, code)
    const { body } = await app.ask<OperationRecord>('POST', `${of}/snapshots?wait=10`, { name: 'first' })
    assert.deepEqual([body.state, body.error?.code], ['failed', 'job_failed'], text)
  }
  assert.deepEqual([await list(app, of), dataOf(app, project.id).filter((name) => name.startsWith('snp_'))], [[], []])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
})

test('a restore needs If-Match and the name, keeps what it replaces, and puts the data back', async (t) => {
  const { app, project } = await openShop(t)
  await make(app, 'first')
  const path = `${db}/snapshots/first/restore`
  const code = async (body: object, headers: Record<string, string> = {}) =>
    (await app.ask<Problem>('POST', path, body, headers)).body.code
  assert.equal(await code({ confirm: 'main' }), 'precondition_required')
  assert.equal(await code({ confirm: 'main' }, { 'if-match': '"99"' }), 'precondition_failed')
  assert.equal(await code({ confirm: 'shop' }, now), 'validation_failed')
  const plan = (await app.ask<Plan>('POST', `${path}?dryRun=true`, { confirm: '' })).body.plan
  assert.deepEqual([plan.restarts, plan.deletesData], [['mariadb-main'], ['mariadb-main']])

  const key = `${project.id}/mariadb-main`
  const { archives, data } = app.engine.machine
  const then = archives.get(`${project.id}/${(await list(app))[0]?.id}`)
  data.set(key, 7)
  archives.set(key, Buffer.from('later'))
  const restored = await app.ask<OperationRecord>('POST', `${path}?wait=10`, { confirm: 'main' }, now)
  assert.equal(restored.body.state, 'succeeded', JSON.stringify(restored.body.error))
  assert.deepEqual(archives.get(key), then)
  assert.equal(await app.store.seeds.find(project.id, 'mariadb-main'), 'done', 'no seed fills it, were it empty')
  const [before] = await list(app)
  assert.equal(before?.source, 'before-restore')
  assert.equal(archives.get(`${project.id}/${before?.id}`)?.toString(), 'later')
  assert.deepEqual(await statesOf(app), ['running', 'running'])
  for (let turn = 0; turn < 4; turn += 1) await app.ask('POST', `${path}?wait=10`, { confirm: 'main' }, now)
  const kept = (await list(app)).map(({ source }) => source)
  assert.deepEqual(kept, ['before-restore', 'before-restore', 'before-restore', 'manual'])
  assert.equal(dataOf(app, project.id).filter((name) => name.startsWith('snp_')).length, 4)
})

test('a restore that fails puts back what was there, and leaves no snapshot of it', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const key = `${project.id}/mariadb-main`
  app.engine.machine.archives.set(key, Buffer.from('later'))
  const copy = app.engine.copyData
  app.engine.copyData = async (from, to, options, signal) => {
    if (from.name === id) throw new EngineError('disk_full', 'The disk is full.', { hint: 'Free some space.' })
    return copy(from, to, options, signal)
  }
  const path = `${db}/snapshots/first/restore?wait=10`
  const { body } = await app.ask<OperationRecord>('POST', path, { confirm: 'main' }, now)
  assert.deepEqual([body.state, body.error?.code], ['failed', 'disk_full'])
  assert.equal(app.engine.machine.archives.get(key)?.toString(), 'later')
  assert.deepEqual(
    (await list(app)).map((one) => one.id),
    [id],
  )
  assert.deepEqual(await statesOf(app), ['running', 'running'])
})

test('what is deleted is gone; what is being restored is not deleted', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  assert.equal((await app.ask('DELETE', `${db}/snapshots/nothing`)).status, 404)
  const hang = app.engine.hangNext('stop')
  const restoring = await app.ask<OperationRecord>('POST', `${db}/snapshots/first/restore`, { confirm: 'main' }, now)
  await hang.reached
  const refused = await app.ask<Problem>('DELETE', `${db}/snapshots/first`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'busy'])
  hang.release()
  await app.ask('GET', `/operations/${restoring.body.id}?wait=10`)
  const starting = app.engine.hangNext('start')
  const again = await app.ask<OperationRecord>('POST', `${db}/snapshots/first/restore`, { confirm: 'main' }, now)
  await starting.reached
  const [before] = await list(app)
  assert.equal(before?.source, 'before-restore')
  assert.equal((await app.ask('DELETE', `${db}/snapshots/${before?.id}`)).status, 409)
  starting.release()
  await app.ask('GET', `/operations/${again.body.id}?wait=10`)
  assert.equal((await app.ask('DELETE', `${db}/snapshots/${id}`)).status, 204)
  assert.ok(!dataOf(app, project.id).includes(id))
})

test('a dropped database takes its snapshots along to the trash, as its plan says, and brings them back; a purge takes both', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const plan = (await app.ask<Plan>('DELETE', `${db}?dryRun=true`)).body.plan
  assert.deepEqual([...plan.deletesData].sort(), ['mariadb-main', id].sort())
  const titles = ['Move the data "mariadb-main" to the trash', 'Move the snapshot "first" of main to the trash']
  assert.deepEqual(
    plan.steps.map(({ title }) => title).filter((title) => /^(Move|Delete)/.test(title)),
    titles,
  )
  const whole = (await app.ask<Plan>('DELETE', '/projects/shop?data=delete&dryRun=true')).body.plan
  assert.ok(whole.steps.some(({ title }) => title === 'Move the snapshot "first" of main to the trash'))
  assert.equal((await app.ask('DELETE', `${db}?confirm=main&wait=10`)).status, 200)
  const { items } = (await app.ask<{ items: OperationRecord[] }>('GET', '/operations?limit=1')).body
  const done = items[0]!.steps.map(({ title }) => title)
  for (const title of titles) assert.ok(done.includes(title), JSON.stringify(done))
  assert.deepEqual(dataOf(app, project.id), ['postgresql-second'])
  assert.deepEqual(await app.store.snapshots.of(project.id), [])

  const [item] = (await app.ask<{ items: TrashItem[] }>('GET', '/trash')).body.items
  assert.deepEqual(item?.data.map(({ name }) => name).sort(), ['mariadb-main', id].sort())
  assert.equal((await app.ask('POST', `/trash/${item.id}/restore?wait=10`)).status, 200)
  assert.deepEqual(dataOf(app, project.id).sort(), ['mariadb-main', 'postgresql-second', id].sort())
  const [back] = (await app.ask<{ items: Snapshot[] }>('GET', `${db}/snapshots`)).body.items
  assert.deepEqual([back?.id, back?.name], [id, 'first'])
  const restored = await app.ask(
    'POST',
    `${db}/snapshots/first/restore?wait=10`,
    { confirm: 'main' },
    { 'if-match': '*' },
  )
  assert.equal((restored.body as unknown as OperationRecord).state, 'succeeded', 'its password came back with it')

  assert.equal((await app.ask('DELETE', `${db}?confirm=main&purge=true&wait=10`)).status, 200)
  assert.deepEqual(dataOf(app, project.id), ['postgresql-second'])
  assert.deepEqual((await app.ask<{ items: TrashItem[] }>('GET', '/trash')).body.items, [])
})

test('room is looked for on the disk that the data lies on, and nothing is touched where there is none', async (t) => {
  const { app, project } = await openShop(t)
  const before = dataOf(app, project.id)
  app.engine.machine.copyMethod = 'copy'
  app.engine.machine.freeBytes = 1000
  for (const [path, body] of [
    [`${db}/snapshots?wait=10`, {}],
    [`${db}/clone?wait=10`, { name: 'twin' }],
    ['/projects/shop/checkpoints?wait=10', {}],
  ] as const) {
    const refused = await app.ask<Problem>('POST', path, body)
    assert.deepEqual(
      [refused.status, refused.body.code],
      [507, 'disk_full'],
      `${path}: ${JSON.stringify(refused.body)}`,
    )
    assert.match(refused.body.detail ?? '', /1\.0 KB are free/)
  }
  assert.deepEqual(dataOf(app, project.id), before)
  // Shared blocks take none.
  app.engine.machine.copyMethod = 'copy-on-write'
  await make(app, 'shared')
})

test('a removal that is cut off between the data and its snapshot goes on with both', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  const { setDataAside } = app.engine
  let failures = 0
  t.mock.method(app.engine, 'setDataAside', async (...args: Parameters<typeof setDataAside>) => {
    if (args[1].name === id && failures++ === 0) throw new Error('cut off')
    return setDataAside(...args)
  })
  await app.ask('DELETE', `${db}?confirm=main&wait=10`)
  const items = async () => (await app.ask<{ items: TrashItem[] }>('GET', '/trash')).body.items
  await waitFor('both in the trash', async () => (await items())[0]?.state === 'kept')
  assert.ok(failures >= 1)
  assert.deepEqual(dataOf(app, project.id), ['postgresql-second'])
  assert.deepEqual((await items())[0]?.data.map(({ name }) => name).sort(), ['mariadb-main', id].sort())
  assert.deepEqual(await app.store.snapshots.of(project.id), [])
})

test('a clone has the data and the passwords of the first under its own name, and is never the primary one', async (t) => {
  const { app, project } = await openShop(t)
  const cloned = await app.ask('POST', `${db}/clone?wait=10`, { name: 'twin' })
  assert.equal(cloned.status, 201, JSON.stringify(cloned.body))
  const { databases } = cloned.body
  assert.deepEqual([databases.twin?.type, databases.twin?.version], ['mariadb', databases.main?.version])
  assert.deepEqual([databases.main?.primary, databases.twin?.primary], [true, false])
  assert.ok(dataOf(app, project.id).includes('mariadb-twin'))
  const credentials = async (name: string) =>
    (await app.ask<Record<string, unknown>>('GET', `/projects/shop/databases/${name}/credentials`)).body
  const [first, twin] = [await credentials('main'), await credentials('twin')]
  assert.deepEqual([twin.database, twin.username, twin.password], ['main', 'main', first.password])
  assert.notEqual(twin.hostPort, first.hostPort)
  assert.equal((await statesOf(app)).length, 3)
  // A clone of a clone is called the same inside.
  await app.ask('POST', '/projects/shop/databases/twin/clone?wait=10', { name: 'third' })
  assert.equal((await credentials('third')).database, 'main')
  for (const [name, code] of [
    ['main', 'conflict'],
    ['mysql', 'validation_failed'],
    ['NOT', 'validation_failed'],
  ] as const)
    assert.equal((await app.ask<Problem>('POST', `${db}/clone`, { name })).body.code, code, name)
})

test('a clone that is cancelled leaves nothing', async (t) => {
  const { app, project } = await openShop(t)
  for (const [step, name] of [
    ['stop', 'main'],
    ['start', 'second'],
  ] as const) {
    if (name === 'second') held(app)
    const hang = app.engine.hangNext(step)
    const path = `/projects/shop/databases/${name}/clone`
    const { body } = await app.ask<OperationRecord>('POST', path, { name: 'twin' })
    await hang.reached
    const cancelled = await app.ask<OperationRecord>('POST', `/operations/${body.id}/cancel?wait=10`)
    hang.release()
    assert.equal(cancelled.body.state, 'cancelled', step)
    assert.deepEqual(dataOf(app, project.id).sort(), ['mariadb-main', 'postgresql-second'], step)
    assert.deepEqual(Object.keys((await app.ask('GET', '/projects/shop')).body.databases), ['main', 'second'])
    assert.deepEqual(await statesOf(app), ['running', 'running'], step)
  }
})

test('data of a snapshot that was never whole goes with the next start, and nothing else', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  app.engine.machine.data.set(`${project.id}/snp_01kq3z8v5mleftover`, 5)
  const again = await app.reopen()
  await again.ask('GET', '/projects/shop')
  assert.deepEqual(
    dataOf(again, project.id).filter((name) => name.startsWith('snp_')),
    [id],
  )
  assert.deepEqual(
    (await list(again)).map((one) => one.id),
    [id],
  )
})

test('a snapshot whose data is gone is not restored, and nothing is touched for it', async (t) => {
  const { app, project } = await openShop(t)
  const { id } = await make(app, 'first')
  app.engine.machine.data.delete(`${project.id}/${id}`)
  const applied = app.engine.applied.length
  for (const [path, body] of [
    [`${db}/snapshots/first/restore`, { confirm: 'main' }],
    [`${db}/clone`, { name: 'twin', snapshot: 'first' }],
  ] as const)
    assert.equal((await app.ask<Problem>('POST', path, body, now)).body.code, 'engine_cannot', path)
  assert.equal(app.engine.applied.length, applied)
  assert.equal((await app.ask('DELETE', `${db}/snapshots/first`)).status, 204)
})

test('a duplicate has the data, and neither snapshots nor their secrets', async (t) => {
  const { app } = await openShop(t)
  await make(app, 'first')
  held(app)
  const { body } = await app.ask('POST', '/projects/shop/duplicate?wait=10', { name: 'Copy' })
  assert.deepEqual(dataOf(app, body.id).sort(), ['mariadb-main', 'postgresql-second'])
  assert.deepEqual(await list(app, '/projects/copy/databases/main'), [])
  assert.deepEqual(await statesOf(app), ['running', 'running'])
})
