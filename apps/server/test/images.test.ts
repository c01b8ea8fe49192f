import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databaseTypeOf } from '@stackquay/catalog'
import type { WorkloadImages } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import {
  type OperationAnswer,
  openTestApp,
  type PlanAnswer,
  type ProblemAnswer,
  type TestApp,
} from './projects-support.ts'

const postgresql = databaseTypeOf('postgresql')!
const database = `${postgresql.name}-main`
const reference = postgresql.image.reference(postgresql.releases[0]!.version)

/** What is seen of a workload is written down a moment later. */
const until = (what: string, check: () => Promise<boolean>) => waitFor(what, check, { timeoutMs: 30_000 })

/** An app whose engine runs images, and in it a project with a database that runs. */
async function openShop(t: TestContext): Promise<TestApp & { id: string; images(): Promise<WorkloadImages> }> {
  const app = await openTestApp(t, { images: true })
  const body = { name: 'Shop', engine: 'docker', databases: { main: { type: 'postgresql' } } }
  const made = await app.ask('POST', '/projects?wait=30', body)
  assert.deepEqual([made.status, made.body.engine], [201, 'docker'], JSON.stringify(made.body))
  const images = async () => {
    const { status, body: answer } = await app.ask<{ items: WorkloadImages[] }>('GET', '/projects/shop/images')
    assert.equal(status, 200)
    return answer.items.find(({ workload }) => workload === database)!
  }
  await until('the build is written down', async () => (await images()).current !== null)
  return { ...app, id: made.body.id, images }
}

const use = (build: 'previous' | 'latest', workload = database) => ({ workload, use: build })
const runsFrom = ({ engine }: TestApp, id: string) => engine.machine.workloads.get(`${id}/${database}`)?.image

test('a restart keeps the build that a workload has; newer images are taken when that is asked for', async (t) => {
  const shop = await openShop(t)
  const first = await shop.images()
  assert.deepEqual([first.reference, first.pinned, first.previous], [reference, false, null])
  const newer = shop.engine.machine.images.publish(reference)
  await shop.ask('POST', '/projects/shop/restart?wait=30')
  assert.equal(runsFrom(shop, shop.id)?.id, first.current?.id)

  const { body } = await shop.ask<OperationAnswer>('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  assert.equal(body.state, 'succeeded', JSON.stringify(body.error))
  assert.equal(runsFrom(shop, shop.id)?.id, newer)
  await until('the new build is written down', async () => (await shop.images()).current?.id === newer)
  assert.equal((await shop.images()).previous?.id, first.current?.id)
})

test('a workload goes back to the build before and stays with it until the latest is asked for', async (t) => {
  const shop = await openShop(t)
  const before = (await shop.images()).current!.id
  const newer = shop.engine.machine.images.publish(reference)
  await shop.ask('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  await until('the new build is written down', async () => (await shop.images()).current?.id === newer)

  const plan = await shop.ask<PlanAnswer>('POST', '/projects/shop/images?dryRun=true', use('previous'))
  assert.deepEqual(plan.body.plan.restarts, [database])
  assert.ok(
    plan.body.plan.steps.some(({ title }) => title.includes(before)),
    JSON.stringify(plan.body.plan.steps),
  )
  assert.equal((await shop.images()).pinned, false, 'a plan writes nothing')

  const back = await shop.ask<OperationAnswer>('POST', '/projects/shop/images?wait=30', use('previous'))
  assert.deepEqual([back.status, back.body.state], [200, 'succeeded'], JSON.stringify(back.body))
  assert.equal(runsFrom(shop, shop.id)?.id, before)
  await until('the old build is the present one', async () => (await shop.images()).current?.id === before)
  const pinned = await shop.images()
  assert.deepEqual([pinned.reference, pinned.pinned, pinned.previous?.id], [reference, true, newer])

  // Whatever else changes: a restart with newer images, another setting, a restart of the service.
  await shop.ask('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  await shop.ask('PATCH', '/projects/shop?wait=30', { databases: { main: { exposePort: true } } })
  const reopened = await shop.reopen()
  assert.equal(runsFrom(reopened, shop.id)?.id, before)

  const newest = reopened.engine.machine.images.publish(reference)
  const on = await reopened.ask<OperationAnswer>('POST', '/projects/shop/images?wait=30', use('latest'))
  assert.equal(on.body.state, 'succeeded', JSON.stringify(on.body.error))
  assert.equal(runsFrom(reopened, shop.id)?.id, newest)
  assert.deepEqual(await reopened.store.images.pins(shop.id), [])
})

test('a build that is gone leaves the workload running and the choice as it was', async (t) => {
  const shop = await openShop(t)
  const before = (await shop.images()).current!.id
  const newer = shop.engine.machine.images.publish(reference)
  await shop.ask('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  await until('the new build is written down', async () => (await shop.images()).previous?.id === before)
  shop.engine.machine.images.forget(before)
  const { pid } = shop.engine.machine.workloads.get(`${shop.id}/${database}`)!

  const back = await shop.ask<OperationAnswer>('POST', '/projects/shop/images?wait=30', use('previous'))
  assert.deepEqual([back.body.state, back.body.error?.code], ['failed', 'image_not_found'])
  const now = shop.engine.machine.workloads.get(`${shop.id}/${database}`)!
  assert.deepEqual([now.pid, now.state, now.image?.id], [pid, 'running', newer])
  assert.deepEqual(await shop.store.images.pins(shop.id), [])
})

test('a registry that cannot be reached takes no choice away', async (t) => {
  const shop = await openShop(t)
  const before = (await shop.images()).current!.id
  shop.engine.machine.images.publish(reference)
  await shop.ask('POST', '/projects/shop/restart?wait=30', { newerImages: true })
  await until('the new build is written down', async () => (await shop.images()).previous?.id === before)
  await shop.ask('POST', '/projects/shop/images?wait=30', use('previous'))

  const away = new EngineError('image_unavailable', 'No way there.', { hint: 'Mend it.', retryable: true })
  shop.engine.failNext('pull', away)
  const on = await shop.ask<OperationAnswer>('POST', '/projects/shop/images?wait=30', use('latest'))
  assert.deepEqual([on.body.state, on.body.error?.code], ['failed', 'image_unavailable'])
  assert.equal((await shop.images()).pinned, true)
  assert.equal(runsFrom(shop, shop.id)?.id, before)
})

test('what cannot be is refused with what there is', async (t) => {
  const shop = await openShop(t)
  const refused = async (path: string, body: object) => {
    const answer = await shop.ask<ProblemAnswer>('POST', path, body)
    return [answer.status, answer.body.code, answer.body.errors?.map(({ pointer, code }) => `${pointer} ${code}`)]
  }
  assert.deepEqual(await refused('/projects/shop/images', use('previous')), [
    422,
    'validation_failed',
    ['/use no_previous'],
  ])
  assert.deepEqual(await refused('/projects/shop/images', use('latest', 'node')), [
    422,
    'validation_failed',
    ['/workload unknown_workload'],
  ])
})

test('a build is chosen while the project restarts: the waiting operation takes it, and knows the way back past both choices', async (t) => {
  const shop = await openShop(t)
  const hang = shop.engine.hangNext('stop')
  await shop.ask('POST', '/projects/shop/restart')
  const chosen = await shop.ask<OperationAnswer>('POST', '/projects/shop/images', use('latest'))
  assert.deepEqual([chosen.status, chosen.body.kind, chosen.body.state], [202, 'restart', 'queued'])
  const again = await shop.ask<OperationAnswer>('POST', '/projects/shop/images', use('latest'))
  assert.deepEqual([again.body.id, again.body.requestedBy.length], [chosen.body.id, 2])
  hang.release()
  const ended = await shop.ask<OperationAnswer>('GET', `/operations/${chosen.body.id}?wait=20`)
  assert.equal(ended.body.state, 'succeeded')
})

test('an engine that runs no images refuses what is about them', async (t) => {
  const { ask } = await openTestApp(t)
  const made = await ask('POST', '/projects?wait=30', { name: 'Shop', databases: { main: { type: 'postgresql' } } })
  assert.equal(made.body.engine, 'native')
  for (const [path, body] of [
    ['/projects/shop/images', use('latest')],
    ['/projects/shop/restart', { newerImages: true }],
    ['/projects/shop/start', { newerImages: true }],
  ] as const) {
    const answer = await ask<ProblemAnswer>('POST', path, body)
    assert.deepEqual([answer.status, answer.body.code], [422, 'engine_cannot'], path)
    assert.ok(answer.body.hint.length > 5)
  }
  const none = await ask<{ items: unknown[] }>('GET', '/projects/shop/images')
  assert.deepEqual(none.body, { items: [] })
  const boxed = await ask<ProblemAnswer>('POST', '/projects', { name: 'Boxed', engine: 'docker' })
  assert.deepEqual([boxed.status, boxed.body.errors?.[0]?.pointer], [422, '/engine'])
})

test('a project is on the engine that was asked for, and its copy too', async (t) => {
  const { ask, engine, store } = await openTestApp(t, { images: true })
  engine.setUnavailable('Nobody answers at unix:///var/run/docker.sock.')
  const away = await ask<ProblemAnswer>('POST', '/projects', { name: 'Boxed', engine: 'docker' })
  assert.deepEqual([away.status, away.body.code], [422, 'unavailable_here'])
  assert.match(away.body.detail, /Nobody answers/)
  engine.setUnavailable(null)
  assert.equal((await ask<ProblemAnswer>('POST', '/projects', { name: 'Boxed', engine: 'swarm' })).status, 422)
  await ask('POST', '/projects?wait=30', { name: 'Boxed', engine: 'docker', start: false })
  await ask('POST', '/projects?wait=30', { name: 'Plain', start: false })
  await ask('POST', '/projects/boxed/duplicate?wait=30', { name: 'Copy', start: false })
  const made = await ask('POST', '/projects/from-manifest?wait=30', {
    manifest: 'name: Filed\n',
    engine: 'docker',
    start: false,
  })
  assert.equal(made.body.engine, 'docker')
  const rows = await store.projects.all()
  assert.deepEqual(Object.fromEntries(rows.map(({ slug, engine: name }) => [slug, name])), {
    boxed: 'docker',
    plain: 'native',
    copy: 'docker',
    filed: 'docker',
  })
  // Chosen once: sent back with the rest of an answer it is read-only.
  const patched = await ask('PATCH', '/projects/boxed', { engine: 'native' })
  assert.deepEqual([patched.status, patched.body.engine], [200, 'docker'])
})

test('limits are told as they are, and a whole answer sent back changes nothing', async (t) => {
  const { ask } = await openTestApp(t, { images: true })
  const limits = { cpus: 1.5, workloads: { [database]: { memoryBytes: 2 ** 30 } } }
  const body = { name: 'Shop', engine: 'docker', databases: { main: { type: 'postgresql' } }, limits, start: false }
  const made = await ask('POST', '/projects?wait=30', body)
  assert.deepEqual(made.body.limits, { cpus: 1.5, memoryBytes: null, pids: null, workloads: limits.workloads })
  const { generation } = made.body
  const again = await ask('PATCH', '/projects/shop', { limits: made.body.limits })
  assert.deepEqual([again.status, again.body.generation], [200, generation])
  const wrong = await ask<ProblemAnswer>('PATCH', '/projects/shop', {
    limits: { workloads: { postgres: { cpus: 1 } } },
  })
  assert.equal(wrong.status, 422)
  assert.match(wrong.body.errors?.[0]?.detail ?? '', /there is postgresql-main/)
})
