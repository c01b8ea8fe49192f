import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { CronList, NamedCron, ProjectView, Run, WorkerList } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import type { z } from 'zod'
import { openTestApp, type PlanAnswer, type ProblemAnswer, type TestApp } from './projects-support.ts'
import { testClock } from './schedules-support.ts'

const nightly = { schedule: '0 3 * * *', command: 'node clean.mjs', timeLimit: '10m' }

async function open(t: TestContext, time: string, cron: object = { nightly }, more: object = {}) {
  const clock = testClock(time)
  const app = await openTestApp(t, { now: clock.now })
  const body = { name: 'Shop', node: { server: false }, redis: {}, cron, ...more }
  const made = await app.ask('POST', '/projects?wait=20', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  clock.letGo()
  return { app, clock, project: made.body }
}

const read = async ({ ask }: TestApp) => (await ask<ProjectView>('GET', '/projects/shop')).body
const runs = async ({ ask }: TestApp, name = 'nightly') =>
  (await ask<{ items: Run[] }>('GET', `/projects/shop/runs?kind=cron&name=${name}`)).body.items
/** Has the keeper look now, and not when half a minute has passed. */
async function setAndWake(clock: ReturnType<typeof testClock>, time: string, { store }: TestApp): Promise<void> {
  clock.set(time)
  await store.transaction((tx) => tx.events.append({ type: 'project.changed', project: null, data: {} }))
}
const begun = (app: TestApp, count: number, name = 'nightly') =>
  waitFor(`${count} runs`, async () => {
    const items = await runs(app, name)
    return items.length === count && items
  })
const command = (app: TestApp, run: Run) =>
  waitFor('its command', async () => app.engine.command({ project: run.project, id: run.id }))
const looked = () => new Promise((resolve) => setTimeout(resolve, 400))

test('a job runs at its time as a run with a time limit of its own, and once; a failure is told by an event and a warning', async (t) => {
  const { app, clock, project } = await open(t, '2026-05-01T02:59:59.700Z')
  assert.equal(project.cron?.nightly?.nextAt, '2026-05-01T03:00:00.000Z')
  const [run] = await begun(app, 1)
  assert.deepEqual([run!.dueAt, run!.actor, run!.label], ['2026-05-01T03:00:00.000Z', 'system', 'node clean.mjs'])
  const started = await command(app, run!)
  assert.deepEqual(
    [started.spec.argv, started.spec.timeoutSeconds, started.env.NODE_ENV],
    [['/usr/bin/env', 'node', 'clean.mjs'], 600, 'development'],
  )
  started.finish({ code: 4 })
  await waitFor('its end', async () => (await read(app)).cron?.nightly?.lastRun?.state === 'failed')
  const shown = await read(app)
  assert.deepEqual([shown.cron?.nightly?.lastRun?.exitCode, shown.status.state], [4, 'running'])
  assert.deepEqual(
    shown.status.warnings.map(({ code }) => code),
    ['cron_failed'],
  )
  const events = (await app.store.events.after(0, 1000)).filter(({ type }) => type === 'cron.failed')
  assert.deepEqual(
    events.map(({ data }) => [data.name, data.exitCode, data.run]),
    [['nightly', 4, run!.id]],
  )
  // The same time comes once more, and its run does not; the next one does.
  await setAndWake(clock, '2026-05-01T02:59:59.900Z', app)
  await looked()
  assert.equal((await runs(app)).length, 1)
  await setAndWake(clock, '2026-05-02T03:00:01Z', app)
  const [next] = await begun(app, 2)
  ;(await command(app, next!)).finish({ code: 0 })
  await waitFor('no warning', async () => (await read(app)).status.warnings.length === 0)
  assert.equal(
    (await app.store.audit.list({ limit: 10, action: 'cron.run' })).length,
    0,
    'runs by themselves are history',
  )
  assert.deepEqual(app.errors, [])
})

test('a month without the service is made up for once; a stopped project skips its times, and says so', async (t) => {
  const { app, clock } = await open(t, '2026-05-01T12:00:00Z')
  await waitFor('a first look', async () => (await app.store.cron.all()).size === 1)
  clock.set('2026-06-03T12:00:00Z')
  const again = await app.reopen({ now: clock.now })
  const [run] = await begun(again, 1)
  assert.equal(run!.dueAt, '2026-06-03T03:00:00.000Z')
  ;(await command(again, run!)).finish({ code: 0 })

  await again.ask('POST', '/projects/shop/stop?wait=20')
  await looked()
  await setAndWake(clock, '2026-06-05T12:00:00Z', again)
  await looked()
  const stopped = await read(again)
  assert.deepEqual(
    [stopped.cron?.nightly?.nextAt, stopped.cron?.nightly?.lastSkip],
    [null, { at: '2026-06-05T03:00:00.000Z', because: 'stopped' }],
  )
  await again.ask('POST', '/projects/shop/start?wait=20')
  await looked()
  assert.equal((await runs(again)).length, 1)
  assert.deepEqual((await read(again)).cron?.nightly?.lastSkip, { at: '2026-06-05T03:00:00.000Z', because: 'stopped' })
})

test('a run that is under way: its time is skipped, or it is replaced; by hand it is refused', async (t) => {
  const { app, clock } = await open(t, '2026-05-01T12:00:00Z', {
    nightly,
    fresh: { ...nightly, schedule: '0 4 * * *', overlap: 'replace' },
  })
  const byHand = (name: string) => app.ask<Run & ProblemAnswer>('POST', `/projects/shop/cron/${name}/run`)
  const first = (await byHand('nightly')).body
  assert.deepEqual([first.dueAt, first.actor.includes('token')], [null, true])
  await command(app, first)
  const second = await byHand('nightly')
  assert.deepEqual([second.status, second.body.code], [409, 'busy'])
  await setAndWake(clock, '2026-05-02T03:00:01Z', app)
  await waitFor('the skip', async () => (await read(app)).cron?.nightly?.lastSkip?.because === 'still_running')
  assert.equal((await runs(app)).length, 1)

  const old = (await byHand('fresh')).body
  await command(app, old)
  await setAndWake(clock, '2026-05-02T04:00:01Z', app)
  const [next, before] = await begun(app, 2, 'fresh')
  assert.deepEqual([next!.dueAt, before!.id], ['2026-05-02T04:00:00.000Z', old.id])
  assert.equal((await app.ask<Run>('GET', `/projects/shop/runs/${old.id}?wait=20`)).body.state, 'cancelled')
  assert.equal((await app.store.audit.list({ limit: 10, action: 'cron.run' })).length, 2)
})

test('while an operation holds the project a time waits; off it is silent; a preview is asked of no project', async (t) => {
  const { app, clock } = await open(t, '2026-05-01T12:00:00Z')
  const hung = app.engine.hangNext('start')
  await app.ask('POST', '/projects/shop/restart')
  await hung.reached
  await setAndWake(clock, '2026-05-02T03:00:01Z', app)
  await looked()
  assert.equal((await runs(app)).length, 0)
  hung.release()
  const [run] = await begun(app, 1)
  ;(await command(app, run!)).finish({ code: 0 })

  await app.ask('PATCH', '/projects/shop?wait=20', { cron: { nightly: { enabled: false } } })
  await looked()
  await setAndWake(clock, '2026-05-03T03:00:01Z', app)
  await looked()
  await app.ask('PATCH', '/projects/shop?wait=20', { cron: { nightly: { enabled: true } } })
  await looked()
  assert.equal((await runs(app)).length, 1)
  assert.equal((await read(app)).cron?.nightly?.nextAt, '2026-05-04T03:00:00.000Z')

  const preview = await app.ask<{ times: string[] }>('POST', '/cron/preview', {
    schedule: '30 2 * * *',
    timezone: 'Europe/Berlin',
    count: 2,
  })
  assert.deepEqual(preview.body.times, ['2026-05-04T00:30:00.000Z', '2026-05-05T00:30:00.000Z'])
  const wrong = await app.ask<ProblemAnswer>('POST', '/cron/preview', { schedule: '61 * * * *' })
  assert.deepEqual([wrong.status, wrong.body.errors?.[0]?.pointer], [422, '/schedule'])
})

test('workers: planned, put and removed by name, refused by their fields; presets come from the source', async (t) => {
  const { app, project } = await open(t, '2026-05-01T12:00:00Z', {}, { php: {} })
  await writeFile(join(project.path, 'artisan'), '')
  await writeFile(join(project.path, 'Procfile'), 'web: node server.js\nmail_out: node mail.js --all\n')
  const { body: list } = await app.ask<z.infer<typeof WorkerList>>('GET', '/projects/shop/workers')
  assert.deepEqual(
    list.presets.map(({ name, runtime, command }) => [name, runtime, command.join(' ')]),
    [
      ['queue', 'php', 'php artisan queue:work --tries=3'],
      ['mail-out', 'php', 'node mail.js --all'],
    ],
  )
  const { body: cron } = await app.ask<z.infer<typeof CronList>>('GET', '/projects/shop/cron')
  assert.deepEqual(
    cron.presets.map(({ name, schedule }) => [name, schedule]),
    [['scheduler', '* * * * *']],
  )
  const worker = { command: 'node queue.mjs', count: 2, runtime: 'node' }
  const plan = await app.ask<PlanAnswer>('PUT', '/projects/shop/workers/queue?dryRun=true', worker)
  assert.deepEqual(plan.body.plan.starts, ['queue-1', 'queue-2'])
  const put = await app.ask('PUT', '/projects/shop/workers/queue?wait=20', worker)
  assert.deepEqual([put.status, put.body.workers?.queue?.count], [200, 2])
  assert.deepEqual(
    put.body.status.workloads.filter(({ kind }) => kind === 'worker').map(({ name, state }) => [name, state]),
    [
      ['queue-1', 'running'],
      ['queue-2', 'running'],
    ],
  )
  // A whole answer sent back is no change.
  const same = await app.ask('PATCH', '/projects/shop', put.body)
  assert.deepEqual([same.status, same.body.generation], [200, put.body.generation], JSON.stringify(same.body))
  const off = await app.ask<ProblemAnswer>('PATCH', '/projects/shop', { node: { enabled: false } })
  assert.deepEqual([off.status, off.body.errors?.map(({ pointer }) => pointer)], [422, ['/workers/queue/runtime']])
  const taken = await app.ask<ProblemAnswer>('PUT', '/projects/shop/workers/redis', worker)
  assert.deepEqual([taken.status, taken.body.errors?.[0]?.code], [422, 'name_taken'])
  const gone = await app.ask('DELETE', '/projects/shop/workers/queue?wait=20')
  assert.deepEqual([gone.status, gone.body.workers], [200, undefined])
  assert.equal((await app.ask('DELETE', '/projects/shop/workers/queue')).status, 404)
  assert.equal((await app.ask('GET', '/projects/shop/cron/constructor')).status, 404)
  const asReader = await app.as('read')
  assert.equal((await asReader('PUT', '/projects/shop/workers/queue', worker)).status, 403)
  const one = await app.ask('PUT', '/projects/shop/cron/nightly?wait=20', nightly)
  assert.equal(one.body.cron?.nightly?.timezone, 'UTC')
  const { body: job } = await app.ask<NamedCron>('GET', '/projects/shop/cron/nightly')
  assert.equal(job.nextTimes.length, 5)
  assert.deepEqual(app.errors, [])
})
