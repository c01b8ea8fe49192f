import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, chown, link, lstat, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { CaseResult } from '@stackquay/catalog/results/test-results'
import { ProblemError } from '@stackquay/contract'
import type { CommandOutput, CommandState } from '@stackquay/engine-api'
import { createUserFiles } from '@stackquay/engines'
import { readResults } from '../src/runs/read-results.ts'
import { createResultsFolders } from '../src/runs/results-folder.ts'
import { outcomeOf, type ReadResults } from '../src/runs/run-outcome.ts'
import { framesOf } from '../src/runs/run-output.ts'
import { casesOf, countsOf } from '../src/runs/test-cases.ts'
import { createWorkers } from '../src/workers/workers.ts'

const ended = (cause: CommandState['cause'], code: number | null, signal: string | null = null) => ({
  cause,
  exit: { code, signal, at: '2026-01-01T00:00:00.000Z' },
})
const counts = (failed: number): ReadResults => ({
  counts: { total: 3, passed: 3 - failed, failed, skipped: 0, flaky: 0 },
  problem: null,
})

test('what came of a run follows from how its command ended and what its tests said', () => {
  const state = (...[command, results]: [Parameters<typeof outcomeOf>[0], ReadResults | null]) => {
    const outcome = outcomeOf(command, results, 60)
    return `${outcome.state} ${outcome.exitCode} ${outcome.error?.code ?? '-'}`
  }
  assert.equal(state(ended('exited', 0), null), 'succeeded 0 -')
  assert.equal(state(ended('exited', 2), null), 'failed 2 -')
  assert.equal(state(ended('exited', null, 'SIGSEGV'), null), 'failed null -')
  assert.equal(state(ended('exited', 0), counts(0)), 'succeeded 0 -')
  assert.equal(state(ended('exited', 0), counts(1)), 'failed 0 -')
  assert.equal(state(ended('exited', 1), counts(0)), 'failed 1 -')
  assert.equal(state(ended('cancelled', null, 'SIGTERM'), null), 'cancelled null -')
  assert.equal(state(ended('timeout', null, 'SIGKILL'), counts(0)), 'failed null deadline_exceeded')
  assert.equal(state({ cause: 'lost', exit: null }, null), 'failed null interrupted')
})

test('results that cannot be read leave the exit code to decide, and say why there are no counts', () => {
  const problem = { type: 't', title: 'T', status: 500, detail: 'd', code: 'io_failed', hint: 'h', retryable: true }
  const outcome = outcomeOf(ended('exited', 0), { counts: null, problem }, 60)
  assert.deepEqual([outcome.state, outcome.counts, outcome.error?.code], ['succeeded', null, 'io_failed'])
})

const result = (name: string, outcome: CaseResult['outcome'], more: Partial<CaseResult> = {}): CaseResult => ({
  name,
  group: null,
  file: null,
  line: null,
  outcome,
  seconds: null,
  message: null,
  details: null,
  ...more,
})

test('failed tests come first, then the others in the order they ran', () => {
  const cases = casesOf({
    cases: [result('a', 'passed'), result('b', 'failed'), result('c', 'skipped'), result('d', 'failed')],
    cwd: '/shop',
    folders: ['/shop'],
    before: [],
  })
  assert.deepEqual(
    cases.map(({ name }) => name),
    ['b', 'd', 'a', 'c'],
  )
  assert.deepEqual(countsOf(cases), { total: 4, passed: 1, failed: 2, skipped: 1, flaky: 0 })
})

test('a test is flaky when it passed and failed on the same source, in this run or another', () => {
  const before = [
    { name: 'a', group: null, file: null, outcome: 'passed' },
    { name: 'b', group: 'other', file: null, outcome: 'passed' },
    { name: 'c', group: null, file: null, outcome: 'failed' },
    { name: 'place of failures only', group: null, file: 'b_test.go', outcome: 'failed' },
  ] as const
  const cases = casesOf({
    cases: [
      result('a', 'failed'),
      result('b', 'failed'),
      result('c', 'skipped'),
      { ...result('again', 'failed'), file: 'a.test.js', line: 3 },
      { ...result('again', 'passed'), file: 'a.test.js', line: 3 },
      { ...result('same title', 'failed'), file: 'a.test.js', line: 5 },
      { ...result('same title', 'passed'), file: 'a.test.js', line: 9 },
      result('place of failures only', 'passed'),
    ],
    cwd: '/shop',
    folders: ['/shop'],
    before,
  })
  assert.deepEqual(
    cases.filter(({ flaky }) => flaky).map(({ name }) => name),
    ['a', 'again', 'again', 'place of failures only'],
  )
  assert.equal(countsOf(cases).flaky, 4)
})

test('files are named relative to the project, whatever the runner calls them', () => {
  const fileOf = (file: string) =>
    casesOf({
      cases: [result('a', 'passed', { file, line: 7 })],
      cwd: '/shop/packages/api',
      folders: ['/shop', '/real/shop'],
      before: [],
    }).map((one) => [one.file, one.line])[0]
  assert.deepEqual(fileOf('src/a.test.ts'), ['packages/api/src/a.test.ts', 7])
  assert.deepEqual(fileOf('../../a.test.ts'), ['a.test.ts', 7])
  assert.deepEqual(fileOf('/real/shop/a.test.ts'), ['a.test.ts', 7])
  assert.deepEqual(fileOf('file:///shop/b%20c.js'), ['b c.js', 7])
  assert.deepEqual(fileOf('/shop/..a/b.js'), ['..a/b.js', 7])
  assert.deepEqual(fileOf('/usr/lib/python3/unittest.py'), [null, null])
  assert.deepEqual(fileOf('/shopping/a.js'), [null, null])
  assert.deepEqual(fileOf('/shop'), [null, null])
})

test('texts without end are cut', () => {
  const [kept] = casesOf({
    cases: [result('n'.repeat(5_000), 'failed', { message: 'm'.repeat(9_000), details: 'd'.repeat(90_000) })],
    cwd: '/shop',
    folders: ['/shop'],
    before: [],
  })
  assert.deepEqual(
    [kept?.name.length, kept?.message?.length, kept?.details?.length, kept?.details?.at(-1)],
    [1_000, 4_000, 20_000, '…'],
  )
})

const chunk = (from: number, text: string, more: Partial<CommandOutput> = {}): CommandOutput => {
  const bytes = Buffer.from(text)
  return { stream: 'stdout', time: 1_000, bytes, from, to: from + bytes.length, ...more }
}
const shown = (chunks: readonly CommandOutput[], after = 0) =>
  framesOf(chunks, after).map(({ bytes }) => {
    const { type, seq, stream, text, bytes: missing } = JSON.parse(bytes.toString())
    return type === 'gap' ? `gap ${missing} ${seq}` : `${stream} ${text.length > 20 ? text.length : text} ${seq}`
  })

test('neighbours of one stream and one moment share a frame, and a frame’s position is behind its last byte', () => {
  assert.deepEqual(shown([chunk(0, 'one\n'), chunk(4, 'two\n')]), ['stdout one\ntwo\n 8'])
  assert.deepEqual(shown([chunk(0, 'a'), chunk(1, 'b', { stream: 'stderr' }), chunk(2, 'c')]), [
    'stdout a 1',
    'stderr b 2',
    'stdout c 3',
  ])
  assert.deepEqual(shown([chunk(0, 'a'), chunk(1, 'b', { time: 1_500 })]), ['stdout a 1', 'stdout b 2'])
  assert.deepEqual(shown([chunk(0, 'x'.repeat(60_000)), chunk(60_000, 'y'.repeat(10_000))]), [
    'stdout 60000 60000',
    'stdout 10000 70000',
  ])
})

test('what is missing in front of a chunk or between two is a gap of as many bytes', () => {
  assert.deepEqual(shown([chunk(100, 'a'), chunk(200, 'b')], 40), [
    'gap 60 100',
    'stdout a 101',
    'gap 99 200',
    'stdout b 201',
  ])
})

const isRoot = process.getuid?.() === 0
const account = isRoot ? { uid: 65_534, gid: 65_534 } : null

async function folders(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-results-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  await chmod(home, 0o711)
  const files = createUserFiles()
  t.after(files.close)
  const all = createResultsFolders(home, files)
  await all.make('run_1', account, { 'helper.mjs': 'export {}' })
  const path = (name: string) => join(all.pathOf('run_1'), name)
  const put = async (name: string, text: string) => {
    await writeFile(path(name), text)
    if (account !== null) await chown(path(name), account.uid, account.gid)
  }
  return { home, all, path, put }
}

test('a folder for results is the account’s alone, has our helpers, and is made anew', async (t) => {
  const { all, path, put } = await folders(t)
  const info = await lstat(all.pathOf('run_1'))
  assert.equal(info.mode & 0o777, 0o700)
  assert.equal(info.uid, account?.uid ?? process.getuid?.())
  assert.equal(await readFile(path('helper.mjs'), 'utf8'), 'export {}')
  await put('results.xml', '<é/>')
  assert.equal(await all.read('run_1', account, 'results.xml'), '<é/>')
  await all.make('run_1', account, {})
  await assert.rejects(all.read('run_1', account, 'results.xml'), /the runner wrote none/)
  await all.remove('run_1')
  await all.remove('run_1')
  await assert.rejects(lstat(all.pathOf('run_1')), { code: 'ENOENT' })
})

test('links, pipes, folders, huge files and files of others are not read', { timeout: 30_000 }, async (t) => {
  const { home, all, path, put } = await folders(t)
  await writeFile(join(home, 'secret'), 'secret', { mode: 0o600 })
  await symlink(join(home, 'secret'), path('link'))
  await promisify(execFile)('mkfifo', [path('pipe')])
  await put('huge', '')
  await truncate(path('huge'), (64 << 20) + 1)
  const names = ['link', 'pipe', 'huge', 'missing']
  if (isRoot) {
    await link(join(home, 'secret'), path('foreign'))
    names.push('foreign')
  }
  for (const name of names) {
    await assert.rejects(all.read('run_1', account, name), (error: unknown) => {
      assert.ok(error instanceof ProblemError && error.code === 'io_failed', `${name}: ${String(error)}`)
      assert.ok(!error.message.includes(home))
      return true
    })
  }
  await assert.rejects(all.read('run_1', account, '../secret'), RangeError)
})

test('folders of runs that are over are swept, those that go on stay', async (t) => {
  const { all } = await folders(t)
  await all.make('run_2', account, {})
  await all.sweep((run) => run === 'run_2')
  await assert.rejects(lstat(all.pathOf('run_1')), { code: 'ENOENT' })
  assert.ok((await lstat(all.pathOf('run_2'))).isDirectory())
})

test('results are read in a thread of their own; a text that is none of them says so', async (t) => {
  const workers = createWorkers()
  t.after(() => workers.close())
  const text = '<testsuites><testsuite name="a"><testcase name="one"/></testsuite></testsuites>'
  const { cases } = await readResults(workers, 'junit', text, AbortSignal.timeout(30_000))
  assert.deepEqual(
    cases.map(({ name, outcome }) => [name, outcome]),
    [['one', 'passed']],
  )
  await assert.rejects(
    readResults(workers, 'junit', 'no xml at all', AbortSignal.timeout(30_000)),
    (error: unknown) => error instanceof ProblemError && error.code === 'io_failed',
  )
  await assert.rejects(readResults(workers, 'junit', text, AbortSignal.abort(new Error('enough'))), /enough/)
})
