import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Backup, OperationRecord, Plan, Problem, ProjectView } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { openTestApp, type TestApp } from './projects-support.ts'

const [newer, older] = ['8.10', '8.8']
const shop = { name: 'Shop', static: {}, redis: { version: older } }

interface World {
  readonly app: TestApp
  readonly id: string
}

async function openShop(t: TestContext, more: object = {}): Promise<World> {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const { status, body } = await app.ask('POST', '/projects?wait=10', { ...shop, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  assert.equal(body.operation?.state, 'succeeded', JSON.stringify(body.operation))
  return { app, id: body.id }
}

const change = <Body = ProjectView>({ app }: World, redis: object, query = 'wait=20') =>
  app.ask<Body>('PATCH', `/projects/shop?${query}`, { redis })
type Redis = { readonly version: string; readonly exposePort: boolean }
const redisOf = (body: ProjectView) => body.redis as Redis | undefined
const view = async ({ app }: World) => (await app.ask('GET', '/projects/shop')).body
const version = async (world: World) => redisOf(await view(world))?.version
const backups = async ({ app }: World) =>
  (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items.map(({ source, parts }) => [
    source,
    parts.find(({ id }) => id === 'service:redis')?.version,
  ])
const writer = async ({ app, id }: World) =>
  (await app.store.keptData.of(id)).find(({ name }) => name === 'redis')?.version
const oneBackup = [['before-upgrade', older]]
const succeeded = ({ body }: { readonly body: ProjectView }) => {
  assert.equal(body.operation?.state, 'succeeded', JSON.stringify(body.operation ?? body))
  return body
}

/** Nothing of the new version is started, and nothing was lost. */
async function isAsBefore(world: World): Promise<void> {
  const body = await view(world)
  const { status, generation, observedGeneration } = body
  assert.deepEqual([redisOf(body)?.version, generation], [older, observedGeneration])
  assert.equal(status.state, 'running', JSON.stringify(status))
  assert.deepEqual([await backups(world), await writer(world)], [[], older])
}

test('the plan of another version says what stops and that its data is backed up first, and does nothing', async (t) => {
  const world = await openShop(t)
  const { plan } = (await change<Plan>(world, { version: newer }, 'dryRun=true')).body
  assert.deepEqual(
    plan.steps.slice(0, 3).map(({ title, workload }) => `${workload}: ${title}`),
    ['redis: Stop what uses it: redis, static', 'redis: Back up what is there', `redis: Start Redis ${newer}`],
  )
  assert.deepEqual([plan.restarts.toSorted(), plan.keepsRunning, plan.deletesData], [['redis', 'static'], [], []])
  assert.match(
    plan.warnings.join('\n'),
    /before-upgrade[\s\S]*are back by themselves[\s\S]*half a minute[\s\S]*free room/,
  )
  await isAsBefore(world)
})

test('data is backed up as the old version wrote it before the new one opens it, and all runs again', async (t) => {
  const world = await openShop(t)
  const body = succeeded(await change(world, { version: newer, exposePort: true }))
  const { generation, observedGeneration, status, operation } = body
  const redis = redisOf(body)
  assert.deepEqual([redis?.version, redis?.exposePort, generation], [newer, true, observedGeneration])
  assert.equal(status.state, 'running', JSON.stringify(status))
  assert.deepEqual([await backups(world), await writer(world)], [oneBackup, newer])
  const ids = operation!.steps.map(({ id }) => id)
  assert.ok(ids.indexOf('manifest') >= 0 && ids.indexOf('manifest') < ids.indexOf('start:redis'), ids.join(' '))
  const back = await change<Problem>(world, { version: older })
  assert.deepEqual([back.status, back.body.errors?.[0]?.code], [422, 'version_change_refused'])
})

test('a backup that fails leaves the old version running, and the operation says why', async (t) => {
  const world = await openShop(t)
  const { engine } = world.app
  const { readData } = engine
  engine.readData = async function* () {
    yield Buffer.alloc(1)
    throw new EngineError('io_failed', 'The disk cannot be read.', { hint: 'Look at the disk.' })
  }
  const { body } = await change(world, { version: newer })
  assert.deepEqual([body.operation?.state, body.operation?.error?.detail], ['failed', 'The disk cannot be read.'])
  await isAsBefore(world)
  engine.readData = readData
  world.app.engine.machine.data.set(`${world.id}/redis`, 1e15)
  assert.deepEqual((await change<Problem>(world, { version: newer })).body.code, 'disk_full')
  await isAsBefore(world)
})

test('a version that does not start gives way to the old one with the data from before', async (t) => {
  const world = await openShop(t)
  const { engine } = world.app
  engine.failNext('start:redis')
  const { body } = await change(world, { version: newer })
  assert.equal(body.operation?.state, 'failed', JSON.stringify(body.operation))
  assert.equal(body.operation.steps.find(({ id }) => id === 'exchange')?.state, 'succeeded')
  await isAsBefore(world)
  assert.match(String(engine.machine.archives.get(`${world.id}/redis`)), /redis/)
  succeeded(await change(world, { version: newer }))
})

test('one that does not run is backed up at once, not started, and can go back until it is', async (t) => {
  const world = await openShop(t)
  await world.app.ask('POST', '/projects/shop/stop?wait=20')
  const { plan } = (await change<Plan>(world, { version: newer }, 'dryRun=true')).body
  assert.deepEqual(
    plan.steps.map(({ title }) => title),
    ['Back up what is there'],
  )
  assert.match(plan.warnings.join('\n'), /opens the data at its next start/)
  const started = world.app.engine.applied.length
  const body = succeeded(await change(world, { version: newer }))
  assert.deepEqual(
    [redisOf(body)?.version, body.status.state, body.generation],
    [newer, 'stopped', body.observedGeneration],
  )
  assert.ok(world.app.engine.applied.slice(started).every(({ step }) => !step.id.startsWith('start:')))
  assert.deepEqual([await backups(world), await writer(world)], [oneBackup, older])
  assert.equal((await change(world, { exposePort: true })).body.operation, null)
  assert.equal((await change(world, { version: older })).status, 200)
  succeeded(await change(world, { version: newer }))
  await world.app.ask('POST', '/projects/shop/start?wait=20')
  assert.equal(await writer(world), newer)
})

test('a service that is off is backed up when it is enabled with another version', async (t) => {
  const world = await openShop(t)
  await change(world, { enabled: false, version: newer })
  assert.deepEqual([await version(world), await backups(world)], [newer, []])
  const body = succeeded(await change(world, { enabled: true }))
  assert.deepEqual([redisOf(body)?.version, body.status.state], [newer, 'running'])
  assert.deepEqual([await backups(world), await writer(world)], [oneBackup, newer])
})

for (const { when, step } of [
  { when: 'while all stops', step: 'stop:redis' },
  { when: 'while the new version starts', step: 'start:redis' },
]) {
  test(`a control plane that ends ${when} has the backup or the old version at its next start, and goes on`, async (t) => {
    const first = await openShop(t)
    const { reached } = first.app.engine.hangNext(step)
    const { operation } = (await change(first, { version: newer }, 'wait=0')).body
    await reached
    assert.equal(await version(first), step === 'start:redis' ? newer : older)
    assert.deepEqual(await backups(first), step === 'start:redis' ? oneBackup : [])
    const again = { app: await first.app.reopen(), id: first.id }
    const ended = await again.app.ask<OperationRecord>('GET', `/operations/${operation!.id}?wait=30`)
    assert.equal(ended.body.state, 'succeeded', JSON.stringify(ended.body))
    assert.deepEqual([await version(again), await backups(again), await writer(again)], [newer, oneBackup, newer])
    assert.equal((await view(again)).status.state, 'running')
    assert.deepEqual([first.app.errors, again.app.errors], [[], []])
  })
}

test('one that is cancelled while the new version starts is as it was', async (t) => {
  const world = await openShop(t)
  const { reached } = world.app.engine.hangNext('start:redis')
  const { operation } = (await change(world, { version: newer }, 'wait=0')).body
  await reached
  await world.app.ask('POST', `/operations/${operation!.id}/cancel?wait=20`)
  const ended = await world.app.ask<OperationRecord>('GET', `/operations/${operation!.id}?wait=20`)
  assert.equal(ended.body.state, 'cancelled')
  await isAsBefore(world)
})

test('where the program of the old version is gone from the machine, the change is the way on', async (t) => {
  const first = await openShop(t)
  const found = first.app.engine.toolchainsFound.filter((one) => one.name !== 'redis' || one.version.startsWith(newer))
  const again = { app: await first.app.reopen({ without: ['redis'] }), id: first.id }
  again.app.engine.toolchainsFound = found
  // What is installed is looked at again only after a while.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  const { body } = await change<Plan>(again, { version: newer }, 'dryRun=true')
  const { plan } = body
  assert.ok(plan, JSON.stringify(body))
  assert.match(plan.warnings.join('\n'), /is not here any more/)
  succeeded(await change(again, { version: newer }))
  assert.deepEqual([await backups(again), (await view(again)).status.state], [oneBackup, 'running'])
})

test('data from the trash is not put under a service of another version, and is backed up when that is changed later', async (t) => {
  const world = await openShop(t)
  const { app } = world
  succeeded(await change(world, { enabled: false, removeData: true }))
  const { items } = (await app.ask<{ items: { id: string; name: string }[] }>('GET', '/trash')).body
  const restore = () => app.ask<Problem>('POST', `/trash/${items[0]!.id}/restore?wait=20`)
  await app.ask('POST', '/projects/shop/stop?wait=20')
  await change(world, { enabled: true, version: newer })
  const refused = await restore()
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'])
  assert.match(`${refused.body.detail} ${refused.body.hint}`, /8\.8.*8\.10.*to 8\.8, or switch it off/)
  assert.equal((await app.ask<{ items: unknown[] }>('GET', '/trash')).body.items.length, 1, 'it still lies there')
  assert.deepEqual(await app.engine.dataNames(world.id, AbortSignal.timeout(10_000)), [])
  await change(world, { enabled: false })
  assert.equal((await restore()).status, 200)
  assert.equal(await writer(world), older)
  succeeded(await change(world, { enabled: true }))
  assert.deepEqual([await backups(world), await version(world)], [oneBackup, newer])
})
