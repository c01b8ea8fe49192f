import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readBytes } from '../src/commands/limits/bytes.ts'
import { memoryText } from '../src/output/memory-text.ts'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, project, standIn, step } from './stand-in.ts'

const ended = operation({ state: 'succeeded', steps: [step('pull', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const since = '2026-01-01T00:00:00.000Z'
const items = [
  {
    workload: 'postgresql-main',
    title: 'PostgreSQL main',
    reference: 'postgres:18',
    pinned: true,
    current: { id: `sha256:${'a'.repeat(64)}`, digest: null, since },
    previous: { id: `sha256:${'b'.repeat(64)}`, digest: null, since },
  },
  { workload: 'node', title: 'Node.js', reference: 'node:26', pinned: false, current: null, previous: null },
]

test('against a stand-in: images lists builds as Docker shows them, of all workloads or of one', async () => {
  await using service = await standIn({ 'GET /projects/shop/images': () => ({ items }) })
  const { stdout } = await stq(['images', 'shop'], { url: service.url })
  assert.match(stdout, /^WORKLOAD +IMAGE +BUILD +SINCE +BEFORE +STAYS\n/)
  assert.match(stdout, /\npostgresql-main +postgres:18 +a{12} +.+ +b{12} +yes\n/)
  assert.match(stdout, /\nnode +node:26 +- +- +- +no\n$/)
  const one = await stq(['images', 'shop', 'node', '--json'], { url: service.url })
  assert.deepEqual(JSON.parse(one.stdout), { items: [items[1]] })
})

test('against a stand-in: images --use asks for a build of one workload and waits', async () => {
  await using service = await standIn({
    'POST /projects/shop/images': ({ query }) =>
      query.get('dryRun') === 'true'
        ? { plan: { ...emptyPlan, steps: [{ title: 'Get the image', workload: 'node', because: [] }] } }
        : operation(),
    'GET /operations/op_1': () => ended,
  })
  const args = ['images', 'shop', 'node', '--use', 'previous']
  const { code, stderr } = await stq(args, { url: service.url })
  assert.deepEqual([code, stderr], [0, '✔ Do pull 3.2 s\n✔ shop/node runs from the previous build\n'])
  assert.deepEqual(service.calls[0]!.body, { workload: 'node', use: 'previous' })
  assert.match((await stq([...args, '--dry-run'], { url: service.url })).stdout, /Get the image/)

  for (const wrong of [
    ['images', 'shop', 'node', '--use', 'newest'],
    ['images', 'shop', '--use', 'previous'],
  ])
    assert.equal((await stq(wrong, { url: service.url })).code, 2, wrong.join(' '))
})

test('against a stand-in: start and restart take newer images only when told, and stop knows no such thing', async () => {
  await using service = await standIn({
    'POST /projects/shop/restart': () => operation(),
    'POST /projects/shop/start': () => operation(),
    'GET /operations/op_1': () => ended,
    'GET /projects/shop': () => project(),
  })
  await stq(['restart', 'shop', '--newer-images', '-w', 'node'], { url: service.url })
  await stq(['start', 'shop', '--newer-images'], { url: service.url })
  await stq(['restart', 'shop'], { url: service.url })
  const bodies = service.calls.filter(({ method }) => method === 'POST').map(({ body }) => body)
  assert.deepEqual(bodies, [{ workload: 'node', newerImages: true }, { newerImages: true }, null])
  assert.equal((await stq(['stop', 'shop', '--newer-images'], { url: service.url })).code, 2)
})

test('against a stand-in: limits are set for all workloads or for one, shown, and taken away with "none"', async () => {
  const limits = { cpus: 1.5, memoryBytes: 2 ** 30, pids: null, workloads: { node: { pids: 64 } } }
  await using service = await standIn({
    'PATCH /projects/shop': () => project({ limits }),
    'GET /projects/shop': () => project({ limits }),
  })
  await stq(['limits', 'set', 'shop', '--cpus', '1.5', '--memory', '1G', '--pids', 'none'], { url: service.url })
  await stq(['limits', 'set', 'shop', '-w', 'node', '--pids', '64'], { url: service.url })
  assert.deepEqual(
    service.calls.map(({ body }) => body),
    [{ limits: { cpus: 1.5, memoryBytes: 2 ** 30, pids: null } }, { limits: { workloads: { node: { pids: 64 } } } }],
  )
  const { stdout } = await stq(['limits', 'shop'], { url: service.url })
  assert.match(stdout, /^WORKLOAD +CPUS +MEMORY +PROCESSES\neach +1\.5 +1 GiB +-\nnode +- +- +64\n$/)
  for (const wrong of [[], ['--cpus', 'two'], ['--memory', '1 apple'], ['--pids', '1.5']])
    assert.equal((await stq(['limits', 'set', 'shop', ...wrong], { url: service.url })).code, 2, wrong.join(' '))
})

test('amounts of memory are read in steps of 1024 and told as they are read', () => {
  const amounts: readonly (readonly [string, number])[] = [
    ['1024', 1024],
    ['512M', 2 ** 29],
    ['1.5g', 1.5 * 2 ** 30],
    ['2GiB', 2 ** 31],
    ['64 kb', 65_536],
  ]
  for (const [text, bytes] of amounts) {
    assert.equal(readBytes(text), bytes, text)
    assert.equal(readBytes(memoryText(bytes)), bytes, text)
  }
  assert.equal(memoryText(6_291_457), '6291457')
})

test('against a stand-in: create names the engine, and refuses one that there is not', async () => {
  await using service = await standIn({
    'POST /projects': () => project({ engine: 'docker' }),
    'GET /projects/prj_1': () => project({ engine: 'docker' }),
  })
  await stq(['create', 'Shop', '--engine', 'docker'], { url: service.url })
  assert.deepEqual(service.calls[0]!.body, { name: 'Shop', engine: 'docker' })
  assert.equal((await stq(['create', 'Shop', '--engine', 'podman'], { url: service.url })).code, 2)
})

test('against a stand-in: diagnostics tell what of the service is on an engine', async () => {
  const usage = [
    { what: 'containers', count: 3, sizeBytes: null },
    { what: 'images', count: 2, sizeBytes: 1_200_000_000 },
  ]
  const engine = { id: 'docker', usual: true, projects: 1, ready: true, detail: 'Docker 29.', hint: null, usage }
  const check = {
    id: 'engine',
    category: 'engine',
    title: 'Engine',
    status: 'ok',
    detail: 'Docker 29.',
    hint: null,
    fix: null,
  }
  await using service = await standIn({
    'GET /system/diagnostics': () => ({ status: 'ok', version: '1', checks: [check], engines: [engine], orphans: [] }),
  })
  const { stdout } = await stq(['diagnostics'], { url: service.url })
  assert.match(stdout, /\n {2}docker: 1 project, 3 containers, 2 images \(1\.2 GB\)\n$/)
})
