import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypes, type ServiceType, serviceTypes } from '@stackquay/catalog'
import { operationList, type ProjectView } from '@stackquay/contract'
import { openTestApp as openLoggingApp } from './app-support.ts'
import {
  type OperationAnswer,
  openTestApp,
  type PlanAnswer,
  type ProblemAnswer,
  type TestApp,
} from './projects-support.ts'

const keepers = serviceTypes.filter((kind) => kind.keepsData)
const withCredentials = serviceTypes.filter((kind) => kind.credentials !== undefined)
const all = Object.fromEntries(serviceTypes.map(({ name }) => [name, {}]))

interface Extras {
  services: { kind: string; enabled: boolean; version: string; pageUrl: string | null }[]
  keptData: { kind: string; version: string | null; sizeBytes: number; keptAt: string | null }[]
}
type Credentials = Record<string, string | number | boolean | null>
type Fields = Record<string, unknown>

/** A project that serves its folder with these services; it runs unless told otherwise. */
async function shop(app: TestApp, more: object = all, { start = true, name = 'Shop' } = {}): Promise<ProjectView> {
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', { name, static: {}, ...more, start })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.body.operation?.state, 'succeeded', JSON.stringify(made.body.operation))
  return (await app.ask('GET', `/projects/${made.body.id}`)).body
}

const patch = (app: TestApp, body: object, query = 'wait=30') => app.ask('PATCH', `/projects/shop?${query}`, body)
const extras = async (app: TestApp) => (await app.ask<Extras>('GET', '/projects/shop/extras')).body
const credentials = async ({ ask }: TestApp, kind: { name: string }, project = 'shop') =>
  (await ask<Credentials>('GET', `/projects/${project}/${kind.name}/credentials`)).body
const dataOf = ({ engine }: TestApp, id: string) =>
  [...engine.machine.data.keys()]
    .filter((key) => key.startsWith(`${id}/`))
    .map((key) => key.slice(id.length + 1))
    .sort()
const pointers = ({ body }: { body: unknown }) =>
  ((body as ProblemAnswer).errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)

/** The texts of all secrets of a project, by their names. */
async function texts({ store }: TestApp, id: string): Promise<Record<string, string>> {
  const handles = Object.entries(await store.secrets.of(id))
  return Object.fromEntries(
    await Promise.all(
      handles.map(async ([name, { secret }]) => [name, (await store.secrets.reveal(secret)).expose()] as const),
    ),
  )
}

/** What is known of the data of a project's services: the version that wrote it, and whether it is in use. */
const known = async ({ store }: TestApp, id: string) =>
  Object.fromEntries(
    (await store.keptData.of(id)).map(({ name, version, keptAt }) => [name, [version, keptAt === null]]),
  )

const secretsOf = (kind: ServiceType) => kind.secrets.map(({ name }) => `service/${kind.name}/${name}`)

test('data of a service that is switched off is listed with version, size and time, and found again: data, version, credentials, port', async (t) => {
  const first = await openTestApp(t)
  const { id } = await shop(first)
  const began = Date.now()
  const running = (await first.ask('GET', '/projects/shop')).body
  const before = Object.fromEntries(
    await Promise.all(withCredentials.map(async (kind) => [kind.name, await credentials(first, kind)] as const)),
  )
  assert.deepEqual((await extras(first)).keptData, [])
  const off = Object.fromEntries(serviceTypes.map(({ name }) => [name, { enabled: false }]))
  assert.equal((await patch(first, off)).body.operation?.state, 'succeeded')
  assert.deepEqual(dataOf(first, id), keepers.map(({ name }) => name).sort())

  const listed = await extras(first)
  assert.deepEqual(
    listed.keptData.map(({ kind, version, sizeBytes }) => [kind, version, sizeBytes]),
    keepers.map((kind) => [kind.name, (running[kind.name] as Fields).version, 4096]),
  )
  for (const { keptAt } of listed.keptData) {
    const at = Date.parse(keptAt ?? '')
    assert.ok(at >= began - 1000 && at <= Date.now() + 1000, String(keptAt))
  }
  assert.deepEqual(
    listed.services,
    serviceTypes.map(({ name }) => ({
      kind: name,
      enabled: false,
      version: (running[name] as Fields).version,
      pageUrl: null,
    })),
  )

  const again = await first.reopen()
  again.engine.machine.files.has = () => true
  assert.deepEqual(await extras(again), listed, 'it survives another start of the service')
  const on = Object.fromEntries(serviceTypes.map(({ name }) => [name, { enabled: true }]))
  assert.equal((await patch(again, on)).body.operation?.state, 'succeeded')
  assert.deepEqual((await extras(again)).keptData, [])
  assert.deepEqual(
    await known(again, id),
    Object.fromEntries(keepers.map(({ name }) => [name, [(running[name] as Fields).version, true]])),
  )
  for (const kind of withCredentials) assert.deepEqual(await credentials(again, kind), before[kind.name])
  const now = (await again.ask('GET', '/projects/shop')).body
  for (const { name } of serviceTypes) assert.deepEqual(now[name], running[name], name)
})

test('kept data is deleted by hand: not while the service is enabled, not twice, and only that data', async (t) => {
  const app = await openTestApp(t)
  const { ask, store } = app
  const { id } = await shop(app)
  const operator = await app.as('operate')
  let data = dataOf(app, id)
  for (const kind of keepers) {
    const path = `/projects/shop/extras/${kind.name}/data`
    const enabled = await ask<ProblemAnswer>('DELETE', path)
    assert.deepEqual([enabled.status, enabled.body.code], [409, 'conflict'], kind.name)
    assert.match(enabled.body.hint ?? '', /Disable it first/)
    await patch(app, { [kind.name]: { enabled: false } })
    const secrets = await texts(app, id)
    assert.equal((await operator('DELETE', path)).status, 403)
    const { plan } = (await ask<PlanAnswer>('DELETE', `${path}?dryRun=true`)).body
    assert.deepEqual([plan.deletesData, plan.steps.length, plan.restarts], [[kind.name], 1, []])
    assert.deepEqual(dataOf(app, id), data, 'a dry run deletes nothing')

    const gone = await ask('DELETE', `${path}?wait=30`)
    assert.deepEqual([gone.status, gone.body.operation?.state], [200, 'succeeded'], JSON.stringify(gone.body))
    data = data.filter((name) => name !== kind.name)
    assert.deepEqual(dataOf(app, id), data)
    const left = Object.fromEntries(Object.entries(secrets).filter(([name]) => !secretsOf(kind).includes(name)))
    assert.deepEqual(await texts(app, id), left, 'the secrets that opened it go too, and no other')
    assert.deepEqual(Object.keys(await known(app, id)).sort(), data, 'nothing is known of it any more')
    assert.deepEqual((await extras(app)).keptData, [])
    const [entry] = await store.audit.list({ limit: 1, action: 'service.data.delete' })
    assert.deepEqual([entry?.outcome, entry?.changes], ['success', { deletesData: [kind.name] }])
    const twice = await ask<ProblemAnswer>('DELETE', path)
    assert.deepEqual([twice.status, twice.body.code], [404, 'not_found'])
  }
  assert.deepEqual((await ask('GET', '/projects/shop')).body.status.state, 'running')
  for (const { name, keepsData } of serviceTypes)
    if (!keepsData) assert.equal((await ask('DELETE', `/projects/shop/extras/${name}/data`)).status, 400, name)
})

test('4.2.3 removeData deletes the data, the credentials and nothing else, needs scope admin, and is told before', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const operator = await app.as('operate')
  let data = dataOf(app, id)
  for (const kind of keepers) {
    const body = { [kind.name]: { enabled: false, removeData: true } }
    const refused = await operator<ProblemAnswer>('PATCH', '/projects/shop', body)
    assert.deepEqual([refused.status, refused.body.code], [403, 'scope_insufficient'])
    const { plan } = (await app.ask<PlanAnswer>('PATCH', '/projects/shop?dryRun=true', body)).body
    assert.deepEqual([plan.deletesData, plan.stops], [[kind.name], [kind.name]])
    assert.equal(plan.steps.find(({ title }) => title === `Move the data "${kind.name}" to the trash`)?.workload, null)
    const port = ((await app.ask('GET', '/projects/shop')).body[kind.name] as Fields).hostPort
    const before = await texts(app, id)
    const answer = await patch(app, body)
    assert.equal(answer.body.operation?.state, 'succeeded', JSON.stringify(answer.body.operation))
    data = data.filter((name) => name !== kind.name)
    assert.deepEqual(dataOf(app, id), data)
    const left = Object.entries(before).filter(([name]) => !secretsOf(kind).includes(name))
    assert.deepEqual(await texts(app, id), Object.fromEntries(left))
    assert.deepEqual(Object.keys(await known(app, id)).sort(), data)

    const again = await patch(app, { [kind.name]: { enabled: true } })
    assert.equal((again.body[kind.name] as Fields).hostPort, port, 'its port stays its own')
    const anew = await texts(app, id)
    for (const name of secretsOf(kind)) assert.notEqual(anew[name], before[name], name)
    data = dataOf(app, id)
  }
})

test('data whose deletion fails is still there with its credentials, and can be deleted later', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app)
  const [kind] = withCredentials.filter((one) => one.keepsData)
  const before = await texts(app, id)
  app.engine.failNext('deleteData')
  const failed = await patch(app, { [kind!.name]: { enabled: false, removeData: true } })
  assert.equal(failed.body.operation?.state, 'failed')
  assert.ok(dataOf(app, id).includes(kind!.name))
  assert.deepEqual(await texts(app, id), before)
  assert.deepEqual(
    (await extras(app)).keptData.map((one) => one.kind),
    [kind!.name],
  )
  const gone = await app.ask('DELETE', `/projects/shop/extras/${kind!.name}/data?wait=30`)
  assert.equal(gone.body.operation?.state, 'succeeded')
  assert.ok(!dataOf(app, id).includes(kind!.name))
})

test('4.3 credentials: scope operate, complete, audited at each reading, and the ones that the runtimes have', async (t) => {
  const app = await openTestApp(t)
  const { store, engine } = app
  const { id } = await shop(app)
  const [reader, operator] = [await app.as('read'), await app.as('operate')]
  const elsewhere = await app.as('admin', [(await shop(app, {}, { name: 'Other' })).id])
  const environment = Object.values(engine.machine.workloads.get(`${id}/static`)!.env)
  for (const kind of withCredentials) {
    const path = `/projects/shop/${kind.name}/credentials`
    const low = await reader<ProblemAnswer>('GET', path)
    assert.deepEqual([low.status, low.body.code], [403, 'scope_insufficient'])
    assert.match(low.body.detail, /"?read"?.*"?operate"?/)
    assert.equal((await elsewhere<ProblemAnswer>('GET', path)).body.code, 'project_forbidden')
    const count = async () =>
      (await store.audit.list({ limit: 100, action: 'service.credentials.read' })).filter(
        ({ outcome }) => outcome === 'success',
      ).length
    const before = await count()
    const { status, body } = await operator<Credentials>('GET', path)
    assert.equal(status, 200)
    assert.equal(await count(), before + 1)
    const [entry] = await store.audit.list({ limit: 1, action: 'service.credentials.read' })
    assert.equal(entry?.target, `shop/${kind.name}`)
    assert.ok(
      Object.values(body).every((value) => value === null || ['string', 'number', 'boolean'].includes(typeof value)),
    )
    const secrets = Object.entries(await texts(app, id)).filter(([name]) => secretsOf(kind).includes(name))
    assert.ok(
      secrets.some(([, text]) => JSON.stringify(body).includes(text)),
      kind.name,
    )
    for (const [, text] of secrets) assert.ok(!JSON.stringify(entry).includes(text))
    if (typeof body.url === 'string')
      assert.ok(
        environment.includes(body.url) || environment.some((one) => body.url!.toString().includes(one)),
        kind.name,
      )
  }
})

test('credentials of a service that was never started or is not there are not found; where there can be none the path is wrong', async (t) => {
  const app = await openTestApp(t)
  await shop(app, all, { start: false })
  await shop(app, {}, { name: 'Bare' })
  for (const kind of withCredentials) {
    const early = await app.ask<ProblemAnswer>('GET', `/projects/shop/${kind.name}/credentials`)
    assert.deepEqual([early.status, early.body.code], [404, 'not_found'])
    assert.match(early.body.detail, /was not started yet/)
    assert.equal((await app.ask('GET', `/projects/bare/${kind.name}/credentials`)).status, 404)
  }
  for (const { name } of [...serviceTypes.filter((kind) => kind.credentials === undefined), runtimeTypes[0]!])
    assert.equal((await app.ask('GET', `/projects/shop/${name}/credentials`)).status, 400, name)
})

test('4.3 no answer but that of the credentials operations holds a secret, for anyone', async (t) => {
  const app = await openTestApp(t)
  const { store, ask } = app
  const external = { host: 'cache.example.org', password: 'hush-external-password' }
  const elsewhere = serviceTypes.find((kind) => kind.runsHere !== undefined)!
  const { id } = await shop(app, { ...all, databases: { main: { type: 'postgres' } } })
  for (const kind of withCredentials)
    assert.equal((await ask('GET', `/projects/shop/${kind.name}/credentials`)).status, 200)
  for (const kind of withCredentials) await ask('POST', `/projects/shop/${kind.name}/credentials/rotate?wait=30`)
  await patch(app, { [elsewhere.name]: { external } })
  await patch(app, { [elsewhere.name]: { external: { password: 'hush-another-password' } } })
  await patch(app, { [elsewhere.name]: { exposePort: true } })
  const hidden = [...Object.values(await texts(app, id)), external.password]
  assert.ok(hidden.length > withCredentials.length + 1)

  const reads = operationList.filter(
    ({ method, stream, path, audit, access }) =>
      method === 'GET' &&
      stream === undefined &&
      !(access.kind === 'scope' && access.session) &&
      (audit === undefined || audit === 'audit.export') &&
      path.replace('{id}', '').indexOf('{') === -1,
  )
  let answered = 0
  for (const scope of ['read', 'operate', 'admin'] as const) {
    const visitor = await app.as(scope)
    for (const { path } of reads) {
      const answer = await visitor<unknown>('GET', path.replace('{id}', id))
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
      if (answer.status === 200) answered += 1
      for (const secret of hidden) assert.ok(!text.includes(secret), `${scope} ${path}`)
    }
  }
  assert.ok(answered > 30, `${answered}`)
  const { last } = await store.events.range()
  const recorded = JSON.stringify([
    await store.events.after(0, last),
    await store.audit.list({ limit: 1000 }),
    await store.operations.list({ limit: 1000 }),
    await store.projects.find(id),
  ])
  for (const secret of hidden) assert.ok(!recorded.includes(secret))
  assert.deepEqual(app.errors, [])
})

test('rotate: new secrets, the old ones are nowhere, the service and what uses it restart and nothing else, as planned', async (t) => {
  const app = await openTestApp(t)
  const { ask, engine, store } = app
  const { id } = await shop(app)
  const operator = await app.as('operate')
  const pids = () =>
    Object.fromEntries([...engine.machine.workloads.values()].map((one) => [one.workload.ref.workload, one.pid]))
  for (const kind of withCredentials) {
    const path = `/projects/shop/${kind.name}/credentials/rotate`
    const [old, shown, before] = [await texts(app, id), await credentials(app, kind), pids()]
    assert.equal((await operator('POST', path)).status, 403)
    const { plan } = (await ask<PlanAnswer>('POST', `${path}?dryRun=true`)).body
    assert.deepEqual(await texts(app, id), old, 'a dry run makes nothing new')
    assert.ok(plan.restarts.includes(kind.name), kind.name)
    assert.ok(plan.restarts.every((name) => name === kind.name || name === 'static'))
    const applied = engine.applied.length
    const answer = await ask('POST', `${path}?wait=30`)
    assert.deepEqual([answer.status, answer.body.operation?.state], [200, 'succeeded'], JSON.stringify(answer.body))
    assert.deepEqual(
      engine.applied.slice(applied).map((one) => one.step.title),
      plan.steps.map(({ title }) => title),
    )
    const now = await texts(app, id)
    const mine = secretsOf(kind)
    for (const [name, text] of Object.entries(old)) assert.equal(now[name] !== text, mine.includes(name), name)
    assert.notDeepEqual(await credentials(app, kind), shown)
    const environments = JSON.stringify([...engine.machine.workloads.values()].map((one) => one.env))
    for (const name of mine) assert.ok(!environments.includes(old[name]!), name)
    const after = pids()
    assert.deepEqual(
      Object.keys(after)
        .filter((name) => after[name] !== before[name])
        .sort(),
      [...plan.restarts].sort(),
    )
    const [entry] = await store.audit.list({ limit: 1, action: 'service.credentials.rotate', outcome: 'success' })
    assert.equal(entry?.target, 'shop')
  }
})

test('rotate works while the project is stopped: nothing runs, and the next start has the new secrets', async (t) => {
  const app = await openTestApp(t)
  const { ask, engine } = app
  const { id } = await shop(app)
  await ask('POST', '/projects/shop/stop?wait=30')
  for (const kind of withCredentials) {
    const old = await texts(app, id)
    const applied = engine.applied.length
    const answer = await ask('POST', `/projects/shop/${kind.name}/credentials/rotate?wait=30`)
    assert.deepEqual([answer.status, answer.body.operation, engine.applied.length], [200, null, applied])
    const now = await texts(app, id)
    for (const name of secretsOf(kind)) assert.notEqual(now[name], old[name], name)
  }
  await ask('POST', '/projects/shop/start?wait=30')
  const environments = JSON.stringify([...engine.machine.workloads.values()].map((one) => one.env))
  for (const kind of withCredentials)
    for (const name of secretsOf(kind).slice(0, 1))
      assert.ok(environments.includes((await texts(app, id))[name]!), name)
})

for (const kind of serviceTypes.filter((one) => one.runsHere !== undefined)) {
  const name = `service/${kind.name}/external.password`
  const address = { host: 'cache.example.org', port: 7000 }

  test(`the password of an external ${kind.label} is sealed: kept when left out, no change when the same, gone with null`, async (t) => {
    const app = await openTestApp(t)
    const { ask, engine, store } = app
    const { id } = await shop(app, { [kind.name]: { external: { ...address, password: 'hush one' } } })
    const shown = async () =>
      ((await ask('GET', '/projects/shop')).body[kind.name] as { external: Fields | null }).external
    const environment = () => JSON.stringify(engine.machine.workloads.get(`${id}/static`)!.env)
    assert.deepEqual(await shown(), { ...address, username: null, tls: false, hasPassword: true })
    assert.deepEqual(Object.keys(await store.secrets.of(id)), [name], 'none of a server that does not run here')
    assert.ok(environment().includes('hush one') && environment().includes(address.host))
    assert.ok(!engine.machine.workloads.has(`${id}/${kind.name}`))
    const { generation } = (await ask('GET', '/projects/shop')).body

    for (const external of [{ password: 'hush one' }, {}, { hasPassword: false }, await shown()]) {
      const same = await patch(app, { [kind.name]: { external } })
      assert.deepEqual([same.status, same.body.generation, same.body.operation], [200, generation, null])
    }
    const told = await ask<Credentials>('GET', `/projects/shop/${kind.name}/credentials`)
    assert.deepEqual(
      [told.body.host, told.body.port, told.body.password, told.body.username],
      [address.host, 7000, 'hush one', null],
    )

    const dry = await patch(app, { [kind.name]: { external: { password: 'hush two' } } }, 'dryRun=true')
    assert.ok(!JSON.stringify(dry.body).includes('hush'))
    assert.deepEqual((dry.body as unknown as PlanAnswer).plan.restarts, ['static'])
    assert.deepEqual(await texts(app, id), { [name]: 'hush one' })
    const changed = await patch(app, { [kind.name]: { external: { password: 'hush two' } } })
    assert.equal(changed.body.generation, generation + 1)
    assert.deepEqual(await texts(app, id), { [name]: 'hush two' })
    assert.ok(environment().includes('hush two') && !environment().includes('hush one'))

    const rotated = await ask<ProblemAnswer>('POST', `/projects/shop/${kind.name}/credentials/rotate`)
    assert.deepEqual([rotated.status, rotated.body.code], [422, 'validation_failed'])
    assert.match(rotated.body.detail, /runs elsewhere/)

    await patch(app, { [kind.name]: { external: { password: null } } })
    assert.deepEqual(await texts(app, id), {})
    assert.equal((await shown())?.hasPassword, false)
    assert.equal((await credentials(app, kind)).password, null)
    await patch(app, { [kind.name]: { external: { password: 'hush three' } } })
    await patch(app, { [kind.name]: { external: null } })
    assert.equal(await shown(), null)
    assert.deepEqual(Object.keys(await store.secrets.of(id)).sort(), secretsOf(kind).sort())
    assert.ok(!environment().includes('hush'))
    assert.equal(
      (await patch(app, { [kind.name]: { external: { password: 'x' } } })).status,
      422,
      'an address needs a host',
    )
    assert.deepEqual(
      Object.keys(await store.secrets.of(id)).sort(),
      secretsOf(kind).sort(),
      'what is refused seals nothing',
    )
  })

  test(`the password of an external ${kind.label} is in no log, event, entry, manifest or operation`, async (t) => {
    const app = await openLoggingApp(t)
    const session = await app.session()
    const call = (id: string, options: object) => app.call(id, { ...options, headers: session })
    const params = { id: 'shop' }
    await call('createProject', { body: { name: 'Shop', start: false }, query: { wait: '10' } })
    for (const password of ['hush-first-password', 'hush-other-password']) {
      const body = { [kind.name]: { enabled: true, external: { ...address, password } } }
      assert.equal((await call('updateProject', { params, body, query: { wait: '10' } })).status, 200)
      await call('updateProject', { params, body: { [kind.name]: { external: { password, port: 0 } } } })
      await call('planManifest', { params, body: { manifest: `${kind.name}: {external: {password: ${password}}}` } })
    }
    const reads = [
      'getProject',
      'listProjects',
      'getManifest',
      'listOperations',
      'listAudit',
      'exportAudit',
      'listExtras',
    ]
    for (const id of reads) {
      const { status, body } = await call(id, { params })
      assert.equal(status, 200, id)
      assert.ok(!body.includes('hush-'), id)
    }
    const { last } = await app.app.store.events.range()
    assert.ok(!JSON.stringify(await app.app.store.events.after(0, last)).includes('hush-'))
    assert.doesNotMatch(app.log(), /hush-/)
  })
}

test('a copy of a project has the credentials, the external password and the kept data of the original, sealed anew', async (t) => {
  const app = await openTestApp(t)
  const { ask, store } = app
  const elsewhere = serviceTypes.find((kind) => kind.runsHere !== undefined)!
  const kept = keepers.find((kind) => kind !== elsewhere && kind.credentials !== undefined)!
  const original = await shop(app, { ...all, [elsewhere.name]: { external: { host: 'h', password: 'hush' } } })
  await patch(app, { [kept.name]: { enabled: false } })
  const made = await ask('POST', '/projects/shop/duplicate?wait=30', { name: 'Copy' })
  assert.deepEqual([made.status, made.body.operation?.state], [201, 'succeeded'], JSON.stringify(made.body))
  assert.deepEqual(await texts(app, made.body.id), await texts(app, original.id))
  const handles = async (id: string) => Object.values(await store.secrets.of(id)).map(({ secret }) => secret)
  const mine = new Set(await handles(original.id))
  for (const secret of await handles(made.body.id)) assert.ok(!mine.has(secret))
  for (const kind of withCredentials.filter((one) => one !== elsewhere && one !== kept)) {
    const [one, other] = [await credentials(app, kind), await credentials(app, kind, 'copy')]
    assert.notDeepEqual(one, other, 'at ports of its own')
    assert.deepEqual(Object.keys(one), Object.keys(other))
  }
  assert.deepEqual(dataOf(app, made.body.id), dataOf(app, original.id))
  const listed = (await ask<Extras>('GET', '/projects/copy/extras')).body.keptData
  assert.deepEqual(
    listed.map(({ kind, version }) => [kind, version]),
    (await extras(app)).keptData.map(({ kind, version }) => [kind, version]),
  )
  assert.ok(listed.every(({ version }) => version !== null))
  await patch(app, { [elsewhere.name]: { external: null } })
  assert.equal((await texts(app, made.body.id))[`service/${elsewhere.name}/external.password`], 'hush')
})

test('7 always_published through the API: 422 with the field, on and off, and nothing is changed', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const before = (await app.ask('GET', '/projects/shop')).body
  for (const kind of serviceTypes.filter((one) => one.alwaysPublished)) {
    const refused = await patch(app, { [kind.name]: { exposePort: false } })
    assert.deepEqual([refused.status, pointers(refused)], [422, [`/${kind.name}/exposePort always_published`]])
    const dry = await patch(app, { [kind.name]: { exposePort: false } }, 'dryRun=true')
    assert.equal(dry.status, 422)
    const made = await app.ask('POST', '/projects', { name: 'Other', [kind.name]: { exposePort: false } })
    assert.deepEqual([made.status, pointers(made)], [422, [`/${kind.name}/exposePort always_published`]])
  }
  assert.deepEqual((await app.ask('GET', '/projects/shop')).body, before)
})

test('a field that there is not is refused with the nearest one, in every runtime and service', async (t) => {
  const app = await openTestApp(t)
  await shop(app, {})
  for (const { name } of [...runtimeTypes, ...serviceTypes]) {
    const refused = await app.ask<ProblemAnswer>('PATCH', '/projects/shop', { [name]: { enabeld: true } })
    assert.equal(refused.status, 422, name)
    const [error] = refused.body.errors ?? []
    assert.equal(error?.pointer, `/${name}/enabeld`)
    assert.match(error?.detail ?? '', /enabled/, name)
  }
})

test('4.2.4 publicRead of a bucket that is there is refused with the way out, and follows that way', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  for (const kind of serviceTypes.filter((one) => one.settings.ofData.length > 0))
    for (const field of kind.settings.ofData) {
      const value = () => app.ask('GET', '/projects/shop').then(({ body }) => (body[kind.name] as Fields)[field])
      const refused = await patch(app, { [kind.name]: { [field]: true } })
      assert.deepEqual([refused.status, pointers(refused)], [422, [`/${kind.name}/${field} data_exists`]])
      assert.equal(await value(), false)
      await patch(app, { [kind.name]: { enabled: false } })
      assert.equal((await patch(app, { [kind.name]: { [field]: true } })).status, 422, 'kept data is there too')
      await patch(app, { [kind.name]: { enabled: false, removeData: true } })
      assert.equal((await patch(app, { [kind.name]: { enabled: true, [field]: true } })).status, 200)
      assert.equal(await value(), true)
      await patch(app, { [kind.name]: { enabled: false, removeData: true } })
      await patch(app, { [kind.name]: { enabled: true } })
      assert.equal(await value(), false, 'the next bucket is private again')
    }
})

/** A service, with two of the machine's versions of which the older cannot read what the newer wrote. */
const oneWay = keepers.flatMap((kind) => {
  const [newer, older] = kind.releases.slice(0, 2).map(({ version }) => version)
  return newer !== undefined && older !== undefined && kind.dataBlocker(newer, older) !== null
    ? [{ kind, newer, older }]
    : []
})

test('a version that kept data cannot be read by is refused with the way out, whatever was wished for meanwhile', async (t) => {
  assert.notEqual(oneWay.length, 0)
  const app = await openTestApp(t)
  const { id } = await shop(app)
  for (const { kind, newer, older } of oneWay) {
    const version = (to: string) => patch(app, { [kind.name]: { version: to } })
    const refused = await version(older)
    assert.deepEqual([refused.status, pointers(refused)], [422, [`/${kind.name}/version version_change_refused`]])
    await patch(app, { [kind.name]: { enabled: false } })
    assert.equal((await version(older)).status, 422, 'kept data is there too')
    assert.ok(dataOf(app, id).includes(kind.name))
    await patch(app, { [kind.name]: { enabled: false, removeData: true } })
    assert.equal((await patch(app, { [kind.name]: { enabled: true, version: older } })).status, 200)
    if (kind.dataBlocker(older, newer) !== null) continue

    // What never ran wrote nothing: the way back is open until it does.
    await app.ask('POST', '/projects/shop/stop?wait=30')
    assert.equal((await version(newer)).status, 200)
    assert.equal((await version(older)).status, 200)
    assert.equal((await version(newer)).status, 200)
    await app.ask('POST', '/projects/shop/start?wait=30')
    assert.equal((await version(older)).status, 422)
    assert.deepEqual((await known(app, id))[kind.name], [newer, true])
  }
})

test('PATCH of a database changes its port alone, is a no-op when it says what is, and refuses what data forbids', async (t) => {
  const app = await openTestApp(t)
  const { ask, store } = app
  const { generation } = await shop(app, { databases: { main: { type: 'postgres' }, other: { type: 'postgres' } } })
  const change = (body: object, query = 'wait=30') => ask('PATCH', `/projects/shop/databases/main?${query}`, body)
  const before = (await ask('GET', '/projects/shop')).body.databases
  for (const same of [{}, before.main!, { type: 'postgres' }, { type: 'postgresql' }, { hostPort: 1 }]) {
    const answer = await change(same)
    assert.deepEqual([answer.status, answer.body.generation, answer.body.operation], [200, generation, null])
  }
  const { plan } = (await change({ exposePort: true }, 'dryRun=true')).body as unknown as PlanAnswer
  const exposed = await change({ exposePort: true })
  assert.equal(exposed.body.generation, generation + 1)
  assert.deepEqual(exposed.body.databases, { ...before, main: { ...before.main!, exposePort: true } })
  assert.deepEqual(
    exposed.body.operation?.steps.map(({ title }) => title) ?? [],
    plan.steps.map(({ title }) => title),
  )
  const [entry] = await store.audit.list({ limit: 1, action: 'database.update' })
  assert.equal(entry?.outcome, 'success')
  assert.deepEqual(pointers(await change({ version: '1' })), ['/databases/main/version version_not_offered'])
  assert.deepEqual(pointers(await change({ version: '17' })), ['/databases/main/version version_change_refused'])
  assert.deepEqual(pointers(await change({ type: 'mysql' })), ['/databases/main/type type_change_refused'])
  assert.equal((await ask('PATCH', '/projects/shop/databases/nothing', {})).status, 404)
  assert.equal((await ask('PATCH', '/projects/shop/databases/constructor', {})).status, 404)
  assert.equal((await (await app.as('read'))('PATCH', '/projects/shop/databases/main', {})).status, 403)
})

test('rotate of a database: a new password for it and for what uses it, as planned', async (t) => {
  const app = await openTestApp(t)
  const { ask, engine } = app
  const { id } = await shop(app, { databases: { main: { type: 'postgres' } } })
  const read = async () => (await ask<Credentials>('GET', '/projects/shop/databases/main/credentials')).body
  const old = await read()
  const { plan } = (await ask<PlanAnswer>('POST', '/projects/shop/databases/main/credentials/rotate?dryRun=true')).body
  assert.deepEqual([...plan.restarts].sort(), ['postgresql-main', 'static'])
  assert.deepEqual(await read(), old)
  const answer = await ask('POST', '/projects/shop/databases/main/credentials/rotate?wait=30')
  assert.equal(answer.body.operation?.state, 'succeeded', JSON.stringify(answer.body))
  const now = await read()
  assert.notEqual(now.password, old.password)
  assert.deepEqual({ ...now, password: null, url: null }, { ...old, password: null, url: null })
  assert.equal(engine.machine.workloads.get(`${id}/static`)?.env.DATABASE_URL, now.url)
  assert.ok(
    !JSON.stringify([...engine.machine.workloads.values()].map(({ env }) => env)).includes(String(old.password)),
  )
})

async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Points at which the control plane ends while a service is being removed with its data. */
const doomed = keepers.find((kind) => kind.credentials !== undefined)!
for (const { when, step, finished } of [
  { when: 'before the service is stopped', step: `stop:${doomed.name}`, finished: false },
  { when: 'before the service is taken away', step: `remove:${doomed.name}`, finished: false },
  { when: 'before its data is deleted', step: `deleteData:${doomed.name}`, finished: false },
  { when: 'when its data is gone and nobody wrote that down', step: `deleteData:${doomed.name}`, finished: true },
]) {
  test(`a control plane that ends ${when} leaves it to the next one, which deletes that data and only that`, async (t) => {
    const first = await openTestApp(t)
    const { id } = await shop(first)
    const [data, secrets] = [dataOf(first, id), await texts(first, id)]
    first.engine.hangNext(step)
    const answer = await patch(first, { [doomed.name]: { enabled: false, removeData: true } }, '')
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    await until('it is at it', () => first.engine.applied.at(-1)?.step.id === step)
    assert.equal((await known(first, id))[doomed.name]?.[1], false, 'until it is gone it is kept')
    if (finished) first.engine.machine.data.delete(`${id}/${doomed.name}`)
    const again = await first.reopen()
    const ended = await again.ask<OperationAnswer>('GET', `/operations/${answer.body.operation?.id}?wait=30`)
    assert.equal(ended.body.state, 'succeeded', JSON.stringify(ended.body))
    assert.deepEqual(
      dataOf(again, id),
      data.filter((name) => name !== doomed.name),
    )
    const left = Object.entries(secrets).filter(([name]) => !secretsOf(doomed).includes(name))
    assert.deepEqual(await texts(again, id), Object.fromEntries(left))
    assert.deepEqual(Object.keys(await known(again, id)).sort(), dataOf(again, id))
    assert.deepEqual((await extras(again)).keptData, [])
    assert.ok(!again.engine.machine.workloads.has(`${id}/${doomed.name}`))
    assert.equal((await again.ask('GET', '/projects/shop')).body.status.state, 'running')
    assert.deepEqual([first.errors, again.errors], [[], []])
  })
}

test('a change that is cut off before it is written has changed nothing', async (t) => {
  const first = await openTestApp(t)
  const { id } = await shop(first)
  const before = (await first.ask('GET', '/projects/shop')).body
  const [data, secrets] = [dataOf(first, id), await texts(first, id)]
  const audited = (await first.store.audit.list({ limit: 1 }))[0]?.seq
  const { promise, reject } = Promise.withResolvers<never>()
  let asked = false
  const kind = oneWay[0]!.kind
  // The look at its data is the last thing before the decision.
  first.engine.dataNames = () => {
    asked = true
    return promise
  }
  const changing = patch(first, { [kind.name]: { version: oneWay[0]!.older } })
  await until('it looks at the data', () => asked)
  const reopening = first.reopen()
  reject(new Error('the service ends'))
  assert.ok((await changing).status >= 500)
  const again = await reopening
  again.engine.machine.files.has = () => true
  const after = (await again.ask('GET', '/projects/shop')).body
  assert.deepEqual([after.generation, after[kind.name]], [before.generation, before[kind.name]])
  assert.deepEqual([dataOf(again, id), await texts(again, id)], [data, secrets])
  assert.equal((await again.store.audit.list({ limit: 10, action: 'project.update', outcome: 'success' })).length, 0)
  assert.ok(audited !== undefined)
})
