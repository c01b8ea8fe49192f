import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Metrics } from '@stackquay/contract'
import type { Reading } from '@stackquay/engine-api'
import type { TotalsAnswer } from '@stackquay/proxy/control'
import { newId, type ProjectRow, type Store } from '@stackquay/store'
import { hashOf, newTokenValue, shownPrefix } from '../src/access/token-value.ts'
import { metricFamilies } from '../src/metrics/families.ts'
import { openHistory } from '../src/metrics/history.ts'
import { openMetricsKeeper } from '../src/metrics/keeper.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

const noon = Date.UTC(2026, 4, 4, 12) / 1000
const hour = 3_600
const reading = (project: string, change: Partial<Reading> = {}): Reading => ({
  ref: { project, workload: 'node' },
  run: 'r1',
  cpuSeconds: 0,
  memoryBytes: 1000,
  processes: 1,
  readBytes: null,
  writtenBytes: null,
  receivedBytes: null,
  sentBytes: null,
  ...change,
})

/** A keeper over a store of its own, with a machine and clocks that do what the test says. */
async function openKeeper(t: TestContext) {
  const app = await openTestApp(t)
  const file = join(app.folder, 'other.db')
  const world = {
    wall: noon,
    steady: 1_000,
    readings: [] as readonly Reading[],
    totals: undefined as TotalsAnswer['projects'] | undefined,
    errors: [] as string[],
  }
  // Beside those of the app there is a project "p".
  const all = async () => [...(await app.store.projects.all()), { id: 'p' } as ProjectRow]
  const store = Object.assign(Object.create(app.store), { projects: { all } }) as Store
  const open = () =>
    openMetricsKeeper({
      store,
      engine: { readings: async () => world.readings },
      keeper: { totals: async () => world.totals },
      file,
      now: () => new Date(world.wall * 1000),
      steady: () => world.steady,
      // By hand, below.
      ready: new Promise(() => undefined),
      onError: (error) => void world.errors.push(String(error)),
    })
  const keeper = open()
  t.after(() => keeper.close())
  return {
    app,
    file,
    world,
    keeper,
    open,
    pass(seconds: number) {
      world.wall += seconds
      world.steady += seconds
    },
    cpu: async (project: string, from = noon - hour, to = noon + hour) => {
      const points = (await keeper.history.read(project, { step: 60, from, to })).get('node') ?? []
      return points.map(({ time, values }) => [(time - noon) / 60, values[0], values[2]])
    },
  }
}

test('what was used in a minute is a point of that minute; what nobody measured is none', async (t) => {
  const { keeper, world, pass, cpu } = await openKeeper(t)
  world.readings = [reading('p', { cpuSeconds: 100 })]
  await keeper.look()
  pass(60)
  world.readings = [reading('p', { cpuSeconds: 130, memoryBytes: 2000 })]
  await keeper.look()
  // The service was asleep.
  pass(600)
  world.readings = [reading('p', { cpuSeconds: 190 })]
  await keeper.look()
  // Another run, that began half a minute ago.
  pass(60)
  world.readings = [reading('p', { run: 'r2', cpuSeconds: 6 })]
  await keeper.look()
  assert.deepEqual(await cpu('p'), [
    [-1, null, 1000],
    [0, 5000, 2000],
    [10, 1000, 1000],
    [11, 1000, 1000],
  ])
})

test('a clock that jumps back writes over what it wrote, and one that jumps ahead drops nothing', async (t) => {
  const { keeper, world, pass, cpu } = await openKeeper(t)
  for (let minute = 0; minute < 5; minute += 1) {
    world.readings = [reading('p', { cpuSeconds: 30 * minute })]
    await keeper.look()
    pass(60)
  }
  world.wall -= 120
  world.readings = [reading('p', { cpuSeconds: 120 + 6 })]
  await keeper.look()
  assert.deepEqual(
    (await cpu('p')).map(([minute, share]) => [minute, share]),
    [
      [-1, null],
      [0, 5000],
      [1, 5000],
      [2, 1000],
      [3, 5000],
    ],
  )
  world.wall += 10 * 365 * 24 * hour
  await keeper.look()
  assert.equal((await cpu('p')).length, 5)
  // Time that passed evenly takes what is too old.
  pass(61 * 60)
  await keeper.look()
  assert.equal((await cpu('p')).length, 0)
})

test('a run that was not seen for a while has no minute in which it used more than the machine has', async (t) => {
  const { keeper, world, pass, cpu } = await openKeeper(t)
  await keeper.look()
  pass(60)
  world.readings = [reading('p', { cpuSeconds: 900_000 })]
  await keeper.look()
  assert.deepEqual(await cpu('p'), [[0, null, 1000]])
})

test('requests are those of each minute, also over a proxy that began anew; quiet projects that do not run have none', async (t) => {
  const { keeper, world, pass } = await openKeeper(t)
  const totals = (project: string, good: number, bad: number) =>
    ({ project, classes: [0, good, 0, 0, bad], seconds: (good + bad) / 100, bytes: 0 }) as const
  world.readings = [reading('p')]
  world.totals = [totals('p', 100, 0), totals('quiet', 7, 0)]
  await keeper.look()
  pass(60)
  world.totals = [totals('p', 150, 10), totals('quiet', 7, 0)]
  await keeper.look()
  pass(60)
  world.totals = [totals('p', 4, 1)]
  await keeper.look()
  pass(60)
  world.totals = undefined
  await keeper.look()
  const of = async (project: string) =>
    ((await keeper.history.read(project, { step: 60, from: noon - hour, to: noon + hour })).get('') ?? []).map(
      ({ values }) => values.slice(8),
    )
  assert.deepEqual(await of('p'), [
    [60, 10, 600],
    [5, 1, 50],
  ])
  assert.deepEqual(await of('quiet'), [])
})

test('the history of a project goes when the project is gone for good; in the trash it stays', async (t) => {
  const { app, keeper, world, cpu } = await openKeeper(t)
  const made = async (name: string) => {
    const { status, body } = await app.ask('POST', '/projects?wait=30', { name, static: {}, redis: {} })
    assert.equal(status, 201)
    return body.id
  }
  const [kept, gone] = [await made('Kept'), await made('Gone')]
  world.readings = [reading(kept), reading(gone), reading('unknown')]
  await keeper.look()
  const remove = async (slug: string, more: string) => {
    const { status } = await app.ask('DELETE', `/projects/${slug}?confirm=${slug}&data=delete&wait=30${more}`)
    assert.ok(status === 200 || status === 204, String(status))
  }
  await remove('kept', '')
  await remove('gone', '&purge=true')
  world.readings = []
  const until = Date.now() + 10_000
  while ((await cpu(gone)).length > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual([(await cpu(kept)).length, (await cpu(gone)).length, (await cpu('unknown')).length], [1, 0, 0])
  assert.equal((await app.ask<{ items: { project: string }[] }>('GET', '/trash')).status, 200)
})

test('a damaged file is put aside and told of, and the next minute is written to a new one', async (t) => {
  const app = await openTestApp(t)
  const path = join(app.folder, 'damaged.db')
  const errors: string[] = []
  writeFileSync(path, 'this was a database once, and a disk took it. '.repeat(200))
  const history = openHistory(path, (error) => void errors.push(String(error)))
  t.after(() => history.close())
  const points = [{ project: 'p', workload: 'w', time: noon, values: [1, null, 2] }]
  history.write(points)
  assert.match(history.state().fault ?? '', /is not a database/)
  assert.equal(history.state().damaged, `${path}.damaged`)
  assert.match(readFileSync(`${path}.damaged`, 'utf8'), /^this was a database once/)
  history.write(points)
  assert.equal(history.state().fault, null)
  assert.ok(history.state().bytes > 0)
  assert.equal((await history.read('p', { step: 60, from: noon, to: noon + 60 })).get('w')?.length, 1)
  assert.equal(errors.length, 1)
})

test('a service without projects that run makes no file, and answers that there is nothing', async (t) => {
  const app = await openTestApp(t)
  await app.ask('POST', '/projects?wait=30', { name: 'Shop', start: false })
  const { status, body } = await app.ask<Metrics>('GET', '/projects/shop/metrics?range=1y')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    ...body,
    stepSeconds: 21_600,
    items: [],
    requests: { requests: null, errors: null, seconds: null },
  })
  assert.ok(!existsSync(join(app.folder, 'metrics.db')))
  assert.equal((await app.ask('GET', '/projects/none/metrics')).status, 404)
  assert.equal((await app.ask('GET', '/projects/shop/metrics?range=2y')).status, 400)
})

test('lists have a value for each step, the running one last, and null where nothing was measured', async (t) => {
  const app = await openTestApp(t)
  const { body: project } = await app.ask('POST', '/projects?wait=30', { name: 'Shop', static: {} })
  const history = openHistory(join(app.folder, 'metrics.db'), (error) => assert.fail(String(error)))
  const now = Math.floor(Date.now() / 60_000) * 60
  const row = (cpu: number) => [cpu, null, 1000, null, 5, 6, null, null, null, null, null]
  const asked = [null, null, null, null, null, null, null, null, 4, 1, 1000]
  history.write([
    { project: project.id, workload: 'static', time: now - 120, values: row(2500) },
    { project: project.id, workload: 'other', time: now - 120, values: row(100) },
    { project: project.id, workload: '', time: now - 120, values: asked },
  ])
  history.close()
  const { body } = await app.ask<Metrics>('GET', '/projects/shop/metrics?range=1h')
  assert.deepEqual(
    body.items.map(({ workload }) => workload),
    ['other', 'static'],
  )
  const cpu = body.items[1]!.cpu!
  assert.equal(cpu.length, 60)
  const index = (now - 120 - Date.parse(body.from) / 1000) / 60
  assert.equal(cpu[index], 0.25)
  assert.equal(cpu.filter((value) => value !== null).length, 1)
  assert.deepEqual([body.items[1]?.cpuMax?.[index], body.items[1]?.receivedBytes], [0.25, null])
  assert.deepEqual([body.requests?.requests?.[index], body.requests?.seconds?.[index]], [4, 0.25])
  const one = await app.ask<Metrics>('GET', '/projects/shop/metrics?range=7d&workload=static')
  assert.deepEqual([one.body.items.length, one.body.requests, one.body.items[0]?.cpu?.length], [1, null, 2016])
})

test('everybody who may read the whole instance scrapes it, at both addresses and in both formats; no one else does', async (t) => {
  const first = await openTestApp(t)
  first.engine.machine.files.has = () => true
  const name = 'Shop "a\\b" <&> {}'
  const { status, body: project } = await first.ask('POST', '/projects?wait=30', { name, static: {}, redis: {} })
  assert.equal(status, 201, JSON.stringify(project))
  // What it reads at its start is new for some seconds.
  const app = await first.reopen()
  const scrape = await scraperOf(app)
  for (const url of ['/metrics', '/api/v1/metrics']) {
    assert.equal((await app.app.http.inject({ method: 'GET', url })).statusCode, 401)
    assert.equal(
      (await app.app.http.inject({ method: 'GET', url, headers: { authorization: 'Bearer stq_x' } })).statusCode,
      401,
    )
    const text = await scrape(url, 'text/plain')
    assert.equal(text.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.equal(read(text.body, 'text').get('stackquay_workload_cpu_seconds_total')?.length, 2)
    const open = await scrape(url, 'application/openmetrics-text; version=1.0.0')
    assert.equal(open.headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8')
    const samples = read(open.body, 'openmetrics')
    assert.deepEqual(samples.get('stackquay_project_info'), [
      { project: project.slug, id: project.id, name, engine: project.engine },
    ])
    assert.deepEqual(samples.get('stackquay_project_state'), [{ project: project.slug, state: 'running' }])
  }
  assert.equal((await (await app.as('read', [project.id]))('GET', '/metrics')).status, 403)
  assert.equal((await (await app.as('read'))('GET', '/metrics')).status, 200)
})

const docs = (path: string) => readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8')

test('the dashboard and the document name what is exported, and the document all of it', async () => {
  const families = await metricFamilies(
    { at: 0, workloads: [], requests: [] },
    {
      model: { all: () => [], status: () => ({}) as never },
      backups: { all: () => [] },
      certificates: () => [],
      logExport: () => ({ lines: 0, dropped: 0 }),
      home: '/',
      version: '1',
      history: () => ({ bytes: 0, fault: null, damaged: null }),
    },
  )
  const exported = families.map(({ name, type }) => name + endings[type])
  const namedIn = (text: string) => new Set(text.match(/\b(stackquay|process)_[a-z_]+\b/g))
  assert.deepEqual([...namedIn(docs('metrics.md'))].sort(), exported.toSorted())
  const dashboard = JSON.parse(docs('grafana/stackquay.json')) as {
    panels: { targets?: { expr: string }[] }[]
    templating: { list: { query: string }[] }
  }
  const asked = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ query }) => query),
  ]
  const names = [...namedIn(asked.join('\n'))]
  assert.ok(names.length > 8)
  assert.deepEqual(
    names.filter((name) => !exported.includes(name)),
    [],
  )
})

async function scraperOf({ app, store }: TestApp) {
  const value = newTokenValue()
  const owner = (await store.users.byName('ada'))!.id
  const token = { id: newId('tok'), hash: hashOf(value), prefix: shownPrefix(value), name: 'prometheus', owner }
  await store.transaction((tx) => tx.tokens.insert({ ...token, scope: 'read', projects: [], expiresAt: null }))
  return async (url: string, accept: string) => {
    const answer = await app.http.inject({ method: 'GET', url, headers: { authorization: `Bearer ${value}`, accept } })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer
  }
}

/**
 * Reads strictly, as the specifications of both formats have it: a family is named once, with its help and type before its samples; samples
 * have the ending of their type, labels are quoted, values are numbers, and no sample comes twice. Answers the labels of samples by name.
 */
function read(text: string, format: 'text' | 'openmetrics'): ReadonlyMap<string, Record<string, string>[]> {
  assert.ok(text.endsWith(format === 'openmetrics' ? '# EOF\n' : '\n') && !text.includes('\r'))
  const found = new Map<string, Record<string, string>[]>()
  const families = new Set<string>()
  const seen = new Set<string>()
  let family = null as { readonly name: string; type: string } | null
  for (const line of text
    .replace(/# EOF\n$/, '')
    .trimEnd()
    .split('\n')) {
    const meta = /^# (HELP|TYPE|UNIT) ([a-z_]+) (.+)$/.exec(line)
    if (meta !== null) {
      const [, kind, name = '', value = ''] = meta
      if (kind === 'HELP') {
        assert.ok(!families.has(name), `${name} comes twice`)
        families.add(name)
        family = { name, type: '' }
      }
      assert.equal(family?.name, name, line)
      if (kind === 'TYPE') family!.type = value
      if (kind === 'UNIT') assert.ok(format === 'openmetrics' && name.endsWith(`_${value}`), line)
      continue
    }
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line)
    assert.ok(sample !== null && family !== null, line)
    const [, name = '', labels = '', value = ''] = sample
    const ending: string = format === 'text' ? '' : (endings[family.type] ?? '?')
    assert.equal(name, family.name + ending, line)
    assert.ok(Number.isFinite(Number(value)), line)
    assert.ok(!seen.has(name + labels), `${line} comes twice`)
    seen.add(name + labels)
    found.set(name, [...(found.get(name) ?? []), labelsOf(labels)])
  }
  return found
}

const endings: Readonly<Record<string, string>> = { counter: '_total', info: '_info', gauge: '' }

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const match = /^([a-z_]+)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/.exec(rest)
    assert.ok(match !== null, text)
    labels[match[1]!] = match[2]!.replace(/\\(["\\n])/g, (_, character) => (character === 'n' ? '\n' : character))
    rest = rest.slice(match[0].length)
  }
  return labels
}
