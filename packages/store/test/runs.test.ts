import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedError, type NewRun, type Store, type TestCaseRow } from '../src/index.ts'
import { newProject, tempStore } from './temp-store.ts'

const run = (id: string, more: Partial<NewRun> = {}): NewRun => ({
  id,
  project: 'prj_1',
  kind: 'action',
  name: 'node.build',
  label: 'npm run build',
  runtime: 'node',
  filter: null,
  actor: 'ada',
  requestId: 'req_1',
  plan: { attempts: 0 },
  ...more,
})

const testCase = (name: string, more: Partial<TestCaseRow> = {}): Omit<TestCaseRow, 'position'> => ({
  name,
  group: null,
  file: 'a.test.js',
  line: 1,
  outcome: 'passed',
  seconds: 0.5,
  message: null,
  details: null,
  flaky: false,
  ...more,
})

async function withRuns(store: Store, runs: readonly NewRun[]): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop', { id: 'prj_1' }))
    await tx.projects.insert(newProject('blog', { id: 'prj_2' }))
    for (const one of runs) await tx.runs.insert(one)
  })
}

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

test('a run is queued, changed field by field, and read as it is', async (t) => {
  const { store } = await tempStore(t)
  await withRuns(store, [run('run_1')])
  const queued = await store.runs.find('run_1')
  assert.deepEqual(queued, {
    ...run('run_1'),
    state: 'queued',
    phase: null,
    source: null,
    exitCode: null,
    signal: null,
    error: null,
    counts: null,
    createdAt: '2026-01-01T00:00:00.000Z',
    startedAt: null,
    finishedAt: null,
  })
  const change = {
    state: 'failed',
    phase: null,
    source: 'abc',
    exitCode: 1,
    signal: 'SIGTERM',
    error: { type: 't', title: 'T', status: 500, detail: 'é', code: 'io_failed', hint: 'h', retryable: true },
    counts: { total: 1, passed: 0, failed: 1, skipped: 0, flaky: 0 },
    startedAt: '2026-01-01T00:00:01.000Z',
    finishedAt: '2026-01-01T00:00:02.000Z',
    plan: { attempts: 1 },
  } as const
  const written = await store.transaction((tx) => tx.runs.update('run_1', change))
  assert.deepEqual(written, { ...queued, ...change })
  assert.deepEqual(await store.transaction((tx) => tx.runs.update('run_1', {})), written)
  assert.deepEqual(await store.transaction((tx) => tx.runs.update('run_1', { error: null, counts: null })), {
    ...written,
    error: null,
    counts: null,
  })
  await assert.rejects(
    store.transaction((tx) => tx.runs.update('run_2', change)),
    ChangedError,
  )
  assert.equal(await store.runs.find('run_2'), null)
})

test('lists are newest first, by page, and of what is asked for alone', async (t) => {
  const { store } = await tempStore(t)
  await withRuns(store, [
    run('run_1'),
    run('run_2', { kind: 'test', name: 'node.test' }),
    run('run_3', { name: 'node.lint' }),
    run('run_4'),
    run('run_5', { project: 'prj_2' }),
  ])
  const project = 'prj_1'
  assert.deepEqual(ids(await store.runs.list({ project, limit: 9 })), ['run_4', 'run_3', 'run_2', 'run_1'])
  assert.deepEqual(ids(await store.runs.list({ project, limit: 2, cursor: 'run_4' })), ['run_3', 'run_2'])
  assert.deepEqual(ids(await store.runs.list({ project, limit: 9, kind: 'test' })), ['run_2'])
  assert.deepEqual(ids(await store.runs.list({ project, limit: 9, name: 'node.build' })), ['run_4', 'run_1'])
  assert.deepEqual(ids(await store.runs.list({ project, limit: 9, state: 'running' })), [])
  assert.deepEqual(ids(await store.runs.lastOf(project, 'action')).sort(), ['run_3', 'run_4'])
  await store.transaction((tx) => tx.runs.update('run_3', { state: 'succeeded' }))
  assert.deepEqual(ids(await store.runs.unfinished()), ['run_1', 'run_2', 'run_4', 'run_5'])
  assert.deepEqual([...(await store.runs.ids())].sort(), ['run_1', 'run_2', 'run_3', 'run_4', 'run_5'])
})

test('only the newest of a name that have ended are kept, and their tests go with the others', async (t) => {
  const { store } = await tempStore(t)
  const many = Array.from({ length: 6 }, (_, at) => run(`run_${at}`, { kind: 'test', name: 'node.test' }))
  await withRuns(store, [...many, run('run_6'), run('run_7', { kind: 'test', name: 'node.test', project: 'prj_2' })])
  await store.transaction(async (tx) => {
    for (const id of [0, 1, 2, 4, 5, 7]) await tx.runs.update(`run_${id}`, { state: 'failed' })
    await tx.runs.putCases('run_0', [testCase('a')])
  })
  const keep = () => store.transaction((tx) => tx.runs.keepNewest('prj_1', 'test', 'node.test', 2))
  assert.deepEqual([...(await keep())].sort(), ['run_0', 'run_1', 'run_2'])
  assert.deepEqual(await keep(), [])
  assert.deepEqual([...(await store.runs.ids())].sort(), ['run_3', 'run_4', 'run_5', 'run_6', 'run_7'])
  assert.deepEqual(await store.runs.cases('run_0', { limit: 9 }), [])
})

test('a deleted project takes its runs along', async (t) => {
  const { store } = await tempStore(t)
  await withRuns(store, [run('run_1'), run('run_2', { project: 'prj_2' })])
  await store.transaction((tx) => tx.projects.delete('prj_1'))
  assert.deepEqual(await store.runs.ids(), ['run_2'])
})

test('tests of a run are kept in their order, replaced as a whole, and read by page and outcome', async (t) => {
  const { store } = await tempStore(t)
  await withRuns(store, [run('run_1', { kind: 'test' })])
  const many = Array.from({ length: 450 }, (_, at) =>
    testCase(
      `test ${at}`,
      at % 100 === 0 ? { outcome: 'failed', message: 'é', details: 'at x', flaky: at === 100 } : {},
    ),
  )
  await store.transaction((tx) => tx.runs.putCases('run_1', [testCase('old')]))
  await store.transaction((tx) => tx.runs.putCases('run_1', many))
  const first = await store.runs.cases('run_1', { limit: 300 })
  const second = await store.runs.cases('run_1', { limit: 300, after: first.at(-1)!.position })
  assert.deepEqual(
    [...first, ...second],
    many.map((one, position) => ({ ...one, position })),
  )
  assert.equal((await store.runs.cases('run_1', { limit: 9, outcome: 'failed' })).length, 5)
  assert.deepEqual(
    (await store.runs.cases('run_1', { limit: 9, outcome: 'flaky' })).map(({ name }) => name),
    ['test 100'],
  )
})

test('outcomes on one source are those of all runs of the suite on it, each once', async (t) => {
  const { store } = await tempStore(t)
  const suite = { kind: 'test', name: 'node.test' } as const
  await withRuns(
    store,
    ['run_1', 'run_2', 'run_3', 'run_4'].map((id) => run(id, suite)),
  )
  await store.transaction(async (tx) => {
    for (const [id, source] of [
      ['run_1', 's1'],
      ['run_2', 's1'],
      ['run_3', 's2'],
    ] as const)
      await tx.runs.update(id, { source })
    await tx.runs.putCases('run_1', [testCase('a'), testCase('b'), testCase('c', { outcome: 'skipped' })])
    await tx.runs.putCases('run_2', [testCase('a', { outcome: 'failed' }), testCase('b')])
    await tx.runs.putCases('run_3', [testCase('b', { outcome: 'failed' })])
    await tx.runs.putCases('run_4', [testCase('b', { outcome: 'failed' })])
  })
  const seen = await store.runs.outcomesOn('prj_1', 'node.test', 's1')
  assert.deepEqual(seen.map(({ name, outcome }) => `${name} ${outcome}`).sort(), ['a failed', 'a passed', 'b passed'])
  assert.deepEqual(await store.runs.outcomesOn('prj_2', 'node.test', 's1'), [])
})
