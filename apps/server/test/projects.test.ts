import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ProjectView } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import {
  type Ask,
  type OperationAnswer,
  openTestApp,
  type PlanAnswer,
  type ProblemAnswer,
  type TestApp,
} from './projects-support.ts'

/** A project that serves its folder, as it is after it was made and configured; stopped unless `start`. */
async function shop(
  { ask, engine }: TestApp,
  { start = false, more = {}, name = 'Shop' }: { start?: boolean; more?: object; name?: string } = {},
): Promise<ProjectView> {
  const made = await ask('POST', '/projects?wait=10', { name, static: {}, start: false, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  engine.machine.files.add(made.body.path)
  if (start) {
    const started = await ask<OperationAnswer>('POST', `/projects/${made.body.id}/start?wait=10`)
    assert.equal(started.body.state, 'succeeded', JSON.stringify(started.body))
  }
  return (await ask('GET', `/projects/${made.body.id}`)).body
}

const states = (project: ProjectView) =>
  Object.fromEntries(project.status.workloads.map((workload) => [workload.name, workload.state]))

const pointers = ({ body }: { body: ProblemAnswer }) =>
  (body.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 5_000
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const actions = async ({ store }: TestApp) =>
  (await store.audit.list({ limit: 100 })).map(({ action }) => action).filter((action) => !action.startsWith('auth'))

test('an empty project is made stopped, with its folder, and can be enabled and started', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  const made = await ask('POST', '/projects?wait=10', { name: 'My Shop' })
  assert.equal(made.status, 201)
  assert.equal(made.headers.location, `/api/v1/projects/${made.body.id}`)
  assert.equal(made.headers.etag, `"${made.body.generation}"`)
  assert.deepEqual(
    [made.body.slug, made.body.status.state, made.body.status.desired, made.body.operation?.state],
    ['my-shop', 'stopped', 'stopped', 'succeeded'],
  )
  assert.ok(existsSync(made.body.path))
  engine.machine.files.add(made.body.path)

  const enabled = await ask('PATCH', '/projects/my-shop?wait=10', { static: { enabled: true } })
  assert.equal(enabled.status, 200)
  assert.equal((enabled.body.static as { enabled: boolean }).enabled, true)
  assert.deepEqual(states(enabled.body), { static: 'stopped' })
  assert.deepEqual(enabled.body.status.workloads[0]?.ports, [], 'a port that is not leased has no number')

  const started = await ask<OperationAnswer>('POST', '/projects/my-shop/start?wait=10')
  assert.equal(started.status, 200)
  assert.deepEqual([started.body.kind, started.body.state, started.body.progress], ['start', 'succeeded', 1])
  const running = (await ask('GET', '/projects/my-shop')).body
  assert.deepEqual([running.status.state, running.operation], ['running', null])
  const [leased] = running.status.workloads[0]!.ports
  assert.ok(leased !== undefined && leased.hostPort >= 20_000)
  assert.equal((running.static as { hostPort: number }).hostPort, leased.hostPort)
  assert.deepEqual(all.errors, [])
})

test('a project that is made with a database and nothing else runs it', async (t) => {
  const { ask } = await openTestApp(t)
  const made = await ask('POST', '/projects?wait=10', { name: 'Data', databases: { main: { type: 'postgres' } } })
  assert.deepEqual(
    [made.body.status.state, made.body.status.desired, states(made.body)],
    ['running', 'running', { 'postgresql-main': 'running' }],
  )
})

test('a name that is taken is refused with its holder; so is one without letters, and one that is reserved', async (t) => {
  const all = await openTestApp(t)
  await shop(all)
  const taken = await all.ask<ProblemAnswer>('POST', '/projects', { name: 'SHOP' })
  assert.deepEqual([taken.status, taken.body.code, pointers(taken)], [409, 'conflict', ['/name taken']])
  const unnamed = await all.ask<ProblemAnswer>('POST', '/projects', { name: '…' })
  assert.deepEqual([unnamed.status, pointers(unnamed)], [422, ['/slug required']])
  assert.equal((await all.ask('POST', '/projects', { name: 'API' })).status, 409)
  assert.equal((await all.store.projects.all()).length, 1)
})

test('a dry run shows the plan and writes nothing', async (t) => {
  const all = await openTestApp(t)
  const before = await shop(all, { start: true })
  const events = await actions(all)
  const answer = await all.ask<PlanAnswer>('PATCH', '/projects/shop?dryRun=true', {
    static: { spaFallback: true },
    databases: { main: { type: 'postgres' } },
    env: { TOKEN: { value: 'hush', secret: true } },
  })
  assert.equal(answer.status, 200)
  const { plan } = answer.body
  assert.deepEqual([plan.starts, plan.restarts, plan.stops], [['postgresql-main'], ['static'], []])
  assert.ok(plan.steps.some((step) => step.title === 'Stop Static files' && step.workload === 'static'))
  assert.ok(!JSON.stringify(answer.body).includes('hush'))
  const stop = await all.ask<PlanAnswer>('POST', '/projects/shop/stop?dryRun=true')
  assert.deepEqual(stop.body.plan.stops, ['static'])
  const gone = await all.ask<PlanAnswer>('DELETE', '/projects/shop?dryRun=true')
  assert.deepEqual(gone.body.plan.stops, ['static'])
  assert.deepEqual((await all.ask('GET', '/projects/shop')).body, before)
  assert.deepEqual(await actions(all), events)
})

test('a dry run of a creation makes neither project nor folder', async (t) => {
  const all = await openTestApp(t)
  const answer = await all.ask<PlanAnswer>('POST', '/projects?dryRun=true', { name: 'Shop', static: {} })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.plan.starts, ['static'])
  assert.equal(answer.body.plan.steps[0]?.title, 'Make the folder')
  assert.deepEqual(await all.store.projects.all(), [])
  assert.equal(existsSync(join(all.folder, 'projects', 'shop')), false)
})

test('a PATCH that changes nothing keeps the generation, begins no operation and leaves no entry', async (t) => {
  const all = await openTestApp(t)
  const env = { PLAIN: 'x', TOKEN: { value: 'hush', secret: true } }
  const before = await shop(all, { start: true, more: { env, healthCheck: { path: '/' } } })
  const entries = await actions(all)
  for (const body of [{}, before, { static: { spaFallback: false } }, { env: { TOKEN: { value: 'hush' } } }]) {
    const answer = await all.ask('PATCH', '/projects/shop', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual([answer.body.generation, answer.body.operation], [before.generation, null])
  }
  assert.deepEqual(await actions(all), entries)
  assert.deepEqual((await all.ask('GET', '/projects/shop')).body, before)
})

test('a change is one entry with before and after, never the text of a secret', async (t) => {
  const all = await openTestApp(t)
  await shop(all)
  await all.ask('PATCH', '/projects/shop', {
    name: 'Store',
    env: { A: '1', TOKEN: { value: 'hush', secret: true } },
  })
  const [entry] = await all.store.audit.list({ limit: 1 })
  assert.equal(entry?.action, 'project.update')
  assert.deepEqual(entry?.changes, {
    name: { before: 'Shop', after: 'Store' },
    'env.A': { before: null, after: '1' },
    'env.TOKEN': { before: null, after: 'secret, version 1' },
  })
})

test('If-Match that does not hold changes nothing', async (t) => {
  const all = await openTestApp(t)
  const { generation } = await shop(all)
  const old = await all.ask<ProblemAnswer>('PATCH', '/projects/shop', { name: 'A' }, { 'if-match': '"99"' })
  assert.deepEqual([old.status, old.body.code], [412, 'precondition_failed'])
  const right = await all.ask('PATCH', '/projects/shop', { name: 'A' }, { 'if-match': `"${generation}"` })
  assert.deepEqual([right.status, right.body.name, right.headers.etag], [200, 'A', `"${generation + 1}"`])
  assert.equal((await all.ask('DELETE', '/projects/shop?confirm=shop', undefined, { 'if-match': '"1"' })).status, 412)
})

test('a project is never answered with 304: its state changes without the ETag, which guards writes', async (t) => {
  const all = await openTestApp(t)
  const { generation } = await shop(all)
  const again = await all.ask('GET', '/projects/shop', undefined, { 'if-none-match': `"${generation}"` })
  assert.deepEqual([again.status, again.headers.etag], [200, `"${generation}"`])
})

test('all wrong fields of a body are answered at once, variables too', async (t) => {
  const all = await openTestApp(t)
  await shop(all)
  const answer = await all.ask<ProblemAnswer>('PATCH', '/projects/shop', {
    static: { version: '9' },
    databases: { main: {} },
    healthCheck: { timeoutSeconds: 3 },
    env: { NEW: { secret: true } },
    limits: { cpus: 2 },
  })
  assert.equal(answer.status, 422)
  assert.deepEqual(pointers(answer).sort(), [
    '/databases/main/type required',
    '/env/NEW/value required',
    '/healthCheck/path required',
    '/static/version version_not_offered',
  ])
})

test('limits are refused by an engine that cannot hold them', async (t) => {
  const all = await openTestApp(t)
  await shop(all)
  const answer = await all.ask<ProblemAnswer>('PATCH', '/projects/shop', { limits: { cpus: 2, memoryBytes: null } })
  assert.deepEqual(
    [answer.status, answer.body.code, pointers(answer)],
    [422, 'engine_cannot', ['/limits/cpus engine_cannot']],
  )
  const made = await all.ask<ProblemAnswer>('POST', '/projects', { name: 'Other', limits: { memoryBytes: 2 ** 30 } })
  assert.deepEqual([made.status, pointers(made)], [422, ['/limits/memoryBytes engine_cannot']])
  assert.equal((await all.ask('PATCH', '/projects/shop', { limits: null })).status, 200)
})

test('while an operation runs requests are accepted: one operation waits and carries all of them', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine, store } = all
  const { id, generation } = await shop(all)
  const hang = engine.hangNext('start')
  const started = await ask<OperationAnswer>('POST', '/projects/shop/start')
  assert.equal(started.status, 202)
  const first = await ask('PATCH', '/projects/shop', { env: { A: '1' } })
  const waiting = first.body.operation!
  assert.deepEqual([first.status, waiting.state, waiting.kind], [200, 'queued', 'update'])
  assert.notEqual(waiting.id, started.body.id)
  const second = await ask('PATCH', '/projects/shop', { env: { B: '2' } })
  const restarted = await ask<OperationAnswer>('POST', '/projects/shop/restart')
  assert.deepEqual([second.body.operation?.id, restarted.body.id], [waiting.id, waiting.id])
  assert.deepEqual([restarted.body.kind, restarted.body.requestedBy.length], ['restart', 3])
  const named = await ask('PATCH', '/projects/shop', { name: 'Other' })
  assert.deepEqual([named.status, named.body.operation?.id], [200, started.body.id], 'a name needs no operation')
  const { plan } = (await ask<PlanAnswer>('PATCH', '/projects/shop?dryRun=true', { env: { C: '3' } })).body
  assert.deepEqual([plan.after, plan.exact, plan.restarts], [waiting.id, false, ['static']])
  assert.deepEqual(
    (await store.audit.list({ limit: 10, project: id })).filter(({ operationId }) => operationId === waiting.id).length,
    3,
  )

  hang.release()
  const ended = await ask<OperationAnswer>('GET', `/operations/${waiting.id}?wait=10`)
  assert.deepEqual([ended.body.state, ended.body.generation], ['succeeded', generation + 3])
  const after = (await ask('GET', '/projects/shop')).body
  assert.deepEqual(
    [after.generation, after.observedGeneration, after.operation],
    [generation + 3, generation + 3, null],
  )
  const env = engine.machine.workloads.get(`${id}/static`)?.workload.env ?? {}
  assert.deepEqual([env.A, env.B, env.C], ['1', '2', undefined])
  assert.equal(engine.applied.filter(({ step }) => step.do === 'start').length, 2, 'started once and restarted once')
})

test('what deletes data is never merged: it is refused while something runs, and refuses all else but a deletion', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all, { more: { databases: { main: { type: 'postgres' } } } })
  const hang = engine.hangNext('start')
  const started = await ask<OperationAnswer>('POST', '/projects/shop/start')
  const refusedBy = async (holder: string, method: 'DELETE' | 'PATCH' | 'POST', path: string, body?: object) => {
    const answer = await ask<ProblemAnswer & { operation: string }>(method, path, body)
    assert.deepEqual([answer.status, answer.body.code, answer.body.operation], [409, 'busy', holder], path)
  }
  const drop = '/projects/shop/databases/main?confirm=main'
  await refusedBy(started.body.id, 'DELETE', drop)
  await refusedBy(started.body.id, 'POST', '/projects/shop/databases/main/credentials/rotate')
  hang.release()
  await ask('GET', `/operations/${started.body.id}?wait=10`)

  engine.hangNext('stop')
  const dropping = (await ask('DELETE', drop)).body.operation!.id
  await refusedBy(dropping, 'PATCH', '/projects/shop', { env: { A: '1' } })
  await refusedBy(dropping, 'POST', '/projects/shop/stop')
  await refusedBy(dropping, 'POST', '/projects/shop/duplicate', { name: 'Copy' })
  const gone = await ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=20')
  assert.equal(gone.body.state, 'succeeded', JSON.stringify(gone.body))
  assert.equal((await ask<OperationAnswer>('GET', `/operations/${dropping}`)).body.state, 'cancelled')
})

test('a stop ends a start that runs, and a start after it the other way round; the last one counts', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all)
  engine.hangNext('start:static')
  const started = await ask<OperationAnswer>('POST', '/projects/shop/start')
  await until('it starts', async () => engine.applied.some(({ step }) => step.do === 'start'))
  const stopped = await ask<OperationAnswer>('POST', '/projects/shop/stop?wait=10')
  assert.equal(stopped.body.state, 'succeeded')
  assert.equal((await ask<OperationAnswer>('GET', `/operations/${started.body.id}`)).body.state, 'cancelled')
  assert.equal((await ask('GET', '/projects/shop')).body.status.state, 'stopped')

  engine.hangNext('start:static')
  await ask('POST', '/projects/shop/start')
  await until('it starts again', async () => engine.applied.filter(({ step }) => step.do === 'start').length === 2)
  const stop = await ask<OperationAnswer>('POST', '/projects/shop/stop')
  const start = await ask<OperationAnswer>('POST', '/projects/shop/start')
  const last = await ask<OperationAnswer>('GET', `/operations/${start.body.id}?wait=10`)
  assert.equal(last.body.state, 'succeeded')
  await ask('GET', `/operations/${stop.body.id}?wait=10`)
  const { status } = (await ask('GET', '/projects/shop')).body
  assert.deepEqual([status.desired, status.state], ['running', 'running'])
})

test('a waiting operation that is cancelled reverts no setting: it is told that it is not applied, until it is', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine, store } = all
  const { id, generation } = await shop(all)
  await ask('POST', '/projects/shop/start?wait=10')
  const envOf = () => engine.machine.workloads.get(`${id}/static`)?.workload.env ?? {}
  const key = { value: 'hush', secret: true }
  await ask('PATCH', '/projects/shop?wait=10', { env: { KEY: key } })

  const hang = engine.hangNext('stop')
  const running = await ask<OperationAnswer>('POST', '/projects/shop/restart')
  await until('it has begun', async () => (await store.operations.find(running.body.id))?.steps.length !== 0)
  const changed = await ask('PATCH', '/projects/shop', { env: { A: '1', KEY: { ...key, value: 'other' } } })
  const ended = await ask<OperationAnswer>('POST', `/operations/${changed.body.operation!.id}/cancel`)
  assert.deepEqual([ended.status, ended.body.state, ended.body.startedAt], [200, 'cancelled', null])
  hang.release()
  await ask('GET', `/operations/${running.body.id}?wait=10`)
  const shown = (await ask('GET', '/projects/shop')).body
  assert.deepEqual(
    [shown.generation, shown.observedGeneration, shown.env.A?.value],
    [generation + 2, generation + 1, '1'],
  )
  assert.deepEqual(
    shown.status.warnings.map(({ code }) => code),
    ['not_applied'],
  )
  assert.equal(envOf().A, undefined)

  const next = await ask('PATCH', '/projects/shop?wait=10', { env: { B: '2' } })
  assert.deepEqual([next.body.observedGeneration, next.body.status.warnings], [generation + 3, []])
  assert.deepEqual([envOf().A, envOf().B], ['1', '2'])
})

test('a start that is cancelled ends what it began and the project stays stopped', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all, { more: { databases: { main: { type: 'postgres' } } } })
  engine.hangNext('start:static')
  const started = await ask<OperationAnswer>('POST', '/projects/shop/start')
  await until('the database runs', async () => {
    const { workloads } = (await ask('GET', '/projects/shop')).body.status
    return workloads.some((one) => one.name === 'postgresql-main' && one.pid !== null)
  })
  const cancelled = await ask<OperationAnswer>('POST', `/operations/${started.body.id}/cancel?wait=10`)
  assert.equal(cancelled.body.state, 'cancelled')
  const after = (await ask('GET', '/projects/shop')).body
  assert.deepEqual([after.status.state, after.status.desired], ['stopped', 'stopped'])
  assert.equal((await ask('POST', `/operations/${started.body.id}/cancel`)).status, 200)
})

test('a start of one workload that is cancelled ends that one and leaves the others running', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all, { more: { databases: { main: { type: 'postgres' } } } })
  await ask('POST', '/projects/shop/start?wait=10', { workload: 'postgresql-main' })
  const cancelStart = async (workload: string) => {
    const steps = engine.applied.length
    engine.hangNext(`start:${workload}`)
    const { body } = await ask<OperationAnswer>('POST', '/projects/shop/start', { workload })
    await until('it is at it', async () => engine.applied.length > steps && engine.applied.at(-1)?.step.do === 'start')
    await ask('POST', `/operations/${body.id}/cancel?wait=10`)
    return (await ask('GET', '/projects/shop')).body
  }
  const first = await cancelStart('static')
  assert.deepEqual(
    [first.status.desired, states(first)],
    ['running', { 'postgresql-main': 'running', static: 'stopped' }],
  )
  await ask('POST', '/projects/shop/stop?wait=10')
  const second = await cancelStart('postgresql-main')
  assert.deepEqual([second.status.desired, second.status.state], ['stopped', 'stopped'])
})

test('a start that fails says the step, the reason and the last lines, and the workload stays down', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all)
  engine.failNext(
    'ready:static',
    new EngineError('exited_early', 'Static files ended with exit code 1.', { hint: 'See why.', logTail: ['no port'] }),
  )
  const { body } = await ask<OperationAnswer>('POST', '/projects/shop/start?wait=10')
  assert.equal(body.state, 'failed')
  assert.deepEqual(
    [body.error?.detail, body.error?.hint, body.error?.logTail],
    ['Static files ended with exit code 1.', 'See why.', ['no port']],
  )
  assert.match(String(body.error?.step), /Wait until Static files is ready/)
})

test('a database that dies while a change goes on runs again after it', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  const { id } = await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  const hang = engine.hangNext('start:static')
  const changing = ask('PATCH', '/projects/shop?wait=10', { env: { A: '1' } })
  await until('the change is at it', async () => engine.applied.at(-1)?.step.id === 'start:static')
  engine.crash({ project: id, workload: 'postgresql-main' })
  hang.release()
  assert.equal((await changing).body.operation?.state, 'succeeded')
  await until(
    'the database runs again',
    async () => (await ask('GET', '/projects/shop')).body.status.state === 'running',
  )
  const database = (await ask('GET', '/projects/shop')).body.status.workloads.find((one) => one.kind === 'database')
  assert.deepEqual([database?.state, database?.restarts, database?.reason], ['running', 1, null])
})

test('a project that is being changed from nothing to something is starting, not failed', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all, { start: true })
  await ask('PATCH', '/projects/shop?wait=10', { static: { enabled: false } })
  const hang = engine.hangNext('start')
  await ask('PATCH', '/projects/shop', { static: { enabled: true } })
  await until('the change is at it', async () => engine.applied.at(-1)?.step.do === 'start')
  assert.equal((await ask('GET', '/projects/shop')).body.status.state, 'starting')
  hang.release()
  await until('it runs', async () => (await ask('GET', '/projects/shop')).body.status.state === 'running')
})

test('a deletion wants the slug typed, keeps the files and leaves no trace of the project', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  const { id, path } = await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  await writeFile(join(path, 'index.html'), 'mine')
  for (const query of ['', '?confirm=other']) {
    const answer = await ask<ProblemAnswer>('DELETE', `/projects/shop${query}`)
    assert.deepEqual([answer.status, pointers(answer)], [422, ['?confirm confirm']])
  }
  const gone = await ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=10')
  assert.deepEqual([gone.status, gone.body.state], [200, 'succeeded'])
  assert.equal((await ask('GET', '/projects/shop')).status, 404)
  assert.equal((await ask('GET', `/projects/${id}`)).status, 404)
  assert.deepEqual((await ask<{ items: object[] }>('GET', '/projects')).body.items, [])
  assert.equal(engine.machine.workloads.size, 0)
  assert.deepEqual([...engine.machine.data.keys()], [`${id}/postgresql-main`], 'data is kept unless told otherwise')
  assert.deepEqual(await all.store.ports.of(id), [])
  assert.ok(existsSync(join(path, 'index.html')))
  assert.deepEqual((await actions(all)).slice(0, 2), ['operation.succeeded', 'project.delete'])
})

test('a deletion with its data deletes the data', async (t) => {
  const all = await openTestApp(t)
  await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  const plan = await all.ask<PlanAnswer>('DELETE', '/projects/shop?data=delete&dryRun=true')
  assert.deepEqual(plan.body.plan.deletesData, ['postgresql-main'])
  await all.ask('DELETE', '/projects/shop?confirm=shop&data=delete&wait=10')
  assert.equal(all.engine.machine.data.size, 0)
})

test('a deletion that fails leaves the project usable', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  await shop(all, { start: true })
  engine.failNext('stop')
  const failed = await ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=10')
  assert.equal(failed.body.state, 'failed')
  assert.equal((await ask<OperationAnswer>('POST', '/projects/shop/start?wait=10')).body.state, 'succeeded')
  assert.equal((await ask('GET', '/projects/shop')).body.status.state, 'running')
})

test('dropping a database wants its name typed and deletes data, password and port', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine, store } = all
  const { id } = await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  assert.equal((await ask('PATCH', '/projects/shop', { databases: { main: null } })).status, 422)
  assert.equal((await ask('DELETE', '/projects/shop/databases/main')).status, 422)
  assert.equal((await ask('DELETE', '/projects/shop/databases/other?confirm=other')).status, 404)
  assert.equal((await ask('DELETE', '/projects/shop/databases/constructor?confirm=constructor')).status, 404)
  const answer = await ask('DELETE', '/projects/shop/databases/main?confirm=main&wait=10')
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual([answer.body.databases, states(answer.body)], [{}, { static: 'running' }])
  assert.equal(engine.machine.data.size, 0)
  assert.deepEqual(await store.secrets.of(id), {})
  assert.ok((await store.ports.of(id)).every(({ workload }) => workload !== 'postgresql-main'))
})

test('credentials are complete, audited, and nowhere else', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  const project = await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  const { body } = await ask<Record<string, string>>('GET', '/projects/shop/databases/main/credentials')
  assert.equal(body.password?.length, 32)
  assert.equal(body.url, `postgresql://main:${body.password}@127.0.0.1:${body.hostPort}/main`)
  assert.ok(!JSON.stringify(project).includes(body.password!))
  assert.equal(engine.machine.workloads.get(`${project.id}/static`)?.env.DATABASE_URL, body.url)
  assert.equal((await actions(all))[0], 'database.credentials.read')
  const reader = await all.as('read')
  assert.equal((await reader('GET', '/projects/shop/databases/main/credentials')).status, 403)
})

test('secrets read as null in every list; who reveals one is written down', async (t) => {
  const all = await openTestApp(t)
  await shop(all, { more: { env: { PLAIN: 'x', TOKEN: { value: 'hush', secret: true } } } })
  type Env = { env: ProjectView['env']; injected: string[] }
  const read = async (ask: Ask) => (await ask<Env>('GET', '/projects/shop/env')).body.env
  for (const ask of [all.ask, await all.as('operate'), await all.as('read')])
    assert.deepEqual(await read(ask), {
      PLAIN: { value: 'x', secret: false, runtimes: null },
      TOKEN: { value: null, secret: true, runtimes: null },
    })
  assert.ok(!(await actions(all)).includes('project.env.read'))
  const operator = await all.as('operate')
  const { body } = await operator<{ value: string }>('GET', '/projects/shop/env/TOKEN?reveal=true')
  assert.equal(body.value, 'hush')
  assert.equal((await actions(all))[0], 'project.env.read')
  for (const ask of [all.ask, await all.as('read')])
    assert.deepEqual((await ask('GET', '/projects/shop')).body.env.TOKEN, {
      value: null,
      secret: true,
      runtimes: null,
    })
})

test('a variable is set, kept, made secret, made readable again and removed', async (t) => {
  const all = await openTestApp(t)
  const { ask, store } = all
  const { id } = await shop(all)
  const env = async (body: object) => {
    const answer = await ask('PATCH', '/projects/shop', { env: body })
    return answer.status === 200 ? answer.body.env : pointers(answer as unknown as { body: ProblemAnswer })
  }
  assert.deepEqual(await env({ A: '1' }), { A: { value: '1', secret: false, runtimes: null } })
  assert.deepEqual(await env({ A: { secret: true } }), { A: { value: null, secret: true, runtimes: null } })
  assert.equal((await store.secrets.reveal((await store.secrets.of(id))['env/A']!.secret)).expose(), '1')
  assert.deepEqual(await env({ A: { secret: false } }), ['/env/A/value required'])
  assert.deepEqual(await env({ A: { value: '2', secret: false } }), {
    A: { value: '2', secret: false, runtimes: null },
  })
  assert.deepEqual(await store.secrets.of(id), {}, 'what is not secret any more is not kept sealed')
  assert.deepEqual(await env({ A: 'zero\0byte' }), ['/env/A invalid'])
  assert.equal((await ask('DELETE', '/projects/shop/env/constructor')).status, 404)
  assert.equal((await ask('DELETE', '/projects/shop/env/A')).status, 200)
  assert.deepEqual(await env({}), {})
})

test('a copy has the files, the data and the texts of secrets, and ports of its own', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine, store } = all
  const original = await shop(all, {
    start: true,
    more: { databases: { main: { type: 'postgres' } }, env: { TOKEN: { value: 'hush', secret: true } } },
  })
  await writeFile(join(original.path, 'index.html'), 'mine')
  engine.machine.files.add(join(all.folder, 'projects', 'copy'))
  // The database is held while its files are copied.
  engine.nextCommand({ output: [{ text: 'ready\n{}\n' }], exit: { code: 0 } })
  const made = await ask('POST', '/projects/shop/duplicate?wait=10', { name: 'Copy' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.body.operation?.state, 'succeeded', JSON.stringify(made.body.operation))
  assert.deepEqual(states(made.body), { 'postgresql-main': 'running', static: 'running' })
  assert.ok(existsSync(join(made.body.path, 'index.html')))

  const [mine, its] = [await store.secrets.of(original.id), await store.secrets.of(made.body.id)]
  assert.deepEqual(Object.keys(its).sort(), ['database/main/password', 'env/TOKEN'])
  for (const name of Object.keys(its)) {
    assert.notEqual(its[name]!.secret, mine[name]!.secret, 'a secret of its own')
    assert.equal(
      (await store.secrets.reveal(its[name]!.secret)).expose(),
      (await store.secrets.reveal(mine[name]!.secret)).expose(),
    )
  }
  assert.equal(engine.machine.workloads.get(`${made.body.id}/static`)?.env.TOKEN, 'hush')
  const ports = [...(await store.ports.of(original.id)), ...(await store.ports.of(made.body.id))]
  assert.equal(new Set(ports.map(({ hostPort }) => hostPort)).size, 4)
  assert.ok(engine.machine.data.has(`${made.body.id}/postgresql-main`))

  await ask('PATCH', '/projects/copy?wait=10', { env: { TOKEN: null } })
  assert.equal(engine.machine.workloads.get(`${original.id}/static`)?.env.TOKEN, 'hush')
  assert.equal((await ask('GET', '/projects/shop')).body.status.state, 'running', 'the original runs again')
})

test('a project file that was written by us changes nothing when it is applied', async (t) => {
  const all = await openTestApp(t)
  const { ask } = all
  await shop(all, {
    start: true,
    more: {
      static: { spaFallback: true, port: 9000 },
      databases: { main: { type: 'postgres', exposePort: true } },
      env: { PLAIN: '007', TOKEN: { value: 'hush', secret: true } },
      healthCheck: { path: '/', timeoutSeconds: 7 },
    },
  })
  const before = (await ask('GET', '/projects/shop')).body
  const { manifest } = (await ask<{ manifest: string }>('GET', '/projects/shop/manifest')).body
  assert.ok(!manifest.includes('hush'))
  const { plan } = (await ask<PlanAnswer>('POST', '/projects/shop/manifest/plan', { manifest })).body
  assert.deepEqual([plan.steps, plan.keepsRunning], [[], ['postgresql-main', 'static']])
  const applied = await ask('POST', '/projects/shop/manifest/apply?wait=10', { manifest })
  assert.deepEqual([applied.status, applied.body.generation, applied.body.operation], [200, before.generation, null])

  const changed = manifest.replace('spaFallback: true', 'spaFallback: false')
  const next = await ask('POST', '/projects/shop/manifest/apply?wait=10', { manifest: changed })
  assert.deepEqual(
    [next.body.generation, (next.body.static as { spaFallback: boolean }).spaFallback],
    [before.generation + 1, false],
  )
  const wrong = await ask<ProblemAnswer>('POST', '/projects/shop/manifest/plan', { manifest: 'static: {prot: 1}' })
  assert.deepEqual([wrong.status, wrong.body.code], [422, 'manifest_invalid'])
})

test('an unknown project is 404, an unknown operation too', async (t) => {
  const { ask } = await openTestApp(t)
  for (const path of ['', '/env', '/databases', '/manifest', '/logs', '/stats'])
    assert.equal((await ask('GET', `/projects/nobody${path}`)).status, 404, path)
  assert.equal((await ask('PATCH', '/projects/nobody', {})).status, 404)
  assert.equal((await ask('POST', '/projects/nobody/start')).status, 404)
  assert.equal((await ask('GET', '/operations/op_nobody')).status, 404)
})

test('a token that is restricted to a project sees that one alone', async (t) => {
  const all = await openTestApp(t)
  const mine = await shop(all)
  const other = await shop(all, { name: 'Other' })
  const ask = await all.as('admin', [mine.id])
  const list = async (path: string) =>
    (await ask<{ items: { id: string; project?: string }[] }>('GET', path)).body.items
  assert.deepEqual(
    (await list('/projects')).map(({ id }) => id),
    [mine.id],
  )
  assert.ok((await list('/operations')).every(({ project }) => project === mine.id))
  assert.equal((await ask('GET', '/projects/shop')).status, 200)
  for (const id of [other.id, 'other', 'nobody'])
    assert.deepEqual(
      [(await ask('GET', `/projects/${id}`)).status, (await ask('PATCH', `/projects/${id}`, { name: 'X' })).status],
      [403, 403],
    )
  assert.equal((await ask('POST', '/projects', { name: 'New' })).status, 403)
  assert.equal((await ask('POST', '/projects/shop/duplicate', { name: 'New' })).status, 403)
  assert.equal((await ask('GET', `/operations?project=${other.id}`)).status, 403)
})

test('lists can be narrowed by state and by words, page by page', async (t) => {
  const all = await openTestApp(t)
  await shop(all, { start: true })
  for (const name of ['Two', 'Three']) await shop(all, { name })
  type List = { items: { slug: string }[]; nextCursor: string | null }
  const slugs = async (query: string) => {
    const { items, nextCursor } = (await all.ask<List>('GET', `/projects?${query}`)).body
    return { slugs: items.map(({ slug }) => slug), nextCursor }
  }
  assert.deepEqual(await slugs('state=running'), { slugs: ['shop'], nextCursor: null })
  assert.deepEqual(await slugs('q=THR'), { slugs: ['three'], nextCursor: null })
  const first = await slugs('limit=2')
  assert.deepEqual(first.slugs, ['shop', 'two'])
  assert.deepEqual(await slugs(`limit=2&cursor=${first.nextCursor}`), { slugs: ['three'], nextCursor: null })
})

test('one workload is started and stopped alone; one that there is not is refused with those that there are', async (t) => {
  const all = await openTestApp(t)
  const { ask } = all
  await shop(all, { more: { databases: { main: { type: 'postgres' } } } })
  await ask('POST', '/projects/shop/start?wait=10', { workload: 'postgresql-main' })
  assert.deepEqual(states((await ask('GET', '/projects/shop')).body), {
    'postgresql-main': 'running',
    static: 'stopped',
  })
  await ask('POST', '/projects/shop/start?wait=10', { workload: 'static' })
  await ask('POST', '/projects/shop/stop?wait=10', { workload: 'postgresql-main' })
  assert.deepEqual(states((await ask('GET', '/projects/shop')).body), {
    'postgresql-main': 'stopped',
    static: 'running',
  })
  const unknown = await ask<ProblemAnswer>('POST', '/projects/shop/start', { workload: 'nobody' })
  assert.deepEqual([unknown.status, pointers(unknown)], [422, ['/workload unknown_workload']])
  assert.match(unknown.body.detail, /postgresql-main, static/)
})

test('a workload that crashed and is then stopped by a person stays stopped', async (t) => {
  const all = await openTestApp(t)
  const { ask, engine } = all
  const { id } = await shop(all, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  engine.crash({ project: id, workload: 'static' })
  await until('it backs off', async () => states((await ask('GET', '/projects/shop')).body).static === 'backing-off')
  assert.equal((await ask('POST', '/projects/shop/stop?wait=10', { workload: 'static' })).status, 200)
  await new Promise((resolve) => setTimeout(resolve, 300))
  const { status } = (await ask('GET', '/projects/shop')).body
  assert.deepEqual(
    status.workloads.map(({ state, restarts }) => [state, restarts]),
    [
      ['running', 0],
      ['stopped', 0],
    ],
  )
})

test('when the service is started anew it finds the projects as they are and starts what fell', async (t) => {
  const first = await openTestApp(t)
  const project = await shop(first, { start: true, more: { databases: { main: { type: 'postgres' } } } })
  const pid = first.engine.machine.workloads.get(`${project.id}/static`)?.pid
  first.engine.machine.workloads.get(`${project.id}/postgresql-main`)!.state = 'exited'
  const again = await first.reopen()
  await until('it runs', async () => (await again.ask('GET', '/projects/shop')).body.status.state === 'running')
  assert.equal(again.engine.machine.workloads.get(`${project.id}/static`)?.pid, pid, 'what ran was left alone')
  const [newest] = (await again.ask<{ items: OperationAnswer[] }>('GET', '/operations')).body.items
  const { kind, state, actor } = (await again.ask<OperationAnswer>('GET', `/operations/${newest?.id}?wait=10`)).body
  assert.deepEqual([kind, state, actor], ['reconcile', 'succeeded', 'system'])
  assert.deepEqual([first.errors, again.errors], [[], []])
})

test('an operation that the end of the service cut off goes on at the next start', async (t) => {
  const first = await openTestApp(t)
  await shop(first)
  first.engine.hangNext('start')
  const { body } = await first.ask<OperationAnswer>('POST', '/projects/shop/start')
  await until('it is at it', async () => first.engine.applied.at(-1)?.step.do === 'start')
  const again = await first.reopen()
  const ended = await again.ask<OperationAnswer>('GET', `/operations/${body.id}?wait=10`)
  assert.equal(ended.body.state, 'succeeded')
  assert.equal((await again.ask('GET', '/projects/shop')).body.status.state, 'running')
})
