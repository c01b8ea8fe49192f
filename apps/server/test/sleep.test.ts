import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { AuditEntry, ProjectView } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { waitFor } from '@stackquay/testkit/wait-for'
import { createUses, whileUsed } from '../src/sleep/uses.ts'
import { type OperationAnswer, openTestApp, type ProblemAnswer, type TestApp } from './projects-support.ts'
import { testClock } from './schedules-support.ts'

const lookEveryMs = 25
const monday = '2026-05-04T10:00:00Z'

async function openSleepy(t: TestContext, sleep: object | null, { time = monday, env = {} } = {}) {
  const clock = testClock(time)
  clock.letGo()
  const app = await openTestApp(t, { now: clock.now, sleepLookMs: lookEveryMs, env })
  app.engine.machine.files.has = () => true
  const body = { name: 'Shop', static: {}, redis: {}, ...(sleep === null ? {} : { sleep }) }
  const { status, body: project } = await app.ask('POST', '/projects?wait=30', body)
  assert.equal(status, 201, JSON.stringify(project))
  return { app, clock, id: project.id, ahead: (minutes: number) => clock.set(clock.now().getTime() + minutes * 60_000) }
}

const view = async ({ ask }: TestApp) => (await ask<ProjectView>('GET', '/projects/shop')).body
const stateOf = async (app: TestApp) => (await view(app)).status.state
const untilState = (app: TestApp, state: string) =>
  waitFor(`the project to be ${state}`, async () => {
    const now = await view(app)
    return now.status.state === state && now.operation === null
  })
/** Time for a dozen looks, in which nothing must happen. */
const someLooks = () => delay(lookEveryMs * 12)

const machine = ({ engine }: TestApp, id: string) =>
  Object.fromEntries(
    [...engine.machine.workloads.values()]
      .filter(({ workload }) => workload.ref.project === id)
      .map(({ workload, state }) => [workload.ref.workload, state]),
  )
const audited = async ({ store }: TestApp, action: string): Promise<readonly AuditEntry[]> =>
  store.audit.list({ limit: 50, action })
const kinds = async ({ store }: TestApp, id: string) =>
  (await store.operations.list({ limit: 50, project: id })).map(({ kind, state }) => `${kind} ${state}`)

test('a project that nobody uses falls asleep, by the service and with its audit entry, and a start wakes it as a whole', async (t) => {
  const { app, id, ahead } = await openSleepy(t, { after: '2h' })
  assert.deepEqual((await view(app)).sleep, { after: '2h', hours: null, timezone: 'UTC' })
  await someLooks()
  ahead(119)
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  ahead(2)
  await untilState(app, 'sleeping')
  const { status } = await view(app)
  assert.deepEqual([status.desired, status.asleep?.because, status.asleep?.wakesAt], ['running', 'unused', null])
  assert.match(status.asleep?.since ?? '', /^2026-05-04T12:0/)
  assert.deepEqual(machine(app, id), { static: 'stopped', redis: 'stopped' })
  const [entry] = await audited(app, 'project.sleep')
  assert.deepEqual([entry?.actor, entry?.changes], ['system', { because: 'unused' }])
  const listed = (await app.ask<{ items: ProjectView[] }>('GET', '/projects?state=sleeping')).body.items
  assert.deepEqual(
    listed.map(({ slug }) => slug),
    ['shop'],
  )

  const woken = await app.ask<OperationAnswer>('POST', '/projects/shop/start?wait=30', { workload: 'static' })
  assert.deepEqual([woken.body.kind, woken.body.state], ['wake', 'succeeded'])
  assert.deepEqual(machine(app, id), { static: 'running', redis: 'running' })
  assert.equal((await view(app)).status.asleep, null)
  // What it does counts as use: it does not fall asleep again at once.
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  assert.deepEqual(app.errors, [])
})

test('above the memory that there is for all, the longest unused falls asleep early; one that never sleeps counts and stays', async (t) => {
  const { app, ahead } = await openSleepy(t, { after: '30d' }, { env: { STACKQUAY_AWAKE_MAX_MB: '16' } })
  const samples = app.engine.stats
  let each = 6
  // Each project has two workloads.
  app.engine.stats = async (project, signal) =>
    (await samples(project, signal)).map((sample) => ({ ...sample, memoryBytes: (each / 2) * 1024 * 1024 }))
  const made = (name: string, more: object) =>
    app.ask('POST', '/projects?wait=30', { name, static: {}, redis: {}, ...more })
  ahead(10)
  await made('Next', { sleep: { after: '30d' } })
  ahead(10)
  await made('Always', {})
  const states = async () =>
    Promise.all(
      ['shop', 'next', 'always'].map(
        async (slug) => (await app.ask<ProjectView>('GET', `/projects/${slug}`)).body.status.state,
      ),
    )
  ahead(10)
  // 18 of 16 MB: the one that was used first goes, and that is enough.
  await untilState(app, 'sleeping')
  await someLooks()
  assert.deepEqual(await states(), ['sleeping', 'running', 'running'])
  const [entry] = await audited(app, 'project.sleep')
  assert.deepEqual([entry?.actor, entry?.changes], ['system', { because: 'memory' }])
  assert.equal((await view(app)).status.asleep?.because, 'unused')
  // Who comes wakes it, whatever is short; what was used in this minute stays, so the other goes.
  await app.ask('POST', '/projects/shop/start?wait=30')
  await waitFor('the other to sleep', async () => (await states())[1] === 'sleeping')
  await someLooks()
  assert.deepEqual(await states(), ['running', 'sleeping', 'running'])
  // Nothing left that may sleep by itself: the rest is told nothing and stays.
  each = 40
  ahead(2)
  await waitFor('the first to sleep', async () => (await states())[0] === 'sleeping')
  await someLooks()
  assert.deepEqual(await states(), ['sleeping', 'sleeping', 'running'])
  assert.deepEqual(app.errors, [])
})

test('nothing falls asleep while an operation, a run, a terminal or whoever says so uses it; from its end on the time counts', async (t) => {
  const { app, id, ahead } = await openSleepy(t, { after: '1h' })
  await someLooks()
  const terminal = newId('term')
  const owner = (await app.store.users.byName('ada'))!.id
  const row = { id: terminal, project: id, workload: null, title: 'sh', actor: 'ada', owner }
  await app.store.transaction((tx) => tx.terminals.insert(row))
  ahead(300)
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  await app.store.transaction(async (tx) => tx.terminals.delete(terminal))
  const hung = app.engine.hangNext('start')
  const restart = (await app.ask<OperationAnswer>('POST', '/projects/shop/restart')).body
  await hung.reached
  ahead(300)
  await someLooks()
  assert.deepEqual(
    (await kinds(app, id)).filter((kind) => kind.startsWith('sleep')),
    [],
  )
  hung.release()
  await waitFor('the restart', async () => (await app.store.operations.find(restart.id))?.state === 'succeeded')
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  ahead(59)
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  ahead(2)
  await untilState(app, 'sleeping')
})

test('hours keep a project awake and wake it; put to sleep within them it sleeps on until the next ones', async (t) => {
  const { app, clock } = await openSleepy(t, { hours: 'mon-fri 08:00-19:00', timezone: 'Europe/Berlin' })
  await someLooks()
  clock.set('2026-05-04T16:59:00Z')
  await someLooks()
  assert.equal(await stateOf(app), 'running')
  clock.set('2026-05-04T17:00:30Z')
  await untilState(app, 'sleeping')
  assert.equal((await view(app)).status.asleep?.wakesAt, '2026-05-05T06:00:00.000Z')
  clock.set('2026-05-05T05:59:30Z')
  await someLooks()
  assert.equal(await stateOf(app), 'sleeping')
  clock.set('2026-05-05T06:00:00Z')
  await untilState(app, 'running')
  const [entry] = await audited(app, 'project.wake')
  assert.deepEqual([entry?.actor, entry?.changes], ['system', { because: 'hours' }])

  const asked = await app.ask<OperationAnswer>('POST', '/projects/shop/sleep?wait=30')
  assert.deepEqual([asked.status, asked.body.kind, asked.body.state], [200, 'sleep', 'succeeded'])
  assert.equal((await view(app)).status.asleep?.because, 'asked')
  await someLooks()
  assert.equal(await stateOf(app), 'sleeping')
  clock.set('2026-05-06T06:00:00Z')
  await untilState(app, 'running')
})

test('the last use is known after a restart: not asleep right at the start, not awake for ever, and what sleeps sleeps on', async (t) => {
  const { app, clock, id, ahead } = await openSleepy(t, { after: '1h' })
  await waitFor('the use to be stored', async () => (await app.store.projects.find(id))?.lastUsedAt !== null)
  ahead(50)
  const second = await app.reopen({ now: clock.now })
  await someLooks()
  assert.equal(await stateOf(second), 'running')
  // Ten minutes later the hour is over, whatever restarted meanwhile.
  ahead(11)
  await untilState(second, 'sleeping')
  ahead(600)
  const third = await second.reopen({ now: clock.now })
  await someLooks()
  assert.deepEqual([await stateOf(third), machine(third, id)], ['sleeping', { static: 'stopped', redis: 'stopped' }])
  assert.match((await view(third)).status.asleep?.since ?? '', /^2026-05-04T11/)
  await third.ask('POST', '/projects/shop/start?wait=30')
  // Not used for long while the service was away.
  ahead(600)
  const fourth = await third.reopen({ now: clock.now })
  await someLooks()
  assert.equal(await stateOf(fourth), 'running')
  ahead(3)
  await untilState(fourth, 'sleeping')
})

test('a service that ends while a project falls asleep or wakes goes on with that', async (t) => {
  const { app, clock, id } = await openSleepy(t, null)
  const stop = app.engine.hangNext('stop')
  await app.ask('POST', '/projects/shop/sleep')
  await stop.reached
  const second = await app.reopen({ now: clock.now })
  stop.release()
  await untilState(second, 'sleeping')
  assert.deepEqual(machine(second, id), { static: 'stopped', redis: 'stopped' })
  const start = second.engine.hangNext('start')
  await second.ask('POST', '/projects/shop/start')
  await start.reached
  const third = await second.reopen({ now: clock.now })
  start.release()
  await untilState(third, 'running')
  assert.deepEqual(machine(third, id), { static: 'running', redis: 'running' })
})

test('what a person stopped does not sleep and is not woken; what sleeps can be stopped, changed and put to sleep again', async (t) => {
  const { app, id, ahead } = await openSleepy(t, { after: '1h' })
  await app.ask('POST', '/projects/shop/stop?wait=30')
  ahead(300)
  await someLooks()
  assert.equal(await stateOf(app), 'stopped')
  const refused = await app.ask<ProblemAnswer>('POST', '/projects/shop/sleep')
  assert.deepEqual([refused.status, refused.body.code], [409, 'not_running'])

  await app.ask('POST', '/projects/shop/start?wait=30')
  const plan = await app.ask<{ plan: { stops: string[] } }>('POST', '/projects/shop/sleep?dryRun=true')
  assert.deepEqual(plan.body.plan.stops.toSorted(), ['redis', 'static'])
  assert.equal(await stateOf(app), 'running')
  await app.ask('POST', '/projects/shop/sleep?wait=30')
  const { since } = (await view(app)).status.asleep!
  assert.equal((await app.ask<OperationAnswer>('POST', '/projects/shop/sleep?wait=30')).body.state, 'succeeded')
  assert.equal((await view(app)).status.asleep?.since, since)
  // Settings are changed as those of a stopped project; nothing starts.
  const changed = await app.ask('PATCH', '/projects/shop?wait=30', {
    static: { spaFallback: true },
    sleep: { after: '5m' },
  })
  assert.deepEqual(
    [changed.status, changed.body.status.state, changed.body.observedGeneration],
    [200, 'sleeping', changed.body.generation],
  )
  assert.deepEqual(machine(app, id), { static: 'stopped', redis: 'stopped' })
  await app.ask('POST', '/projects/shop/stop?wait=30')
  assert.deepEqual([await stateOf(app), (await view(app)).status.asleep], ['stopped', null])
})

test('a wake that is cancelled before it begins leaves the project asleep; one that fails shows why', async (t) => {
  const { app, id } = await openSleepy(t, null)
  const hung = app.engine.hangNext('stop')
  await app.ask('POST', '/projects/shop/sleep')
  await hung.reached
  const wake = (await app.ask<OperationAnswer>('POST', '/projects/shop/start')).body
  assert.deepEqual([wake.kind, wake.state], ['wake', 'queued'])
  await app.ask('POST', `/operations/${wake.id}/cancel`)
  hung.release()
  await untilState(app, 'sleeping')
  assert.deepEqual(
    [machine(app, id), (await view(app)).status.asleep?.because],
    [{ static: 'stopped', redis: 'stopped' }, 'asked'],
  )
  app.engine.failNext('start')
  const failed = (await app.ask<OperationAnswer>('POST', '/projects/shop/start?wait=30')).body
  assert.deepEqual([failed.kind, failed.state], ['wake', 'failed'])
  assert.notEqual(await stateOf(app), 'sleeping')
})

test('whoever wakes a project while it is being put to sleep finds it awake', async (t) => {
  const { app, id } = await openSleepy(t, null)
  const hung = app.engine.hangNext('stop')
  await app.ask('POST', '/projects/shop/sleep')
  await hung.reached
  await app.ask('POST', '/projects/shop/start')
  hung.release()
  await untilState(app, 'running')
  assert.deepEqual(machine(app, id), { static: 'running', redis: 'running' })
})

test('a terminal in a project that sleeps wakes it first', async (t) => {
  const { app, id } = await openSleepy(t, null)
  await app.ask('POST', '/projects/shop/sleep?wait=30')
  const { status } = await app.ask('POST', '/projects/shop/terminals', { command: ['cat'] })
  assert.equal(status, 201)
  await untilState(app, 'running')
  assert.deepEqual(machine(app, id), { static: 'running', redis: 'running' })
  const [entry] = await audited(app, 'project.wake')
  assert.match(entry?.actor ?? '', /^ada/)
})

test('settings that are wrong are refused, each by its field', async (t) => {
  const { app } = await openSleepy(t, null)
  const { status, body } = await app.ask<ProblemAnswer & { errors: { pointer: string }[] }>('PATCH', '/projects/shop', {
    sleep: { after: '10s', hours: 'always', timezone: 'Mars' },
  })
  assert.equal(status, 422)
  assert.deepEqual(
    body.errors.map(({ pointer }) => pointer),
    ['/sleep/after', '/sleep/hours', '/sleep/timezone'],
  )
})

test('a use lasts from its beginning to its end, and to the last byte of what is passed on', async () => {
  let time = 1_000
  const uses = createUses(() => new Date(time))
  const [one, other] = [uses.begin('a'), uses.begin('a')]
  one()
  one()
  assert.equal(uses.isUsed('a'), true)
  time = 2_000
  other()
  assert.deepEqual([uses.isUsed('a'), uses.lastOf('a'), uses.lastOf('b')], [false, new Date(2_000), undefined])
  const chunks = whileUsed(
    'b',
    (async function* () {
      yield 1
      yield 2
    })(),
    uses,
  )
  await chunks.next()
  assert.equal(uses.isUsed('b'), true)
  await chunks.return()
  assert.equal(uses.isUsed('b'), false)
})
