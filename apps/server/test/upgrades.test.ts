import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Backup, OperationRecord, Plan, Problem, ProjectView } from '@stackquay/contract'
import { openTestApp, type TestApp } from './projects-support.ts'

/** Its data is converted in place: the service runs one program for it. */
const shop = { name: 'Shop', static: {}, databases: { main: { type: 'mariadb', version: '11.4' } } }

interface World {
  readonly app: TestApp
  readonly id: string
  /** How the program that converts the data ends from now on. */
  readonly ends: { code: number; said: string; hangs: boolean }
}

async function openShop(t: TestContext): Promise<World> {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const ends = { code: 0, said: '', hangs: false }
  app.engine.commands.exec = async ({ argv }, io, { signal }) => {
    const at = new Date().toISOString()
    if (!argv.includes('convert')) return { code: 127, signal: null, at }
    if (ends.hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    await io.output('stderr', Buffer.from(ends.said))
    return { code: ends.code, signal: null, at }
  }
  const { status, body } = await app.ask('POST', '/projects?wait=10', shop)
  assert.equal(status, 201, JSON.stringify(body))
  assert.equal(body.operation?.state, 'succeeded', JSON.stringify(body.operation))
  return { app, id: body.id, ends }
}

const change = <Body = ProjectView>({ app }: World, body: object, query = 'wait=20', ask = app.ask) =>
  ask<Body>('PATCH', `/projects/shop?${query}`, { databases: { main: body } })
const view = async ({ app }: World) => (await app.ask('GET', '/projects/shop')).body
const backups = async ({ app }: World) =>
  (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items.map(({ source }) => source)
const codes = ({ body }: { readonly body: unknown }) =>
  ((body as Problem).errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)
const succeeded = ({ body }: { readonly body: ProjectView }) => {
  assert.equal(body.operation?.state, 'succeeded', JSON.stringify(body.operation ?? body))
  return body
}

test('a plan of a version says what stops, what is backed up and which way leads back, and does nothing', async (t) => {
  const world = await openShop(t)
  const { plan } = (await change<Plan>(world, { version: '11.8' }, 'dryRun=true')).body
  assert.deepEqual(
    plan.steps.map(({ title }) => title),
    [
      'Stop what uses it: mariadb-main, static',
      'Back up what is there',
      'Convert the data of MariaDB 11.4 to MariaDB 11.8',
      'Start MariaDB 11.8',
    ],
  )
  assert.deepEqual(
    [plan.restarts.toSorted(), plan.keepsRunning, plan.deletesData],
    [['mariadb-main', 'static'], [], []],
  )
  assert.deepEqual((await view(world)).databases.main?.version, '11.4')
  assert.deepEqual(await backups(world), [])
})

test('data becomes that of the later version, everything runs again, and the audit names who wanted it', async (t) => {
  const world = await openShop(t)
  const answer = await change(world, { version: '11.8', exposePort: true })
  const { databases, generation, observedGeneration, status } = succeeded(answer)
  assert.deepEqual([databases.main?.version, databases.main?.exposePort], ['11.8', true])
  assert.equal(generation, observedGeneration)
  assert.equal(status.state, 'running', JSON.stringify(status))
  assert.deepEqual(await backups(world), ['before-upgrade'])
  const [entry] = await world.app.store.audit.list({ limit: 1, action: 'project.update' })
  assert.match(JSON.stringify(entry?.changes), /11\.8.*11\.4/)
})

test('while the data is of the old version, so is the answer', async (t) => {
  const world = await openShop(t)
  world.ends.hangs = true
  const { body } = await change(world, { version: '11.8', exposePort: true }, 'wait=0')
  assert.deepEqual([body.databases.main?.version, body.databases.main?.exposePort], ['11.4', true])
  assert.equal((await change<Problem>(world, { exposePort: false })).body.code, 'busy')
  const cancelled = await world.app.ask<OperationRecord>('POST', `/operations/${body.operation!.id}/cancel?wait=20`)
  assert.equal(cancelled.status, 200, JSON.stringify(cancelled.body))
  const ended = await world.app.ask<OperationRecord>('GET', `/operations/${body.operation!.id}?wait=20`)
  assert.equal(ended.body.state, 'cancelled')
  const after = await view(world)
  assert.deepEqual([after.databases.main?.version, after.databases.main?.exposePort], ['11.4', true])
  assert.deepEqual(await backups(world), [])
})

test('one that fails puts version and data back, and says why', async (t) => {
  const world = await openShop(t)
  Object.assign(world.ends, { code: 1, said: 'ERROR: the table book is damaged\n' })
  const { body } = await change(world, { version: '11.8' })
  assert.equal(body.operation?.state, 'failed')
  assert.match(body.operation?.error?.detail ?? '', /the table book is damaged/)
  assert.deepEqual([body.databases.main?.version, body.generation], ['11.4', body.observedGeneration])
  assert.equal((await view(world)).status.state, 'running')
  assert.deepEqual(await backups(world), [])
  Object.assign(world.ends, { code: 69, said: 'The program mariadb-upgrade is not on this machine.\n' })
  const missing = (await change(world, { version: '11.8' })).body.operation?.error
  assert.equal(missing?.code, 'engine_cannot')
  assert.match(missing?.hint ?? '', /apt-get install -y mariadb-server/)
})

test('a server of the new version that does not start puts version and data back too', async (t) => {
  const world = await openShop(t)
  world.app.engine.failNext('start:mariadb-main')
  const { body } = await change(world, { version: '11.8' })
  assert.equal(body.operation?.state, 'failed')
  assert.equal(body.operation.steps.find(({ id }) => id === 'exchange')?.state, 'succeeded')
  const after = await view(world)
  assert.deepEqual([after.databases.main?.version, after.generation], ['11.4', after.observedGeneration])
  assert.equal(after.status.state, 'running', JSON.stringify(after.status))
  assert.deepEqual(await backups(world), [])
  succeeded(await change(world, { version: '11.8' }))
})

test('back needs a backup from before, the word that later writes go, and an administrator', async (t) => {
  const world = await openShop(t)
  succeeded(await change(world, { version: '11.8' }))
  assert.deepEqual(codes(await change(world, { version: '11.4' })), ['/databases/main/removeData confirm'])
  const operator = await world.app.as('operate')
  const asks = { version: '11.4', removeData: true }
  for (const query of ['wait=20', 'dryRun=true']) assert.equal((await change(world, asks, query, operator)).status, 403)
  const { plan } = (await change<Plan>(world, asks, 'dryRun=true')).body
  assert.deepEqual(plan.deletesData, ['mariadb-main'])
  assert.equal(succeeded(await change(world, asks)).databases.main?.version, '11.4')
  assert.deepEqual(await backups(world), ['before-restore', 'before-upgrade'])
  const [entry] = await world.app.store.audit.list({ limit: 1, action: 'project.update' })
  assert.match(JSON.stringify(entry?.changes), /"deletesData":\["main"\]/)
  const kept = (await world.app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items
  for (const { id } of kept) await world.app.ask('DELETE', `/projects/shop/backups/${id}?confirm=${id}`)
  succeeded(await change(world, { version: '11.8' }))
})

test('what would not fit is refused before anything is touched', async (t) => {
  const world = await openShop(t)
  world.app.engine.machine.data.set(`${world.id}/mariadb-main`, 1e15)
  for (const query of ['dryRun=true', 'wait=20']) {
    const { status, body } = await change<Problem>(world, { version: '11.8' }, query)
    assert.deepEqual([status, body.code], [507, 'disk_full'])
  }
  const after = await view(world)
  assert.deepEqual([after.operation, after.databases.main?.version], [null, '11.4'])
})

test('a project that is deleted meanwhile is gone', async (t) => {
  const world = await openShop(t)
  world.ends.hangs = true
  await change(world, { version: '11.8' }, 'wait=0')
  const gone = await world.app.ask('DELETE', '/projects/shop?data=delete&confirm=shop&wait=20')
  assert.ok(gone.status < 300, JSON.stringify(gone.body))
  assert.equal((await world.app.ask('GET', '/projects/shop')).status, 404)
})

test('a project is created with another version than its template has', async (t) => {
  const app = await openTestApp(t)
  const body = { name: 'Guests', template: 'guestbook', databases: { main: { version: '17' } } }
  const answer = await app.ask<Plan>('POST', '/projects?dryRun=true', body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const made = await app.ask('POST', '/projects?wait=10', { ...body, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.body.databases.main?.version, '17')
})
