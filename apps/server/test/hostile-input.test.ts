import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { longestTurn } from '@stackquay/testkit/event-loop'
import { jsonShape } from '../src/json-shape.ts'
import { createMatchers } from '../src/logs/log-match.ts'
import { readResults } from '../src/runs/read-results.ts'
import { TaskLimitError } from '../src/workers/thread-pool.ts'
import { createWorkers } from '../src/workers/workers.ts'
import { openTestApp } from './app-support.ts'

const letters = [...'abcdefghijklmnopqrst']
const manifests: Readonly<Record<string, string>> = {
  '100 KB of [': '['.repeat(100_000),
  '100 KB of {a:': '{a: '.repeat(25_000),
  'mappings 600 deep': Array.from({ length: 600 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
  'an alias bomb': letters
    .map(
      (name, at) =>
        `${name}: &${name} [${
          at === 0
            ? 'x'
            : Array(9)
                .fill(`*${letters[at - 1]}`)
                .join(',')
        }]`,
    )
    .join('\n'),
  'a line of 1 MB': `name: ${'x'.repeat(1_000_000)}`,
  'a line of 190 KB': `name: "${'\\u0041'.repeat(31_000)}"`,
  '19,000 unknown keys': Array.from({ length: 19_000 }, (_, at) => `k${at}: 1`).join('\n'),
  '9,000 databases': `databases:\n${Array.from({ length: 9000 }, (_, at) => ` k${at}: {typ: x}`).join('\n')}`,
}
const many = (count: number, value: unknown, name = 'k') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, value]))
const bodies: Readonly<Record<string, string>> = {
  '1 MB of [': `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
  '90,000 unknown fields': JSON.stringify(many(90_000, 1)),
  '60,000 variables': JSON.stringify({ env: many(60_000, 'v', 'K') }),
  '1,500 wrong variables': JSON.stringify({ env: many(1500, { valu: 1 }, 'K') }),
  '4,000 unknown fields': JSON.stringify(many(4000, 1)),
}

test('who sends a project file or a body that is hard to read keeps nobody else waiting', {
  timeout: 240_000,
}, async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = { ...(await session()), 'content-type': 'application/json' }
  await call('createProject', { body: { name: 'Shop' }, query: { wait: '10' }, headers })
  const shop = { id: 'shop' }
  const plan = (manifest: string) => call('planManifest', { params: shop, body: { manifest }, headers })
  const patch = (body: string) => call('updateProject', { params: shop, body, headers })
  await plan('name: Shop')
  for (const [what, text] of Object.entries(manifests)) {
    const { status, json } = await unblocked(
      what,
      () => plan(text),
      () => plan('name: Shop'),
    )
    assert.ok(status === 422 || status === 413, `${what}: ${status}`)
    assert.match(json.errors?.[0]?.detail ?? json.detail, /\w/)
  }
  for (const [what, text] of Object.entries(bodies)) {
    const { status, json } = await unblocked(
      what,
      () => patch(text),
      () => patch('{"name":"Shop"}'),
    )
    assert.ok(status === 422 || status === 413, `${what}: ${status}`)
    assert.ok((json.errors ?? []).length <= 100)
  }
  assert.match((await patch(bodies['1 MB of [']!)).json.detail, /nested 500000 deep; it may be nested 50 deep/)
  assert.match((await patch(bodies['60,000 variables']!)).json.detail, /values; it may have 5000/)
})

test('whose source holds package files that are hard to read keeps nobody else waiting', {
  timeout: 240_000,
}, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-hostile-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  await chmod(root, 0o755)
  const { call, session } = await openTestApp(t, { env: { STACKQUAY_ALLOWED_ROOTS: root } })
  const headers = await session()
  const scripts = JSON.stringify({ scripts: many(10_000, 'node x.js', 's') })
  const files: Readonly<Record<string, string>> = {
    '1 MB of [': '['.repeat(1_000_000),
    'nested lists': `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    'nested maps': `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    '10,000 scripts': scripts,
    '900 KB of scripts': JSON.stringify({ scripts: many(45_000, 'node x.js', 's') }),
    'blank lines': '\n'.repeat(1_000_000),
    'a line of 1 MB': 'a'.repeat(1_000_000),
  }
  const names = ['package.json', 'composer.json', 'requirements.txt', 'pyproject.toml', 'app.py', 'Gemfile', 'go.mod']
  const plain = join(root, 'plain')
  await makeFolder(plain, { 'package.json': '{"scripts":{"start":"node app.js"}}' })
  const dryRun = (name: string, path: string) =>
    call('createProject', { body: { name, path }, query: { dryRun: 'true' }, headers })
  const create = async (name: string, path: string) => {
    const body = { name, path, node: {}, python: {}, start: false }
    const made = await call('createProject', { body, query: { wait: '20' }, headers })
    assert.equal(made.status, 201, made.body)
  }
  const actions = (id: string) => call('listActions', { params: { id }, headers })
  await create('Plain', plain)
  for (const [count, [what, text]] of Object.entries(files).entries()) {
    const path = join(root, `p${count}`)
    await makeFolder(path, Object.fromEntries(names.map((name) => [name, text])))
    await unblocked(
      `dry run over ${what}`,
      () => dryRun(`P${count}`, path),
      () => dryRun('Other', plain),
    )
    await create(`P${count}`, path)
    const { status, json, body } = await unblocked(
      `actions of ${what}`,
      () => actions(`p${count}`),
      () => actions('plain'),
    )
    assert.equal(status, 200, body)
    assert.ok(json.items.length <= 300, `${json.items.length} actions of ${what}`)
  }
})

/** Projects may write in it, as in a folder of their own. */
async function makeFolder(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(path)
  await chmod(path, 0o777)
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
}

test('a pattern that never ends, and a report that is no report, keep nobody else waiting', {
  timeout: 120_000,
}, async (t) => {
  const workers = createWorkers()
  t.after(() => workers.close())
  const signal = AbortSignal.timeout(100_000)
  const matchers = createMatchers(workers)
  for (const pattern of ['(a+)+$', '(a|aa)+$', '(.*)*x', '((a*)*)*$']) {
    const line = `${'a'.repeat(40)}!`
    const slow = () => matchers.matcher(pattern, 300)([line, 'a'.repeat(1_000_000)], signal)
    const caught = await unblocked(
      pattern,
      () => slow().catch((error: unknown) => error),
      () => matchers.matcher('b')([line], signal),
    )
    assert.equal((caught as { code?: string }).code, 'deadline_exceeded', pattern)
  }
  const reports = {
    nested: `<testsuites>${'<testsuite>'.repeat(200_000)}`,
    entities: `<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">]><testsuites>${'&a;'.repeat(500_000)}</testsuites>`,
    brackets: '['.repeat(2_000_000),
    line: 'x'.repeat(5_000_000),
  }
  for (const format of ['junit', 'jest-json', 'cases'] as const) {
    for (const [what, text] of Object.entries(reports))
      await unblocked(
        `${format}: ${what}`,
        () => readResults(workers, format, text, signal).catch(() => null),
        () => readResults(workers, 'junit', '<testsuites/>', signal).catch(() => null),
      )
  }
})

test('a task that passes its limit is ended, and the next one of its pool gets a new thread', async (t) => {
  const workers = createWorkers()
  t.after(() => workers.close())
  const endless = { pattern: '(a+)+$', text: `${'a'.repeat(60)}!` }
  const late = await workers.run('match', endless, { ms: 50 }).catch((error: unknown) => error)
  assert.ok(late instanceof TaskLimitError && late.reason === 'time', String(late))
  const leave = new AbortController()
  const left = workers.run('match', endless, { ms: 10_000, signal: leave.signal })
  setTimeout(() => leave.abort(new Error('gone')), 50)
  await assert.rejects(left, /gone/)
  const found = await workers.run('match', { pattern: 'b', text: 'a\nb' }, { ms: 2000 })
  assert.deepEqual(found.ok && [...found.hits], [0, 1])
})

test('people who wait for a thread are not without number, and leave the queue when they go', async (t) => {
  const workers = createWorkers()
  t.after(() => workers.close())
  const leave = new AbortController()
  const endless = { pattern: '(a+)+$', text: `${'a'.repeat(60)}!` }
  const ask = () => workers.run('match', endless, { ms: 60_000, signal: leave.signal })
  const held = Promise.allSettled(Array.from({ length: 202 }, ask))
  await assert.rejects(ask(), (error: unknown) => error instanceof TaskLimitError && error.reason === 'busy')
  leave.abort(new Error('gone'))
  assert.ok((await held).every(({ status }) => status === 'rejected'))
  assert.ok((await workers.run('match', { pattern: 'b', text: 'b' }, { ms: 2000 })).ok)
})

test('the shape of a JSON text is that of what it stands for, brackets in texts left out', () => {
  const shape = (value: unknown) => jsonShape(Buffer.from(JSON.stringify(value)))
  assert.deepEqual(shape({ a: '[[[{,,"', b: [1, 2, [3]] }), { depth: 3, values: 7 })
  assert.deepEqual(shape('\\"['), { depth: 0, values: 1 })
})

/**
 * Runs it, and fails when this thread could do nothing else for long meanwhile: 50 ms on an idle machine. On a busy one, what
 * the same act with harmless input takes now is the measure. The best of five rounds counts: a round may meet a collection
 * of garbage, or a neighbour on the processor.
 */
async function unblocked<Result>(
  what: string,
  act: () => Promise<Result>,
  harmless: () => Promise<unknown>,
): Promise<Result> {
  const blocks: string[] = []
  for (let round = 0; round < 5; round += 1) {
    const usual = await longestTurn(harmless)
    let result: Result | undefined
    const block = await longestTurn(async () => {
      result = await act()
    })
    const allowed = Math.max(50, 3 * usual)
    if (block <= allowed) return result as Result
    blocks.push(`${block.toFixed(0)} of ${allowed.toFixed(0)} ms`)
  }
  throw new Error(`${what}: the event loop stood still for ${blocks.join(', ')}`)
}
