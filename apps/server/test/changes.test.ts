import assert from 'node:assert/strict'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { databaseTypes, serviceTypes } from '@stackquay/catalog'
import type { ProjectView } from '@stackquay/contract'
import type { ProjectSpec } from '@stackquay/domain'
import {
  type OperationAnswer,
  openTestApp,
  type PlanAnswer,
  type ProblemAnswer,
  type TestApp,
} from './projects-support.ts'

// What a change leaves when something goes wrong on its way: a step fails, somebody cancels, the machine has lost a program,
// somebody else acts in the same moment.

type Fields = Record<string, unknown>

/** A service that can be told to run elsewhere; one whose data has traits; one without data. */
const movable = serviceTypes.find((kind) => kind.runsHere !== undefined)!
const bucket = serviceTypes.find((kind) => kind.settings.ofData.length > 0)!
const forgetful = serviceTypes.find((kind) => !kind.keepsData && kind.toolchain !== null)!
const inbox = serviceTypes.find((kind) => kind.inboxPort !== undefined)!
const guarded = serviceTypes.find(
  (kind) => kind.keepsData && kind.toolchain !== null && kind.credentials !== undefined && kind !== movable,
)!
const postgres = databaseTypes.find(({ aliases }) => aliases.includes('postgres'))!
const main = { main: { type: postgres.name } }
const mainWorkload = `${postgres.name}-main`

async function shop(app: TestApp, more: object = {}): Promise<ProjectView> {
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=60', { name: 'Shop', static: {}, ...more })
  assert.deepEqual([made.status, made.body.operation?.state], [201, 'succeeded'], JSON.stringify(made.body))
  return (await app.ask('GET', '/projects/shop')).body
}

const patch = (app: TestApp, body: object, query = 'wait=60') => app.ask('PATCH', `/projects/shop?${query}`, body)
const planned = async (app: TestApp, body: object) =>
  (await patch(app, body, 'dryRun=true')).body as unknown as PlanAnswer
const drop = (app: TestApp, query = 'confirm=main&wait=60') =>
  app.ask<ProjectView & ProblemAnswer & PlanAnswer>('DELETE', `/projects/shop/databases/main?${query}`)
const dataOf = async ({ engine }: TestApp, id: string) =>
  [...(await engine.dataNames(id, AbortSignal.timeout(10_000)))].sort()
const secretNames = async ({ store }: TestApp, id: string) => Object.keys(await store.secrets.of(id)).sort()
const pids = ({ engine }: TestApp, id: string) =>
  Object.fromEntries(
    [...engine.machine.workloads.values()]
      .filter(({ workload }) => workload.ref.project === id)
      .map(({ workload, pid }) => [workload.ref.workload, pid]),
  )
const pointers = ({ body }: { body: unknown }) =>
  ((body as ProblemAnswer).errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)
const changed = (before: Fields, after: Fields) =>
  Object.keys(after)
    .filter((name) => after[name] !== before[name])
    .sort()

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('a database whose deletion failed holds its name until it is dropped again, and comes back with nothing of what it was', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app, { databases: main })
  const password = async () =>
    (await app.ask<{ password: string }>('GET', '/projects/shop/databases/main/credentials')).body.password
  const old = await password()
  app.engine.failNext('deleteData')
  const failed = await drop(app)
  assert.deepEqual([failed.body.operation?.state, failed.body.databases], ['failed', {}])
  assert.deepEqual(await dataOf(app, id), [mainWorkload])

  const operator = await app.as('operate')
  for (const { name: type } of databaseTypes.filter((kind) => kind.nameBlocker('main') === null)) {
    const taken = await operator('POST', '/projects/shop/databases', { name: 'main', type })
    assert.deepEqual([taken.status, pointers(taken)], [422, ['/databases/main data_exists']], type)
  }
  assert.equal((await operator('DELETE', '/projects/shop/databases/main?confirm=main')).status, 403)
  assert.equal((await drop(app, 'confirm=other')).status, 422)
  const { plan } = (await drop(app, 'dryRun=true')).body
  assert.deepEqual([plan.deletesData, plan.restarts], [[mainWorkload], ['static']], 'and what was not reached restarts')
  assert.deepEqual(await dataOf(app, id), [mainWorkload], 'a dry run deletes nothing')

  const again = await drop(app)
  assert.equal(again.body.operation?.state, 'succeeded', JSON.stringify(again.body))
  assert.deepEqual(
    again.body.operation?.steps.map(({ title }) => title),
    plan.steps.map(({ title }) => title),
  )
  assert.deepEqual([await dataOf(app, id), await secretNames(app, id)], [[], []])
  assert.deepEqual(
    (await app.store.ports.of(id)).filter(({ workload }) => workload === mainWorkload),
    [],
  )
  assert.equal((await drop(app)).status, 404)
  const anew = await operator('POST', '/projects/shop/databases?wait=60', { name: 'main', ...main.main })
  assert.equal(anew.body.operation?.state, 'succeeded', JSON.stringify(anew.body))
  assert.notEqual(await password(), old)
})

test('data goes although the runtimes cannot be started: of a database, with removeData and by hand', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app, { databases: main, [movable.name]: {}, [bucket.name]: {} })
  const acts = {
    [mainWorkload]: () => drop(app),
    [movable.name]: () => patch(app, { [movable.name]: { enabled: false, removeData: true } }),
  }
  for (const [name, act] of Object.entries(acts)) {
    assert.ok((await dataOf(app, id)).includes(name))
    app.engine.failNext('start:static')
    const answer = await act()
    assert.equal(answer.body.operation?.state, 'failed', JSON.stringify(answer.body))
    assert.ok(!(await dataOf(app, id)).includes(name), name)
    assert.ok(!(await secretNames(app, id)).some((secret) => secret.includes(`/${name.split('-').at(-1)}/`)), name)
  }
  app.engine.failNext('start:static')
  await patch(app, { [bucket.name]: { enabled: false } })
  const gone = await app.ask('DELETE', `/projects/shop/extras/${bucket.name}/data?wait=60`)
  assert.equal(gone.body.operation?.state, 'succeeded', JSON.stringify(gone.body))
  assert.deepEqual([await dataOf(app, id), await secretNames(app, id)], [[], []])
  assert.deepEqual(await app.store.keptData.of(id), [])
})

test('a deletion that is cancelled right after the data is gone leaves no secret, port or note of it either', async (t) => {
  const app = await openTestApp(t)
  const { engine, store, ask } = app
  const { id } = await shop(app, { databases: main, [movable.name]: {}, [guarded.name]: {} })
  const setDataAside = engine.setDataAside.bind(engine)
  engine.setDataAside = async (...about) => {
    await setDataAside(...about)
    const cancelled = await ask('POST', `/operations/${(await store.operations.active(id))?.id}/cancel`)
    assert.ok(cancelled.status < 300, JSON.stringify(cancelled.body))
  }
  assert.equal((await drop(app)).body.operation?.state, 'cancelled')
  assert.deepEqual(
    (await store.ports.of(id)).filter(({ workload }) => workload === mainWorkload),
    [],
  )
  assert.ok(!(await secretNames(app, id)).some((name) => name.startsWith('database/')))

  const both = [movable, guarded]
  const off = Object.fromEntries(both.map(({ name }) => [name, { enabled: false, removeData: true }]))
  assert.equal((await patch(app, off)).body.operation?.state, 'cancelled')
  const left = await dataOf(app, id)
  assert.equal(left.length, 1, 'the second was not reached')
  for (const { name, secrets } of both) {
    const names = (await secretNames(app, id)).filter((secret) => secret.startsWith(`service/${name}/`))
    assert.equal(names.length, left.includes(name) ? secrets.length : 0, name)
  }
  assert.deepEqual(
    (await store.keptData.of(id)).map(({ name }) => name),
    left,
  )
  const items = await store.trash.all()
  assert.deepEqual(
    items.map(({ name, state }) => `${name} ${state}`).sort(),
    ['main kept', ...both.filter(({ name }) => !left.includes(name)).map(({ name }) => `${name} kept`)].sort(),
  )
})

test('a removal that failed changed nothing of what is said about the data', async (t) => {
  const app = await openTestApp(t)
  const traits = Object.fromEntries(bucket.settings.ofData.map((field) => [field, true]))
  await shop(app, { [bucket.name]: traits })
  app.engine.failNext('deleteData')
  const failed = await patch(app, { [bucket.name]: { enabled: false, removeData: true } })
  assert.equal(failed.body.operation?.state, 'failed')
  const shown = failed.body[bucket.name] as Fields
  for (const field of bucket.settings.ofData) assert.equal(shown[field], true, field)
  const back = await patch(app, { [bucket.name]: { enabled: true } })
  assert.equal(back.body.operation?.state, 'succeeded', JSON.stringify(back.body))
  for (const field of bucket.settings.ofData) assert.equal((back.body[bucket.name] as Fields)[field], true, field)
})

test('a folder’s own file does not replace a secret that was sent for the same variable', async (t) => {
  const app = await openTestApp(t)
  const folder = async (name: string, manifest: string) => {
    const path = join(app.folder, 'projects', name)
    await mkdir(path, { recursive: true })
    await chmod(path, 0o777)
    await writeFile(join(path, 'stackquay.yml'), manifest)
    return path
  }
  const path = await folder('own', 'static: {}\nenv:\n  API_KEY: placeholder\n  OTHER: own\n')
  const made = await app.ask('POST', '/projects?wait=60', {
    name: 'Shop',
    path,
    start: false,
    env: { API_KEY: { value: 'sent', secret: true } },
  })
  assert.deepEqual([made.status, made.body.operation?.state], [201, 'succeeded'], JSON.stringify(made.body))
  const { env } = (await app.ask<{ env: Fields }>('GET', '/projects/shop/env')).body
  assert.deepEqual(env, {
    API_KEY: { value: null, secret: true, runtimes: null },
    OTHER: { value: 'own', secret: false, runtimes: null },
  })
  const revealed = await app.ask<Fields>('GET', '/projects/shop/env/API_KEY?reveal=true')
  assert.equal(revealed.body.value, 'sent')
  assert.equal((await patch(app, { env: { API_KEY: { value: 'next', secret: true } } })).status, 200)

  const limited = await folder('limited', 'static: {}\nlimits: {cpus: 1}\n')
  const refused = await app.ask('POST', '/projects?wait=60', { name: 'Limited', path: limited, start: false })
  assert.deepEqual([refused.status, pointers(refused)], [422, ['/limits/cpus engine_cannot']])
})

test('what the machine has lost stands in nobody’s way: it runs on, the rest changes, as planned', async (t) => {
  const first = await openTestApp(t)
  const { id } = await shop(first, { databases: main, [movable.name]: {}, [forgetful.name]: {}, [guarded.name]: {} })
  const without = [forgetful, guarded].map((kind) => kind.toolchain!.name)
  const app = await first.reopen({ without })
  app.engine.machine.files.has = () => true
  const [lost, before] = [[forgetful.name, guarded.name], pids(app, id)]
  const { plan } = await planned(app, { env: { A: '1' } })
  assert.deepEqual([plan.starts, plan.restarts, plan.stops, plan.warnings.length], [[], ['static'], [], 2])
  const done = await patch(app, { env: { A: '1' } })
  assert.deepEqual([done.body.operation?.state, done.body.env.A?.value], ['succeeded', '1'], JSON.stringify(done.body))
  assert.deepEqual(changed(before, pids(app, id)), ['static'])

  const rotated = await app.ask('POST', `/projects/shop/${movable.name}/credentials/rotate?wait=60`)
  assert.equal(rotated.body.operation?.state, 'succeeded', JSON.stringify(rotated.body))
  const { password } = (await app.ask<{ password: string }>('GET', `/projects/shop/${movable.name}/credentials`)).body
  assert.ok(JSON.stringify(app.engine.machine.workloads.get(`${id}/static`)?.env).includes(password))
  const secrets = await app.store.secrets.of(id)
  const refused = await app.ask<ProblemAnswer>('POST', `/projects/shop/${guarded.name}/credentials/rotate?wait=60`)
  assert.deepEqual([refused.status, refused.body.code], [422, 'unavailable_here'], 'it could not learn the new ones')
  assert.deepEqual(pointers(refused), [`/${guarded.name}/version unavailable_here`])
  assert.deepEqual(await app.store.secrets.of(id), secrets)

  assert.equal((await drop(app)).body.operation?.state, 'succeeded')
  assert.deepEqual(await dataOf(app, id), [movable.name, guarded.name].sort())
  for (const name of lost) assert.equal(pids(app, id)[name], before[name], `${name} was left alone`)

  const copied = await app.ask<ProblemAnswer>('POST', '/projects/shop/duplicate?wait=60', { name: 'Copy' })
  assert.deepEqual([copied.status, copied.body.code], [409, 'conflict'], JSON.stringify(copied.body))
  assert.equal((await app.ask('GET', '/projects/copy')).status, 404)
  for (const name of lost) assert.equal(pids(app, id)[name], before[name], `${name} was left alone`)

  const stops = (await app.ask<PlanAnswer>('POST', '/projects/shop/stop?dryRun=true')).body.plan
  const stopped = await app.ask<OperationAnswer>('POST', '/projects/shop/stop?wait=60')
  assert.deepEqual(
    stopped.body.steps.map(({ title }) => title),
    stops.steps.map(({ title }) => title),
  )
  assert.deepEqual([...stops.stops].sort(), [movable.name, 'static', ...lost].sort())
  assert.deepEqual(new Set(Object.values(pids(app, id))), new Set([null]), 'a stop leaves nothing running')
  const twin = await app.ask('POST', '/projects/shop/duplicate?wait=60', { name: 'Copy', start: false })
  assert.equal(twin.body.operation?.state, 'succeeded', JSON.stringify(twin.body))
  assert.deepEqual(await dataOf(app, twin.body.id), await dataOf(app, id))

  const end = (await app.ask<PlanAnswer>('DELETE', '/projects/shop?dryRun=true')).body.plan
  const removed = await app.ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=60')
  assert.deepEqual(
    removed.body.steps.map(({ title }) => title),
    end.steps.map(({ title }) => title),
  )
  assert.deepEqual(pids(app, id), {})
})

test('a change that was cancelled on its way is finished by the next one, and an upgrade is no such change', async (t) => {
  const app = await openTestApp(t)
  const { engine, ask } = app
  const { id } = await shop(app, { [movable.name]: {}, [bucket.name]: {} })
  const credentials = async () =>
    (await ask<{ password: string }>('GET', `/projects/shop/${movable.name}/credentials`)).body.password
  const environment = () => JSON.stringify(engine.machine.workloads.get(`${id}/static`)?.env)

  engine.hangNext('stop:static')
  const rotating = await ask('POST', `/projects/shop/${movable.name}/credentials/rotate`)
  await until('the service has the new ones', () => engine.applied.at(-1)?.step.id === 'stop:static')
  await ask('POST', `/operations/${rotating.body.operation?.id}/cancel?wait=60`)
  assert.ok(!environment().includes(await credentials()), 'it was cancelled before it got there')

  const own = (await ask('GET', '/projects/shop')).body
  assert.deepEqual((await planned(app, own)).plan.steps, [], 'sent back as it is, nothing happens')
  assert.equal((await patch(app, own)).body.operation, null)
  const { plan } = await planned(app, { name: 'Renamed' })
  assert.deepEqual([plan.starts, plan.restarts], [[], ['static']])
  const renamed = await patch(app, { name: 'Renamed' })
  assert.equal(renamed.body.operation?.state, 'succeeded', JSON.stringify(renamed.body))
  assert.ok(environment().includes(await credentials()))
  assert.equal((await patch(app, { name: 'Again' })).body.operation, null, 'once')

  for (const one of engine.machine.workloads.values())
    Object.assign(one, { workload: { ...one.workload, fingerprint: 'of older days' } })
  const before = pids(app, id)
  assert.deepEqual((await planned(app, (await ask('GET', '/projects/shop')).body)).plan.steps, [])
  assert.equal((await patch(app, { name: 'Upgraded' })).body.operation, null)
  const touched = await patch(app, { env: { A: '1' } })
  assert.equal(touched.body.operation?.state, 'succeeded')
  assert.deepEqual(changed(before, pids(app, id)), ['static'])
})

test('a change that failed does not start again what is down, until somebody changes or starts that', async (t) => {
  const app = await openTestApp(t)
  const { engine, ask } = app
  const { id } = await shop(app)
  engine.failNext('start:static')
  assert.equal((await patch(app, { env: { A: '1' } })).body.operation?.state, 'failed')
  assert.equal(pids(app, id).static, null)
  assert.equal((await patch(app, { name: 'Renamed' })).body.operation, null)
  engine.failNext(`start:${movable.name}`)
  const enabled = await patch(app, { [movable.name]: { enabled: true }, [bucket.name]: { enabled: true } })
  assert.equal(enabled.body.operation?.state, 'failed')
  assert.ok(pids(app, id)[bucket.name], 'it starts beside the one that failed')
  const { plan } = await planned(app, { env: { A: '2' } })
  assert.ok(plan.starts.includes('static'))
  const fixed = await patch(app, { env: { A: '2' } })
  assert.equal(fixed.body.operation?.state, 'succeeded', JSON.stringify(fixed.body.operation))
  assert.ok(pids(app, id)[bucket.name] && pids(app, id).static)
  const started = await ask<OperationAnswer>('POST', '/projects/shop/start?wait=60')
  assert.equal(started.body.state, 'succeeded')
  assert.deepEqual((await ask('GET', '/projects/shop')).body.status.state, 'running')
})

test('whoever may only look at a plan cannot learn from it whether a guess of a secret is right', async (t) => {
  const app = await openTestApp(t)
  await shop(app, { env: { KEY: { value: 'hunter2', secret: true } } })
  const reader = await app.as('read')
  const guess = async (text: string) => {
    const { status, body } = await reader<ProblemAnswer>('POST', '/projects/shop/manifest/plan', {
      manifest: `env:\n  KEY: ${text}\n`,
    })
    return { ...body, http: status, requestId: null }
  }
  const [right, wrong] = [await guess('hunter2'), await guess('hunter3')]
  assert.equal(right.http, 422)
  assert.deepEqual(right, wrong)
})

test('the text of a variable that becomes a secret, or was one, is in no plan and no entry', async (t) => {
  const app = await openTestApp(t)
  await shop(app, { env: { KEY: 'hush-plain', OTHER: { value: 'hush-scoped', runtimes: ['static'] } } })
  const secret = { env: { KEY: { secret: true }, OTHER: { secret: true } } }
  const readable = { env: { KEY: { value: 'hush-again', secret: false } } }
  for (const body of [secret, readable]) {
    assert.doesNotMatch(JSON.stringify((await planned(app, body)).plan), /hush-/)
    assert.equal((await patch(app, body)).status, 200)
    const [entry] = await app.store.audit.list({ limit: 1, action: 'project.update' })
    assert.ok(JSON.stringify(entry?.changes).includes('env.KEY'))
    assert.doesNotMatch(JSON.stringify(entry), /hush-/)
  }
})

test('data that came to be between the look at it and the change is not overlooked: the change is looked at again', async (t) => {
  const app = await openTestApp(t)
  const { engine, ask } = app
  app.engine.machine.files.has = () => true
  await ask('POST', '/projects?wait=60', { name: 'Shop', static: {}, [bucket.name]: {}, start: false })
  const [field] = bucket.settings.ofData
  const look = engine.dataNames.bind(engine)
  engine.dataNames = async (...about) => {
    const seen = await look(...about)
    engine.dataNames = look
    await ask('POST', '/projects/shop/start?wait=60')
    return seen
  }
  const wish = { [bucket.name]: { [field!]: true } }
  assert.deepEqual(pointers(await patch(app, wish)), [`/${bucket.name}/${field} data_exists`])
  assert.deepEqual(pointers(await patch(app, wish)), [`/${bucket.name}/${field} data_exists`])
  // Sizes are nobody's business here: a walk through all files may take longer than anybody waits.
  engine.data = () => Promise.reject(new Error('it takes too long'))
  for (const enabled of [false, true, false, true])
    assert.equal((await patch(app, { [bucket.name]: { enabled } })).body.operation?.state, 'succeeded')
})

test('a version that its service is started with by itself counts as the one that wrote its data', async (t) => {
  const app = await openTestApp(t)
  const { store, engine } = app
  const kind = serviceTypes.find(
    ({ keepsData, toolchain, releases }) => keepsData && toolchain !== null && releases.length > 1,
  )!
  const older = kind.releases[1]!.version
  const { id } = await shop(app, { [kind.name]: { version: older } })
  const writer = async () => (await store.keptData.of(id)).find(({ name }) => name === kind.name)?.version
  assert.equal(await writer(), older)
  // As a change leaves it that was cancelled before its first step.
  const row = (await store.projects.find(id))!
  const settings = { ...row.spec.services[kind.name]!, version: kind.releases[0]!.version }
  const spec: ProjectSpec = { ...row.spec, services: { ...row.spec.services, [kind.name]: settings } }
  await store.transaction((tx) => tx.projects.update(id, row.generation, { spec }))
  const { pid } = engine.machine.workloads.get(`${id}/${kind.name}`)!
  engine.crash({ project: id, workload: kind.name })
  await until('it runs again', () => ![null, pid].includes(pids(app, id)[kind.name] as number | null))
  assert.equal(await writer(), kind.releases[0]!.version)
})

test('a service whose program cannot be copied keeps neither the others nor the instance from starting', async (t) => {
  const first = await openTestApp(t)
  await shop(first, { [inbox.name]: {} })
  await rm(join(first.folder, 'toolchains'), { recursive: true, force: true })
  await writeFile(join(first.folder, 'toolchains'), '')
  const app = await first.reopen()
  const { status, body } = await app.ask('GET', '/projects/shop')
  assert.equal(status, 200)
  assert.ok(
    body.status.warnings.some(({ code }) => code === 'cannot_run'),
    JSON.stringify(body.status),
  )
  assert.equal((await patch(app, { name: 'Renamed' })).status, 200)
})

test('a program that was installed meanwhile is offered without a restart of the instance', async (t) => {
  const app = await openTestApp(t, { without: [forgetful.toolchain!.name] })
  const offered = async () =>
    (await app.ask<{ items: { name: string; available: boolean }[] }>('GET', '/services')).body.items.find(
      ({ name }) => name === forgetful.name,
    )?.available
  assert.equal(await offered(), false)
  const all = await openTestApp(t)
  app.engine.toolchainsFound = all.engine.toolchainsFound
  const later = (seconds: number) => t.mock.timers.setTime(Date.now() + seconds * 1000)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  later(60)
  assert.equal(await offered(), true)

  // Without a look at what is offered in between: the same request again, as the refusal said.
  const wish = { [forgetful.name]: { enabled: true } }
  const { id } = await shop(app)
  app.engine.toolchainsFound = all.engine.toolchainsFound.filter(({ name }) => name !== forgetful.toolchain!.name)
  later(60)
  assert.equal(await offered(), false)
  assert.equal((await patch(app, wish)).status, 422)
  app.engine.toolchainsFound = all.engine.toolchainsFound
  later(60)
  assert.equal((await patch(app, wish)).body.operation?.state, 'succeeded')
  assert.ok(pids(app, id)[forgetful.name])

  await app.ask('POST', '/projects/shop/stop?wait=60')
  app.engine.toolchainsFound = []
  later(60)
  assert.equal(await offered(), false)
  assert.equal((await app.ask('POST', '/projects/shop/start')).status, 422)
  app.engine.toolchainsFound = all.engine.toolchainsFound
  later(60)
  const started = await app.ask<OperationAnswer>('POST', '/projects/shop/start?wait=60')
  assert.equal(started.body.state, 'succeeded', JSON.stringify(started.body))
})

test('data of a service that runs elsewhere now is listed and can be deleted', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app, { [movable.name]: {} })
  await patch(app, { [movable.name]: { external: { host: 'elsewhere.example.org', password: 'hush' } } })
  const listed = async () =>
    (await app.ask<{ keptData: { kind: string; keptAt: string | null }[] }>('GET', '/projects/shop/extras')).body
      .keptData
  assert.deepEqual(
    (await listed()).map(({ kind, keptAt }) => [kind, keptAt === null]),
    [[movable.name, false]],
  )
  const gone = await app.ask('DELETE', `/projects/shop/extras/${movable.name}/data?wait=60`)
  assert.equal(gone.body.operation?.state, 'succeeded', JSON.stringify(gone.body))
  assert.deepEqual([await listed(), await dataOf(app, id)], [[], []])
})

test('when the primary database is dropped its variables go, and those of another never take their place', async (t) => {
  const app = await openTestApp(t)
  const other = { reports: { type: postgres.name } }
  const { id } = await shop(app, { databases: { ...main, ...other } })
  const environment = () => app.engine.machine.workloads.get(`${id}/static`)!.env
  const before = environment()
  assert.ok(before.DATABASE_URL !== undefined && before.REPORTS_DATABASE_URL !== undefined)
  // As it was written before there was a mark.
  const row = (await app.store.projects.find(id))!
  const bare = Object.entries(row.spec.databases).map(([name, { primary: _primary, ...rest }]) => [name, rest])
  const spec: ProjectSpec = { ...row.spec, databases: Object.fromEntries(bare) }
  await app.store.transaction((tx) => tx.projects.update(id, row.generation, { spec }))
  const exposed = await patch(app, { databases: { reports: { exposePort: true } } })
  assert.equal(exposed.status, 200, JSON.stringify(exposed.body))
  assert.equal(environment().DATABASE_URL, before.DATABASE_URL)
  assert.equal((await drop(app)).body.operation?.state, 'succeeded')
  assert.equal(environment().DATABASE_URL, undefined)
  assert.equal(environment().REPORTS_DATABASE_URL, before.REPORTS_DATABASE_URL)
  assert.deepEqual(
    Object.values((await app.ask('GET', '/projects/shop')).body.databases).map(({ primary }) => primary),
    [false],
  )
})

test('switching off and deleting what was never there is no change', async (t) => {
  const app = await openTestApp(t)
  const { generation } = await shop(app)
  for (const { name, keepsData } of serviceTypes)
    for (const body of [{ enabled: false }, ...(keepsData ? [{ enabled: false, removeData: true }] : [])]) {
      const answer = await patch(app, { [name]: body })
      assert.deepEqual([answer.status, answer.body.generation, answer.body.operation], [200, generation, null], name)
      assert.equal(answer.body[name], undefined, name)
    }
})
