import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DiagnosticCheck, InstanceBackup, Orphan, TrashItem } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import type { FakeEngine } from '@stackquay/engine-api/fake-engine'
import { newId } from '@stackquay/store'
import { admin } from './app-support.ts'
import { openTestApp, type PlanAnswer, type ProblemAnswer, type TestApp } from './projects-support.ts'

const signal = AbortSignal.timeout(300_000)
const web = {
  name: 'Shop',
  static: {},
  redis: {},
  databases: { main: { type: 'postgresql' }, second: { type: 'mariadb' } },
  env: { KEY: { value: 'öffnet', secret: true }, PLAIN: { value: 'x', secret: false } },
}
type List = { items: TrashItem[]; keepDays: number }

async function shop(app: TestApp) {
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', { ...web, start: true })
  assert.equal(made.body.operation?.state, 'succeeded', JSON.stringify(made.body))
  // What it has now is told from what comes in its place.
  for (const key of app.engine.machine.data.keys()) app.engine.machine.archives.set(key, randomBytes(64))
  return made.body
}
const listed = async ({ ask }: TestApp) => (await ask<List>('GET', '/trash')).body.items
const only = async (app: TestApp): Promise<TrashItem> => {
  const items = await listed(app)
  assert.equal(items.length, 1, JSON.stringify(items))
  return items[0]!
}
const drop = (app: TestApp, more = 'data=delete', slug = 'shop') =>
  app.ask('DELETE', `/projects/${slug}?confirm=${slug}&wait=30&${more}`)
const restore = (app: TestApp, { id }: { id: string }, body?: object) =>
  app.ask('POST', `/trash/${id}/restore?wait=30`, body)
/** What all data of a project holds, by name. */
async function bytesOf(engine: FakeEngine, project: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {}
  for (const name of [...(await engine.dataNames(project, signal))].sort()) {
    const content = Buffer.concat(await Array.fromAsync(engine.readData(project, name, signal)))
    all[name] = createHash('sha256').update(content).digest('hex').slice(0, 12)
  }
  return all
}
async function secretsOf({ store }: TestApp, id: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const [name, { secret, version }] of Object.entries(await store.secrets.of(id)))
    texts[name] = (await store.secrets.reveal(secret, version)).expose()
  return texts
}
const asides = async ({ engine }: TestApp, id: string) =>
  (await engine.asides(id, signal)).map(({ name }) => name).sort()
const actions = async ({ store }: TestApp, action: string) =>
  (await store.audit.list({ limit: 20, action })).map(({ target, actor, outcome }) => [
    target,
    actor.split(' ')[0],
    outcome,
  ])

test('a deleted project is gone at once, and comes back whole: settings, secrets, names, rules, ports and every byte', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  assert.equal((await app.ask('POST', '/projects/shop/domains', { host: 'shop.example.org' })).status, 201)
  const rules = { allowIps: ['127.0.0.1'] }
  assert.equal((await app.ask('PUT', '/projects/shop/proxy-rules', rules)).status, 200)
  await app.ask('POST', '/projects/shop/stop?wait=30')
  const before = {
    project: (await app.ask('GET', '/projects/shop')).body,
    bytes: await bytesOf(app.engine, id),
    secrets: await secretsOf(app, id),
    ports: await app.store.ports.of(id),
    rules: (await app.ask('GET', '/projects/shop/proxy-rules')).body,
    kept: await app.store.keptData.of(id),
  }
  assert.deepEqual(Object.keys(before.bytes), ['mariadb-second', 'postgresql-main', 'redis'])

  const plan = await app.ask<PlanAnswer>('DELETE', '/projects/shop?data=delete&dryRun=true')
  const until = Date.parse(plan.body.plan.trashUntil ?? '') - Date.now()
  assert.ok(Math.abs(until - 30 * 86_400_000) < 60_000, String(plan.body.plan.trashUntil))
  assert.ok(plan.body.plan.steps.some(({ title }) => title === 'Move the data "redis" to the trash'))
  assert.equal((await drop(app)).status, 200)
  assert.equal((await app.ask('GET', '/projects/shop')).status, 404)
  assert.deepEqual(await app.engine.dataNames(id, signal), [])
  assert.deepEqual(await app.store.secrets.of(id), {})
  assert.deepEqual((await app.ask<{ orphans: Orphan[] }>('GET', '/system/diagnostics')).body.orphans, [])
  assert.equal((await app.ask<ProblemAnswer>('DELETE', `/system/orphans/${id}?data=delete`)).status, 409)

  const item = await only(app)
  assert.deepEqual(
    [item.kind, item.name, item.state, item.project, item.sizeBytes, item.deletedBy.split(' ')[0]],
    ['project', 'shop', 'kept', { id, slug: 'shop', name: 'Shop', deleted: true }, 3 * 4096, 'ada'],
  )
  assert.equal((await app.ask('POST', '/projects?wait=30', { name: 'Other', static: {}, start: false })).status, 201)
  assert.equal((await app.ask('POST', '/projects/other/domains', { host: 'shop.example.org' })).status, 201)
  const held = await restore(app, item)
  assert.deepEqual([held.status, held.body.code], [409, 'conflict'])
  assert.match(JSON.stringify(held.body), /shop\.example\.org/)
  await app.ask('DELETE', '/projects/other/domains/shop.example.org')

  const again = await app.reopen()
  const back = await restore(again, item)
  assert.equal(back.status, 200, JSON.stringify(back.body))
  const now = (await again.ask('GET', '/projects/shop')).body
  for (const field of ['id', 'slug', 'name', 'path', 'databases', 'env', 'redis', 'static', 'createdAt', 'generation'])
    assert.deepEqual(now[field as keyof typeof now], before.project[field as keyof typeof now], field)
  assert.equal(now.status.state, 'stopped')
  assert.deepEqual(await bytesOf(again.engine, id), before.bytes)
  assert.deepEqual(await secretsOf(again, id), before.secrets)
  assert.deepEqual(await again.store.ports.of(id), before.ports)
  assert.deepEqual((await again.ask('GET', '/projects/shop/proxy-rules')).body, before.rules)
  assert.deepEqual(await again.store.keptData.of(id), before.kept)
  assert.deepEqual(
    (await again.store.network.domains(id)).map(({ host }) => host),
    ['shop.example.org'],
  )
  assert.deepEqual([await listed(again), await asides(again, id)], [[], []])
  const started = await again.ask('POST', '/projects/shop/start?wait=30')
  assert.equal((started.body as unknown as { state: string }).state, 'succeeded', JSON.stringify(started.body))
  const done = (await actions(again, 'trash.restore')).filter(([, , outcome]) => outcome === 'success')
  assert.deepEqual(done, [['shop', 'ada', 'success']])
})

test('a taken slug is refused, and another one is the way on; host names are left out when that is said', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  assert.equal((await app.ask('POST', '/projects/shop/domains', { host: 'shop.example.org' })).status, 201)
  await drop(app)
  const item = await only(app)
  const other = await app.ask('POST', '/projects?wait=30', { name: 'Shop', static: {} })
  assert.equal(other.status, 201, 'the name is free')
  await app.ask('POST', '/projects/shop/domains', { host: 'shop.example.org' })
  const refused = await restore(app, item)
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'])
  assert.equal((await restore(app, item, { slug: 'api' })).status, 422)
  assert.equal((await restore(app, item, { slug: 'shop-2' })).status, 409, 'the host name is still taken')
  assert.deepEqual(await asides(app, id), ['mariadb-second', 'postgresql-main', 'redis'])
  const back = await restore(app, item, { slug: 'shop-2', leaveOutHosts: true })
  assert.deepEqual([back.status, back.body.id, back.body.slug], [200, id, 'shop-2'])
  assert.deepEqual(await app.store.network.domains(id), [])
  assert.equal((await app.ask('GET', '/projects?q=shop-2')).status, 200)
  assert.equal((await restore(app, item)).status, 404)
})

test('removed data of a service begins anew with new credentials, and the old data comes back with the old ones', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const old = await secretsOf(app, id)
  const bytes = (await app.ask('POST', '/projects/shop/stop?wait=30')) && (await bytesOf(app.engine, id)).redis
  const removed = await app.ask('PATCH', '/projects/shop?wait=30', { redis: { enabled: false, removeData: true } })
  assert.equal(removed.body.operation?.state, 'succeeded', JSON.stringify(removed.body))
  const extras = await app.ask<{ keptData: unknown[] }>('GET', '/projects/shop/extras')
  assert.deepEqual(extras.body.keptData, [])
  const item = await only(app)
  assert.deepEqual([item.kind, item.name, item.data], ['service', 'redis', [{ name: 'redis', sizeBytes: 4096 }]])

  await app.ask('PATCH', '/projects/shop?wait=30', { redis: { enabled: true } })
  await app.ask('POST', '/projects/shop/start?wait=30')
  const fresh = await secretsOf(app, id)
  assert.notEqual(fresh['service/redis/password'], old['service/redis/password'])
  const refused = await restore(app, item)
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'])

  await app.ask('PATCH', '/projects/shop?wait=30', { redis: { enabled: false, removeData: true } })
  assert.equal((await listed(app)).length, 2)
  await app.ask('POST', '/projects/shop/stop?wait=30')
  const back = await restore(app, item)
  assert.equal(back.status, 200, JSON.stringify(back.body))
  const kept = await app.ask<{ keptData: { kind: string; version: string | null; keptAt: string | null }[] }>(
    'GET',
    '/projects/shop/extras',
  )
  assert.deepEqual(
    kept.body.keptData.map(({ kind, keptAt }) => [kind, keptAt !== null]),
    [['redis', true]],
  )
  assert.ok(kept.body.keptData[0]?.version !== null)
  assert.deepEqual(await secretsOf(app, id), old)
  assert.equal((await bytesOf(app.engine, id)).redis, bytes)
  assert.equal((await listed(app)).length, 1, 'the newer one still lies there')
})

test('a dropped database comes back with its settings and password, and starts where the project runs', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const old = await secretsOf(app, id)
  const { databases } = (await app.ask('GET', '/projects/shop')).body
  assert.equal((await app.ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=30')).status, 200)
  assert.deepEqual(Object.keys((await app.ask('GET', '/projects/shop')).body.databases), ['second'])
  const item = await only(app)
  assert.deepEqual([item.kind, item.name, item.project.deleted], ['database', 'main', false])

  const made = await app.ask('POST', '/projects/shop/databases?wait=30', { name: 'main', type: 'postgresql' })
  assert.equal(made.status, 201, 'a new one of the name is empty')
  assert.equal((await restore(app, item)).status, 409)
  await app.ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=30&purge=true')
  assert.equal((await listed(app)).length, 1, 'a purge leaves nothing')

  const back = await restore(app, item)
  assert.equal(back.status, 200, JSON.stringify(back.body))
  assert.equal(back.body.operation?.state, 'succeeded', JSON.stringify(back.body.operation))
  const now = (await app.ask('GET', '/projects/shop')).body.databases
  assert.deepEqual(
    [now.main?.type, now.main?.version, now.main?.primary, now.second?.primary],
    [databases.main?.type, databases.main?.version, true, false],
  )
  assert.deepEqual(await secretsOf(app, id), old)
  const running = await app.engine.observe(id, signal)
  assert.ok(running.some(({ ref, state }) => ref.workload === 'postgresql-main' && state === 'running'))
  assert.deepEqual(await listed(app), [])
})

test('without data or with a purge: what goes where, and that only a purge frees disk', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const purge = await app.ask<PlanAnswer>('DELETE', '/projects/shop?data=delete&purge=true&dryRun=true')
  assert.equal(purge.body.plan.trashUntil, null)
  assert.ok(purge.body.plan.steps.some(({ title }) => title === 'Delete the data "redis"'))
  const gone = await app.ask<PlanAnswer>('PATCH', '/projects/shop?dryRun=true', { redis: { enabled: false } })
  assert.equal(gone.body.plan.trashUntil, null, 'nothing is deleted')

  await drop(app, 'data=keep')
  assert.deepEqual(
    [await app.engine.dataNames(id, signal).then((names) => names.length), await asides(app, id)],
    [3, []],
  )
  const item = await only(app)
  assert.deepEqual([item.data, item.sizeBytes], [[], 0])
  assert.equal((await restore(app, item)).status, 200, 'kept data is attached again')
  assert.equal((await app.ask<{ state: string }>('POST', '/projects/shop/start?wait=30')).body.state, 'succeeded')

  await drop(app, 'data=delete&purge=true')
  assert.deepEqual([await listed(app), app.engine.machine.data.size, await asides(app, id)], [[], 0, []])
})

test('it is purged by hand with its name typed, and by itself when its day has come, and both are written down', async (t) => {
  let now = new Date('2026-03-01T00:00:00Z')
  const app = await openTestApp(t, { now: () => now, env: { STACKQUAY_TRASH_DAYS: '7' } })
  const { id } = await shop(app)
  await app.ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=30')
  const database = await only(app)
  assert.equal(database.purgeAt.slice(0, 10), '2026-03-08')
  assert.equal((await app.ask<ProblemAnswer>('DELETE', `/trash/${database.id}`)).status, 422)
  assert.equal((await app.ask<ProblemAnswer>('DELETE', `/trash/${database.id}?confirm=shop`)).status, 422)
  const purged = await app.ask<TrashItem>('DELETE', `/trash/${database.id}?confirm=main`)
  assert.deepEqual([purged.status, purged.body.id], [200, database.id])
  assert.deepEqual([await listed(app), await asides(app, id)], [[], []])
  assert.equal((await app.ask<ProblemAnswer>('DELETE', `/trash/${database.id}?confirm=main`)).status, 404)
  assert.deepEqual(await actions(app, 'trash.purge'), [['shop/main', 'ada', 'success']])

  await drop(app)
  now = new Date('2026-03-07T23:59:59Z')
  const early = await app.reopen({ now: () => now })
  assert.equal((await listed(early)).length, 1)
  now = new Date('2026-03-08T00:00:01Z')
  const due = await early.reopen({ now: () => now })
  for (let tries = 0; tries < 100 && (await listed(due)).length > 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual([await listed(due), await asides(due, id)], [[], []])
  assert.equal((await actions(due, 'trash.purge'))[0]?.[1], 'system')
})

test('only administrators, and of tokens for projects those of the project, see, restore and purge', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const { body: other } = await app.ask('POST', '/projects?wait=30', { name: 'Other', static: {} })
  await drop(app)
  await drop(app, 'data=delete', 'other')
  const item = (await listed(app)).find(({ name }) => name === 'shop')!
  for (const scope of ['read', 'operate'] as const) {
    const caller = await app.as(scope)
    assert.equal((await caller('GET', '/trash')).status, 403)
    assert.equal((await caller('POST', `/trash/${item.id}/restore`)).status, 403)
    assert.equal((await caller('DELETE', `/trash/${item.id}?confirm=shop`)).status, 403)
  }
  const stranger = await app.as('admin', [other.id])
  assert.deepEqual(
    (await stranger<List>('GET', '/trash')).body.items.map(({ name }) => name),
    ['other'],
  )
  for (const which of [item.id, 'trs_unknown']) {
    const refused = await stranger<ProblemAnswer>('POST', `/trash/${which}/restore`)
    assert.deepEqual([refused.status, refused.body.code], [403, 'project_forbidden'], which)
    assert.equal((await stranger('DELETE', `/trash/${which}?confirm=shop`)).status, 403)
  }
  const own = await app.as('admin', [id])
  assert.deepEqual(
    (await own<List>('GET', '/trash')).body.items.map(({ name }) => name),
    ['shop'],
  )
  assert.equal((await own('POST', `/trash/${item.id}/restore`)).status, 200)
})

test('a deletion that fails leaves the project with all of its data, and a removal that fails is done again', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  await app.ask('POST', '/projects/shop/stop?wait=30')
  const bytes = await bytesOf(app.engine, id)
  app.engine.failNext('deleteData:redis', new EngineError('io_failed', 'No.', { hint: 'Wait.' }))
  const failed = await drop(app)
  assert.equal((failed.body as unknown as { state: string }).state, 'failed')
  assert.deepEqual(await bytesOf(app.engine, id), bytes)
  assert.deepEqual([await listed(app), await asides(app, id)], [[], []])
  assert.equal((await app.ask('GET', '/projects/shop')).status, 200)

  app.engine.failNext('deleteData:redis')
  const patch = { redis: { enabled: false, removeData: true } }
  const removal = await app.ask('PATCH', '/projects/shop?wait=30', patch)
  assert.equal(removal.body.operation?.state, 'failed')
  assert.deepEqual([await listed(app), await asides(app, id)], [[], []])
  assert.equal((await app.ask('DELETE', '/projects/shop/extras/redis/data?wait=30')).status, 200)
  assert.deepEqual([(await only(app)).name, await asides(app, id)], ['redis', ['redis']])
})

/** As a kill leaves it: the intent is written down, and some of the data was moved. */
async function cutOff(app: TestApp, project: string, state: 'moving' | 'restoring', moved: readonly string[]) {
  const row = (await app.store.projects.find(project))!
  const item = await app.store.transaction((tx) =>
    tx.trash.add({
      id: newId('trs'),
      kind: 'project',
      name: row.slug,
      project,
      slug: row.slug,
      projectName: row.spec.name,
      engine: row.engine,
      operation: null,
      data: ['mariadb-second', 'postgresql-main', 'redis'].map((name) => ({ name, sizeBytes: 4096 })),
      deletedAt: new Date().toISOString(),
      deletedBy: 'ada',
      purgeAt: new Date(Date.now() + 1e9).toISOString(),
      database: null,
      secrets: [],
    }),
  )
  for (const name of moved) await app.engine.setDataAside(project, { name, key: item.id }, signal)
  if (state === 'restoring') {
    await app.store.transaction((tx) => tx.trash.takeProject(item.id))
    await app.store.transaction((tx) => tx.trash.setState(item.id, ['kept'], 'restoring'))
  }
  return item
}

test('a kill between the steps: at the next start a deletion is undone, a restore too, and nothing is lost', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  await app.ask('POST', '/projects/shop/stop?wait=30')
  const bytes = await bytesOf(app.engine, id)
  const secrets = await secretsOf(app, id)
  const names = Object.keys(bytes)
  let last = app
  for (const count of [0, 1, 3]) {
    await cutOff(last, id, 'moving', names.slice(0, count))
    last = await last.reopen()
    assert.deepEqual([await bytesOf(last.engine, id), await asides(last, id)], [bytes, []], `${count} were moved`)
    assert.deepEqual(await listed(last), [])
  }
  for (const count of [3, 1, 0]) {
    // So many still lie aside: the rest was put back before the kill.
    const item = await cutOff(last, id, 'restoring', names.slice(0, count))
    last = await last.reopen()
    assert.deepEqual([await last.engine.dataNames(id, signal), (await asides(last, id)).length], [[], 3])
    assert.equal((await only(last)).state, 'kept')
    const back = await restore(last, item)
    assert.equal(back.status, 200, JSON.stringify(back.body))
    assert.deepEqual(
      [await bytesOf(last.engine, id), await secretsOf(last, id)],
      [bytes, secrets],
      `${count} lay aside`,
    )
  }
  // A purge that was cut off goes on.
  const item = await cutOff(last, id, 'restoring', names)
  await last.store.transaction((tx) => tx.trash.setState(item.id, ['restoring'], 'purging'))
  await last.engine.removeAside(id, { name: 'redis', key: item.id }, signal)
  last = await last.reopen()
  for (let tries = 0; tries < 100 && (await listed(last)).length > 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual([await listed(last), await asides(last, id)], [[], []])
})

test('twenty who restore and purge at once: one wins, and the data is either all back or all gone', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  await drop(app)
  const item = await only(app)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      at % 2 === 0 ? restore(app, item) : app.ask('DELETE', `/trash/${item.id}?confirm=shop`),
    ),
  )
  const statuses = answers.map(({ status }) => status)
  assert.ok(
    statuses.every((status) => [200, 404, 409].includes(status)),
    statuses.join(' '),
  )
  const names = await app.engine.dataNames(id, signal)
  const isBack = (await app.ask('GET', '/projects/shop')).status === 200
  assert.equal(names.length, isBack ? 3 : 0)
  assert.deepEqual([await listed(app), await asides(app, id)], [[], []])
})

test('the key is replaced for secrets in the trash too', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const secrets = await secretsOf(app, id)
  await drop(app)
  const item = await only(app)
  const next = { id: 'next-key', key: randomBytes(32) }
  await app.store.replaceKey(next, async () => {})
  assert.equal((await restore(app, item)).status, 200)
  assert.deepEqual(await secretsOf(app, id), secrets)
})

test('after a restore of the instance to before the deletion, data that lies aside goes back unless there is other data by now', async (t) => {
  const env = { STACKQUAY_SECRET_KEY: randomBytes(32).toString('hex') }
  const before = await openTestApp(t, { env })
  const { id } = await shop(before)
  await before.ask('POST', '/projects/shop/stop?wait=30')
  const bytes = await bytesOf(before.engine, id)
  const { body: backup } = await before.ask<InstanceBackup>('POST', '/instance/backups', {})
  const file = join(await emptyFolder(t), 'instance.tar')
  writeFileSync(file, await download(before, backup.id))
  await before.ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=30')
  await before.ask('PATCH', '/projects/shop?wait=30', { redis: { enabled: false, removeData: true } })
  await before.ask('PATCH', '/projects/shop?wait=30', { redis: { enabled: true } })
  await before.ask('POST', '/projects/shop/start?wait=30')
  await before.ask('POST', '/projects/shop/stop?wait=30')
  const redis = (await bytesOf(before.engine, id)).redis
  await before.app.close()

  const home = await emptyFolder(t)
  const after = await openTestApp(t, { folder: home, engine: before.engine, env: { ...env, STACKQUAY_RESTORE: file } })
  assert.deepEqual(await listed(after), [])
  assert.deepEqual(await bytesOf(after.engine, id), { ...bytes, redis }, 'the database is the one of then')
  assert.deepEqual(await actions(after, 'trash.restore'), [['shop/postgresql-main', 'system', 'success']])
  assert.deepEqual(await asides(after, id), ['redis'], 'what has no place stays')
  const { body } = await after.ask<{ checks: DiagnosticCheck[]; orphans: Orphan[] }>('GET', '/system/diagnostics')
  assert.deepEqual(body.orphans, [{ id, workloads: [], data: [], asides: ['redis'] }])
  assert.equal((await after.ask<Orphan>('DELETE', `/system/orphans/${id}?data=delete`)).status, 200)
  assert.deepEqual([await asides(after, id), Object.keys(await bytesOf(after.engine, id)).length], [[], 3])
})

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-trash-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function download({ app }: TestApp, id: string): Promise<Buffer> {
  const host = { host: 'localhost' }
  const entered = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: admin, headers: host })
  const cookie = entered.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const headers = { ...host, cookie, 'x-csrf-token': entered.json().csrfToken }
  const { statusCode, rawPayload } = await app.http.inject({ url: `/api/v1/instance/backups/${id}/download`, headers })
  assert.equal(statusCode, 200)
  return rawPayload
}
