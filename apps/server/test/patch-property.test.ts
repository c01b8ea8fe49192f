import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { databaseTypeOf, type RuntimeType, runtimeTypes, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import {
  allTypes,
  generator,
  offersOfAll,
  type Random,
  randomPatch,
  type Taste,
} from '@stackquay/domain/test/random-patch'
import type { Step } from '@stackquay/engine-api'
import { rounds } from '@stackquay/testkit/rounds'
import {
  type OperationAnswer,
  openTestApp,
  type PlanAnswer,
  type ProblemAnswer,
  type TestApp,
} from './projects-support.ts'

// Any project and any PATCH, through the API, over an engine in memory. What must come of it is said here a second time, from
// the specification's section 4.2 and not from our code.

type Fields = Record<string, unknown>
type Variable = { value: string | null; secret: boolean; runtimes: string[] | null }

const taste: Taste = { ...allTypes, limits: true, offers: offersOfAll, secret: (random) => `hush-${random.below(4)}` }

/** Fields of a record that no wish decides. */
const volatile = ['generation', 'observedGeneration', 'updatedAt', 'status', 'operation', 'url', 'urls']
const wishes = (record: ProjectView) =>
  Object.fromEntries(Object.entries(record).filter(([field]) => !volatile.includes(field)))

/** Ports of the machine, by where they stand in the record: they are given once and never change. */
function hostPorts(value: unknown, path = ''): readonly [string, unknown][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] =>
    /hostPort$/i.test(key) ? [[`${path}/${key}`, inner]] : [...hostPorts(inner, `${path}/${key}`)],
  )
}

function withoutHostPorts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !/hostPort$/i.test(key))
      .map(([key, inner]) => [key, withoutHostPorts(inner)]),
  )
}

type LimitsView = NonNullable<ProjectView['limits']>

/** Null takes a limit away; of a workload that has none left nothing stays. */
function limitsAfter(before: LimitsView | null, sent: NonNullable<ProjectPatch['limits']>): Fields {
  const workloads: Record<string, Fields> = { ...before?.workloads }
  for (const [name, own] of Object.entries(sent.workloads ?? {})) {
    const limits = Object.entries({ ...workloads[name], ...own }).filter(([, value]) => value !== null)
    if (own === null || limits.length === 0) delete workloads[name]
    else workloads[name] = Object.fromEntries(limits)
  }
  return { cpus: null, memoryBytes: null, pids: null, ...before, ...sent, workloads }
}

/** The record after a patch, by the rules of 4.2; or the pointers of what it refuses. */
function expected(
  before: Fields,
  patch: ProjectPatch,
  /** The version that wrote the data of a service, where there is data. */
  written: ReadonlyMap<string, string>,
): { readonly record: Fields; readonly refused: readonly string[] } {
  const record: Fields = { ...before }
  const refused: string[] = []
  if (patch.name !== undefined) record.name = patch.name
  if (patch.limits !== undefined)
    record.limits = patch.limits === null ? null : limitsAfter(before.limits as LimitsView | null, patch.limits)
  if (patch.healthCheck !== undefined)
    record.healthCheck =
      patch.healthCheck === null
        ? null
        : { timeoutSeconds: 60, ...((before.healthCheck as Fields | null) ?? {}), ...patch.healthCheck }
  for (const kind of runtimeTypes) {
    const sent = patch[kind.name] as Fields | undefined
    if (sent !== undefined) record[kind.name] = runtimeAfter(kind, before[kind.name] as Fields | undefined, sent)
  }
  for (const kind of serviceTypes) {
    const sent = patch[kind.name] as Fields | undefined
    if (sent === undefined) continue
    const isOnlyOff = sent.enabled === false && Object.keys(sent).every((field) => /^(enabled|removeData)$/.test(field))
    if (before[kind.name] === undefined && isOnlyOff && !written.has(kind.name)) continue
    const { after, wrong } = serviceAfter(kind, before[kind.name] as Fields | undefined, sent, written.get(kind.name))
    record[kind.name] = after
    refused.push(...wrong)
  }
  const databases = { ...(before.databases as Record<string, Fields>) }
  for (const [name, sent] of Object.entries(patch.databases ?? {})) {
    const type = databaseTypeOf(String(sent?.type ?? databases[name]?.type))!
    databases[name] = {
      version: type.releases[0]!.version,
      exposePort: false,
      primary: Object.keys(databases).length === 0,
      ...databases[name],
      ...(withoutHostPorts(sent) as Fields),
      type: type.name,
    }
  }
  return {
    record: { ...record, databases, env: envAfter(before.env as Record<string, Variable>, patch.env ?? {}) },
    refused,
  }
}

function runtimeAfter(kind: RuntimeType, before: Fields | undefined, sent: Fields): Fields {
  const defaults = kind.settings.defaults() as Fields
  const portOf = (preset: unknown) => kind.presets.find(({ name }) => name === preset)!.port
  const base: Fields = before ?? { ...defaults, enabled: false, version: kind.releases[0]!.version }
  const after: Fields = { ...base }
  if (before !== undefined && sent.preset !== undefined && sent.preset !== before.preset) {
    delete after.port
    for (const field of kind.presetDrops) after[field] = defaults[field]
  }
  for (const [field, value] of Object.entries(withoutHostPorts(sent) as Fields)) {
    const old = base[field]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) after[field] = value
    else {
      const merged: Fields = { ...(old as Fields), ...value }
      const { preset } = value as Fields
      if (field === 'devServer' && preset !== undefined && preset !== (old as Fields).preset && !('port' in value))
        merged.port = portOf(preset)
      after[field] = merged
    }
  }
  after.port ??= portOf(after.preset)
  return after
}

function serviceAfter(
  kind: ServiceType,
  before: Fields | undefined,
  sent: Fields,
  writtenBy: string | undefined,
): { readonly after: Fields; readonly wrong: readonly string[] } {
  const defaults = kind.settings.defaults() as Fields
  const after: Fields = { ...(before ?? { ...defaults, enabled: false, version: kind.releases[0]!.version }) }
  const { removeData: _removeData, hostPort: _hostPort, ...fields } = sent
  if (before?.enabled === false && sent.enabled === true && writtenBy === undefined)
    for (const field of kind.settings.ofData) after[field] = defaults[field]
  for (const [field, value] of Object.entries(fields)) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    after[field] = isObject ? shownObject(kind, field, after[field] as Fields | null, value as Fields) : value
  }
  const wrong: string[] = []
  if (writtenBy !== undefined && before !== undefined) {
    const isKept = after.version === before.version || after.version === writtenBy
    if (!isKept && kind.dataBlocker(writtenBy, String(after.version)) !== null) wrong.push(`/${kind.name}/version`)
    for (const field of kind.settings.ofData) if (after[field] !== before[field]) wrong.push(`/${kind.name}/${field}`)
  }
  return { after, wrong }
}

/** A secret is told by whether it is there, and what is said of that on the way in counts for nothing. */
function shownObject(kind: ServiceType, field: string, before: Fields | null, sent: Fields): Fields {
  const after: Fields = { ...before }
  for (const [name, value] of Object.entries(sent)) {
    if (/^has[A-Z]/.test(name)) continue
    const isSecret = kind.settings.secretFields.some((path) => path.join('.') === `${field}.${name}`)
    if (isSecret) after[`has${name.charAt(0).toUpperCase()}${name.slice(1)}`] = value !== null
    else after[name] = value
  }
  return after
}

function envAfter(before: Record<string, Variable>, sent: NonNullable<ProjectPatch['env']>): Record<string, Variable> {
  const after = { ...before }
  for (const [name, input] of Object.entries(sent)) {
    if (input === null) {
      delete after[name]
      continue
    }
    const old = before[name]
    const said = typeof input === 'string' ? { value: input } : input
    const secret = said.secret ?? old?.secret ?? false
    const runtimes = said.runtimes === undefined ? (old?.runtimes ?? null) : said.runtimes
    after[name] = { value: secret ? null : (said.value ?? old!.value), secret, runtimes }
  }
  return after
}

function randomEnv(random: Random, before: Readonly<Record<string, Variable>>): ProjectPatch['env'] {
  const receivers = () => runtimeTypes.map(({ name }) => name).filter(() => random.chance(0.5))
  return Object.fromEntries(
    ['A', 'B', 'C'].flatMap((name) => {
      if (!random.chance(0.3)) return []
      const value = `text ${random.below(3)}`
      const some = receivers()
      const ways: NonNullable<ProjectPatch['env']>[string][] = [
        value,
        { value, secret: random.chance(0.5) },
        { value, runtimes: some.length === 0 ? null : some },
        null,
      ]
      if (before[name] !== undefined) ways.push({ runtimes: some.length === 0 ? null : some }, { secret: true })
      return [[name, random.pick(ways)]]
    }),
  )
}

/** Everything that a dry run must leave as it is. */
async function everything({ store, engine, ask }: TestApp, id: string): Promise<unknown> {
  const { last } = await store.events.range()
  // A status that became another through what was before is told when there is time.
  const told = (await store.events.after(Math.max(0, last - 50), 50)).filter(({ type }) => type !== 'project.status')
  return structuredClone({
    record: (await ask('GET', `/projects/${id}`)).body,
    row: (await store.projects.find(id))!,
    audit: (await store.audit.list({ limit: 1 }))[0],
    event: told.at(-1)?.seq,
    secrets: await store.secrets.of(id),
    leases: await store.ports.of(id),
    kept: await store.keptData.of(id),
    operations: (await store.operations.list({ limit: 1, project: id }))[0],
    data: [...engine.machine.data],
    workloads: [...engine.machine.workloads].map(([key, { pid, state }]) => [key, pid, state]),
    applied: engine.applied.length,
  })
}

/** A project whose folder has what every runtime looks for; it runs unless told otherwise. */
async function project({ ask, engine }: TestApp, name: string, body: object, start = true): Promise<ProjectView> {
  // Whether files are there is another test's matter.
  engine.machine.files.has = () => true
  const made = await ask('POST', '/projects?wait=30', { ...body, name, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { id, path } = made.body
  const scripts = ['dev', 'start', 'build', 'web'].map((script) => [script, 'node server.js'])
  await writeFile(join(path, 'package.json'), JSON.stringify({ scripts: Object.fromEntries(scripts) }))
  await writeFile(join(path, 'app.py'), 'from flask import Flask\napp = Flask(__name__)\n')
  if (start) {
    const { body: started } = await ask<OperationAnswer>('POST', `/projects/${id}/start?wait=30`)
    assert.equal(started.state, 'succeeded', JSON.stringify(started))
  }
  return (await ask('GET', `/projects/${id}`)).body
}

test('a random PATCH of a random project is the merge of both and nothing else, its dry run writes nothing and shows what then runs', async (t) => {
  const all = await openTestApp(t, { images: true })
  const { ask, engine, store } = all
  const counts = { merged: 0, work: 0, none: 0, refused: 0, removed: 0 }
  let wanted = 0
  const wantedMerges = rounds(100, 300)
  for (let round = 0; counts.merged < wantedMerges && round < 120; round += 1) {
    const random = generator(round)
    const start = random.chance(0.6)
    const nothing = { runtimes: {}, services: {}, databases: {} }
    const first = { ...randomPatch(random, nothing, taste), env: randomEnv(random, {}) }
    const { id } = await project(all, `p${round}`, { static: {} }, false)
    const begun = await ask<ProjectView & ProblemAnswer>('PATCH', `/projects/${id}?wait=30`, first)
    if (begun.status === 200 && start) await ask('POST', `/projects/${id}/start?wait=30`)
    const written = new Map<string, string>()
    for (let step = 0; step < 8; step += 1) {
      const where = () => `round ${round}, step ${step}: ${JSON.stringify({ before, patch })}`
      const before = (await ask('GET', `/projects/${id}`)).body
      const stored = (kinds: readonly { name: string }[]) =>
        Object.fromEntries(
          kinds.flatMap(({ name }) => (before[name] === undefined ? [] : [[name, before[name] as Fields]])),
        )
      const patch: ProjectPatch = {
        ...randomPatch(
          random,
          { runtimes: stored(runtimeTypes), services: stored(serviceTypes), databases: before.databases },
          taste,
        ),
        env: randomEnv(random, before.env)!,
      }
      const data = new Set(
        [...engine.machine.data.keys()]
          .filter((key) => key.startsWith(`${id}/`))
          .map((key) => key.slice(id.length + 1)),
      )
      for (const { name } of serviceTypes) {
        if (!data.has(name)) written.delete(name)
        else if (engine.machine.workloads.get(`${id}/${name}`)?.state === 'running')
          written.set(name, (before[name] as { version: string }).version)
      }
      const should = expected(wishes(before), patch, written)
      const untouched = await everything(all, id)
      const dry = await ask<PlanAnswer & ProblemAnswer>('PATCH', `/projects/${id}?dryRun=true`, patch)
      assert.deepEqual(await everything(all, id), untouched, `a dry run writes nothing, ${where()}`)
      wanted += 1

      if (dry.status !== 200) {
        const pointers = (dry.body.errors ?? []).map(({ pointer }) => pointer)
        assert.equal(dry.status, 422, JSON.stringify(dry.body))
        // Whether settings can run together is the runtime's own knowledge.
        const cannotRun = (dry.body.errors ?? []).every(({ code }) => code === 'cannot_run')
        if (!cannotRun) assert.deepEqual([...pointers].sort(), [...should.refused].sort(), where())
        else assert.deepEqual(should.refused, [], where())
        assert.equal((await ask('PATCH', `/projects/${id}?wait=30`, patch)).status, 422)
        assert.deepEqual(await everything(all, id), untouched, `what is refused writes nothing, ${where()}`)
        counts.refused += 1
        continue
      }
      assert.deepEqual(should.refused, [], where())

      const applied = engine.applied.length
      const real = await ask('PATCH', `/projects/${id}?wait=30`, patch)
      assert.equal(real.status, 200, JSON.stringify(real.body))
      const { operation } = real.body
      const { plan } = dry.body
      const titles = plan.steps.map(({ title }) => title)
      // What does not wait for each other starts at the same time; the steps of one workload keep their order.
      const done = engine.applied.slice(applied).map(({ step }) => ({ title: step.title, workload: workloadOf(step) }))
      assert.deepEqual(titlesByWorkload(done), titlesByWorkload(plan.steps), where())
      assert.deepEqual(
        (operation?.steps ?? []).map(({ title }) => title),
        titles,
        where(),
      )
      if (operation !== null) assert.equal(operation.state, 'succeeded', JSON.stringify(operation))
      for (const one of plan.steps)
        if (plan.restarts.includes(one.workload ?? '')) assert.notEqual(one.because.length, 0)

      const after = (await ask('GET', `/projects/${id}`)).body
      assert.deepEqual(withoutHostPorts(wishes(after)), withoutHostPorts(should.record), where())
      const ports = new Map(hostPorts(wishes(after)))
      for (const [path, port] of hostPorts(wishes(before)))
        if (port !== null) assert.equal(ports.get(path), port, `${path}, ${where()}`)

      const doomed = serviceTypes.filter(
        ({ name }) => (patch[name] as Fields | undefined)?.removeData === true && data.has(name),
      )
      const left = [...data].filter((name) => !doomed.some((kind) => kind.name === name))
      for (const name of left) assert.ok(engine.machine.data.has(`${id}/${name}`), `${name} is kept, ${where()}`)
      for (const { name } of doomed) assert.ok(!engine.machine.data.has(`${id}/${name}`), `${name} is gone, ${where()}`)
      counts.removed += doomed.length
      const isSame = JSON.stringify(wishes(before)) === JSON.stringify(wishes(after))
      if (isSame && operation === null && after.generation === before.generation) counts.none += 1
      if (titles.length > 0) counts.work += 1
      counts.merged += 1

      const again = await everything(all, id)
      const same = await ask('PATCH', `/projects/${id}?wait=30`, after)
      assert.equal(same.status, 200, JSON.stringify(same.body))
      assert.deepEqual(await everything(all, id), again, `its own answer sent back changes nothing, ${where()}`)
    }
    await ask('DELETE', `/projects/${id}?confirm=p${round}&data=delete&wait=30`)
  }
  t.diagnostic(`${wanted} patches: ${JSON.stringify(counts)}`)
  assert.ok(
    counts.merged >= wantedMerges &&
      counts.work >= rounds(27, 80) &&
      counts.refused >= rounds(2, 5) &&
      counts.removed >= rounds(1, 3),
    JSON.stringify(counts),
  )
  assert.deepEqual(all.errors, [])
  assert.equal((await store.audit.verify()).ok, true)
})

/** Everything there is, at once. */
const whole = {
  ...Object.fromEntries([...runtimeTypes, ...serviceTypes].map(({ name }) => [name, {}])),
  databases: { main: { type: 'postgres' } },
}

test('for every runtime and service: PATCH with its own GET object plans nothing, restarts nothing and leaves no entry', async (t) => {
  const all = await openTestApp(t, { images: true })
  const { ask } = all
  const { id, status } = await project(all, 'whole', whole)
  assert.equal(status.state, 'running', JSON.stringify(status))
  const record = (await ask('GET', `/projects/${id}`)).body
  for (const { name } of [...runtimeTypes, ...serviceTypes]) {
    const own = { [name]: record[name] }
    assert.notEqual(own[name], undefined, name)
    const before = await everything(all, id)
    const { plan } = (await ask<PlanAnswer>('PATCH', `/projects/${id}?dryRun=true`, own)).body
    assert.deepEqual([plan.steps, plan.restarts, plan.starts, plan.stops, plan.changes], [[], [], [], [], []], name)
    assert.equal(plan.keepsRunning.length, record.status.workloads.length)
    const answer = await ask('PATCH', `/projects/${id}?wait=30`, own)
    assert.deepEqual(
      [answer.status, answer.body.operation, answer.body.generation],
      [200, null, record.generation],
      name,
    )
    assert.deepEqual(await everything(all, id), before, name)
  }
  const main = await ask('PATCH', `/projects/${id}/databases/main?wait=30`, record.databases.main)
  assert.deepEqual([main.status, main.body.operation, main.body.generation], [200, null, record.generation])
})

test('one changed variable of one runtime in a project of 6 workloads: 1 restart, which says which and why', async (t) => {
  const all = await openTestApp(t, { images: true })
  const { ask, engine } = all
  const { id, status } = await project(all, 'six', {
    node: {},
    static: {},
    redis: {},
    memcached: {},
    mailpit: {},
    databases: { main: { type: 'postgres' } },
    env: {
      GREETING: { value: 'hello', runtimes: ['node'] },
      TOKEN: { value: 'hush', secret: true, runtimes: ['node'] },
    },
  })
  assert.equal(status.workloads.length, 6)
  const pids = () =>
    Object.fromEntries([...engine.machine.workloads.values()].map((one) => [one.workload.ref.workload, one.pid]))
  for (const [env, name] of [
    [{ GREETING: 'good day' }, 'GREETING'],
    [{ TOKEN: { value: 'shh' } }, 'TOKEN'],
    [{ NEW: { value: 'x', runtimes: ['node'] } }, 'NEW'],
    [{ NEW: null }, 'NEW'],
  ] as const) {
    const before = pids()
    const patch = { env }
    const { plan } = (await ask<PlanAnswer>('PATCH', `/projects/${id}?dryRun=true`, patch)).body
    assert.deepEqual([plan.restarts, plan.starts, plan.stops], [['node'], [], []])
    assert.equal(plan.keepsRunning.length, 5)
    assert.ok(
      plan.steps.every(({ workload, because }) => workload === 'node' && because[0] === `the variable ${name} changed`),
    )
    const { body } = await ask('PATCH', `/projects/${id}?wait=30`, patch)
    assert.equal(body.operation?.state, 'succeeded')
    const after = pids()
    assert.deepEqual(
      Object.keys(after).filter((workload) => after[workload] !== before[workload]),
      ['node'],
    )
  }
  const restarts = await ask<{ items: OperationAnswer[] }>('GET', `/operations?project=${id}`)
  assert.equal(restarts.body.items.filter(({ kind }) => kind === 'update').length, 4)
})

function workloadOf(step: Step): string | null {
  if ('workload' in step) return step.workload.ref.workload
  return 'ref' in step ? step.ref.workload : null
}

function titlesByWorkload(steps: readonly { readonly title: string; readonly workload: string | null }[]) {
  const groups = Map.groupBy(steps, ({ workload }) => workload)
  return Object.fromEntries([...groups].map(([name, own]) => [name ?? 'data', own.map(({ title }) => title)]))
}
