import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type LogSearch, type LogStats, operations } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import { createNativeEngine, oneAccount } from '@stackquay/engines'
import type { Principal, RequestContext } from '../src/http/handler.ts'
import { countLogs } from '../src/logs/log-counts.ts'
import type { LogFilter } from '../src/logs/log-filter.ts'
import { searchProjects } from '../src/logs/log-search.ts'
import { type LogStatsDeps, logStatsHandlers } from '../src/logs/log-stats-handlers.ts'
import { createWorkers } from '../src/workers/workers.ts'

const now = Date.parse('2026-03-04T12:00:00.000Z')
const ago = (minutes: number) => now - minutes * 60_000
const iso = (time: number) => new Date(time).toISOString()

test('lines are counted by level and step, errors that are alike are one, and what is out of the range is not counted', async (t) => {
  const { print, stats } = await openLogs(t)
  await print('one', 'web', [
    [ago(26 * 60), ['ERROR: long ago']],
    [ago(60), ['ERROR: no order 1', 'INFO: fine', 'nothing said', 'WARN: hm']],
    [ago(30), ['ERROR: no order 22', 'ERROR: größer als 7']],
  ])
  await print('one', 'worker', [[ago(10), ['ERROR: no order 333', 'DEBUG: x']]])
  const day = await stats('one', {})
  const sums = Object.entries(day.levels).map(([level, counts]) => [level, counts.reduce((a, b) => a + b, 0)])
  assert.deepEqual(Object.fromEntries(sums), { error: 4, warning: 1, info: 1, debug: 1, none: 1 })
  assert.equal(day.stepSeconds, 1800)
  const step = (time: number) => Math.floor((time - Date.parse(day.from)) / 1_800_000)
  assert.equal(day.levels.error![step(ago(60))], 1)
  assert.equal(day.levels.error![step(ago(30))], 3)
  assert.deepEqual(day.topErrors, [
    {
      ...{ pattern: 'ERROR: no order <n>', search: 'ERROR: no order', text: 'ERROR: no order 333', workload: 'worker' },
      ...{ count: 3, firstAt: iso(ago(60)), lastAt: iso(ago(10)) },
    },
    {
      ...{ pattern: 'ERROR: größer als <n>', search: 'ERROR: größer als', text: 'ERROR: größer als 7' },
      ...{ workload: 'web', count: 1, firstAt: iso(ago(30)), lastAt: iso(ago(30)) },
    },
  ])
  assert.equal(day.partial, false)
  const narrow = await stats('one', { workload: 'worker', since: iso(ago(20)), until: iso(ago(5)) })
  assert.deepEqual([narrow.topErrors.length, narrow.topErrors[0]?.count], [1, 1])
  await assert.rejects(stats('one', { since: iso(ago(5)), until: iso(ago(20)) }), { code: 'invalid_request' })
  await assert.rejects(stats('one', { since: '2020-01-01T00:00:00Z' }), { code: 'invalid_request' })
})

test('all projects are searched, newest first, and pages neither repeat nor leave out a line, even of one millisecond', async (t) => {
  const { print, search } = await openLogs(t)
  const lines = (name: string, from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `needle ${name} ${from + at}`)
  await print('one', 'web', [
    [ago(3 * 24 * 60), lines('one', 0, 5)],
    [ago(90), lines('one', 5, 5)],
    [ago(5), ['other', ...lines('one', 10, 7)]],
  ])
  await print('two', 'web', [
    [ago(40 * 24 * 60), lines('two', 0, 3)],
    [ago(5), lines('two', 3, 7)],
  ])
  const seen: string[] = []
  const times: string[] = []
  let cursor: string | null | undefined
  let pages = 0
  while (cursor !== null) {
    const page: LogSearch = await search({ q: 'NEEDLE', limit: '4', ...(cursor === undefined ? {} : { cursor }) })
    assert.equal(page.partial, false)
    seen.push(...page.items.map(({ text, project }) => `${project} ${text}`))
    times.push(...page.items.map(({ time }) => time))
    cursor = page.nextCursor
    pages += 1
    assert.ok(pages < 20)
  }
  assert.deepEqual(times, times.toSorted().reverse())
  assert.equal(new Set(seen).size, 27)
  assert.equal(seen.length, 27)
  const levelled = await search({ q: 'needle (one|two) [0-2]$', regex: 'true' })
  assert.equal(levelled.items.length, 6)
  assert.equal((await search({ q: 'needle', level: 'error' })).items.length, 0)
  assert.equal((await search({ q: 'needle', since: iso(ago(100)), until: iso(ago(80)) })).items.length, 5)
  await assert.rejects(search({ q: '(a', regex: 'true' }), { code: 'invalid_request' })
  await assert.rejects(search({ q: 'a', cursor: 'x' }), { code: 'invalid_request' })
})

test('a token that is restricted to projects finds nothing of others, and learns of none', async (t) => {
  const { print, search } = await openLogs(t)
  await print('one', 'web', [[ago(5), ['needle']]])
  await print('two', 'web', [[ago(5), ['needle']]])
  const restricted = { kind: 'token', projects: ['prj_one'] } as unknown as Principal
  assert.deepEqual(
    (await search({ q: 'needle' }, restricted)).items.map(({ project }) => project),
    ['one'],
  )
  assert.equal((await search({ q: 'needle', projects: 'prj_one' }, restricted)).items.length, 1)
  for (const projects of ['two', 'prj_two', 'nowhere', 'one,two'])
    await assert.rejects(search({ q: 'needle', projects }, restricted), { code: 'project_forbidden' }, projects)
  await assert.rejects(search({ q: 'needle', projects: 'nowhere' }), { code: 'not_found' })
  assert.equal((await search({ q: 'needle', projects: 'one,two' })).items.length, 2)
})

test('when time runs out the answer says so, and the newest was counted first', async (t) => {
  const { print, engine, workers } = await openLogs(t)
  const line = 'ERROR: something with a number 12345 and some more words that make it longer'
  const many = Array.from({ length: 20_000 }, () => line)
  await print(
    'one',
    'web',
    Array.from({ length: 12 }, (_, part) => [ago(23 * 60 - part * 110), many] as const),
  )
  const about = { engine, project: 'prj_one', names: ['web'], signal: new AbortController().signal }
  const range = { since: ago(24 * 60), until: now }
  const whole = await countLogs({ ...about, ...range, workers, budgetMs: 60_000 })
  assert.deepEqual([whole.partial, whole.topErrors[0]?.count], [false, 240_000])
  const none = await countLogs({ ...about, ...range, workers, budgetMs: 0 })
  assert.deepEqual([none.partial, none.countedFrom], [true, iso(now)])
  const projects = [{ id: 'prj_one', slug: 'one', names: ['web'] }]
  const fits: LogFilter = (lines) => lines
  const asked = { engine, projects, fits, limit: 10, since: null, until: now, cursor: null }
  const found = await searchProjects({ ...asked, budgetMs: 0, signal: about.signal })
  assert.deepEqual([found.partial, found.items.length], [true, 0])
  assert.notEqual(found.nextCursor, null, 'one can go on further back')
})

type Printed = readonly (readonly [time: number, lines: readonly string[]])[]

/** Handlers over a native engine, with logs as programs would have written them at these times. */
async function openLogs(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-log-stats-'))
  await chmod(root, 0o711)
  const home = join(root, 'home')
  const runAs = process.getuid?.() === 0 ? { uid: 48_211, gid: 48_211 } : null
  const engine: Engine = await createNativeEngine({ home, accounts: oneAccount(runAs), bundled: [] })
  const workers = createWorkers()
  t.after(async () => {
    await workers.close()
    await engine.close()
    await rm(root, { recursive: true, force: true })
  })
  const names = new Map<string, Set<string>>()
  const known = (slug: string) => ({
    row: { id: `prj_${slug}`, slug },
    resolved: {
      workloads: [...(names.get(slug) ?? [])].map((workload) => ({ ref: { project: `prj_${slug}`, workload } })),
    },
  })
  const slugOf = (idOrSlug: string) => idOrSlug.replace(/^prj_/, '')
  const found = (idOrSlug: string) => (names.has(slugOf(idOrSlug)) ? known(slugOf(idOrSlug)) : null)
  const store = { projects: { find: async (idOrSlug: string) => found(idOrSlug)?.row ?? null } }
  const model = { find: found, renew: async (id: string) => found(id), all: () => [...names.keys()].map(known) }
  const handlers = logStatsHandlers({
    engine,
    store,
    model,
    workers,
    now: () => new Date(now),
  } as never as LogStatsDeps)
  const session = { kind: 'session' } as Principal
  const context = (principal: Principal) => ({ principal, signal: new AbortController().signal }) as RequestContext
  return {
    engine,
    workers,
    async print(slug: string, workload: string, printed: Printed) {
      names.set(slug, (names.get(slug) ?? new Set()).add(workload))
      const directory = join(home, 'logs', `prj_${slug}`, workload)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const log = printed[0]![0].toString(36).padStart(9, '0')
      const [out, err, index] = await Promise.all(
        ['out', 'err', 'idx'].map((end) => open(join(directory, `${log}.${end}`), 'w')),
      )
      await index!.write(entryOf(0, 0))
      let size = 0
      for (const [time, lines] of printed) {
        const bytes = Buffer.from(`${lines.join('\n')}\n`)
        size += bytes.length
        await out!.write(bytes)
        await index!.write(entryOf(time, size))
      }
      for (const file of [out, err, index]) await file!.close()
    },
    async stats(slug: string, query: Readonly<Record<string, string>>): Promise<LogStats> {
      const input = { params: { id: slug }, query: operations.getLogStats.query.parse(query), body: undefined }
      return (await handlers.getLogStats(input as never, context(session))).body as LogStats
    },
    async search(query: Readonly<Record<string, string>>, principal: Principal = session): Promise<LogSearch> {
      const input = { params: {}, query: operations.searchLogs.query.parse(query), body: undefined }
      return (await handlers.searchLogs(input as never, context(principal))).body as LogSearch
    },
  }
}

function entryOf(time: number, size: number): Buffer {
  const entry = Buffer.alloc(16)
  entry.writeUIntBE(time, 0, 6)
  entry.writeUIntBE(size, 6, 5)
  return entry
}
