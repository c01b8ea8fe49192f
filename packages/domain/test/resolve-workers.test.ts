import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypeOf, type Settings } from '@stackquay/catalog'
import { programPresets } from '../src/program-presets.ts'
import { resolveCommands } from '../src/resolve-commands.ts'
import type { ResolveFacts } from '../src/resolve-facts.ts'
import { resolveProject } from '../src/resolve-project.ts'
import { emptySpec, type ProjectSpec, type WorkerSpec } from '../src/spec.ts'

const facts: ResolveFacts = {
  project: {
    id: 'prj_1',
    slug: 'shop',
    url: 'http://shop.localhost:8780',
    path: '/srv/shop',
    toolsPath: '/tools/prj_1',
  },
  source: { 'package.json': '{"scripts":{"dev":"vite"},"dependencies":{"vite":"7"}}' },
  toolchain: (name, line) => ({
    version: `${line}.1`,
    program: `/opt/${name}/bin/${name}`,
    directory: `/opt/${name}/bin`,
  }),
  helpers: () => ({ npm: { version: '12.0.0', program: '/opt/node/bin/npm', directory: '/opt/node/bin' } }),
  lease: (workload, port) => 20_000 + `${workload}/${port}`.length,
  secret: () => ({ secret: 'sec_1', version: 1 }),
  ourProgram: (name) => ({ node: '/opt/node/bin/node', file: `/ours/${name}.js` }),
  publishAddress: '127.0.0.1',
  containers: null,
}
const node = (more: object = {}) =>
  ({ ...runtimeTypeOf('node')!.settings.defaults(), version: '26', port: 3000, ...more }) as Settings
const worker = (more: Partial<WorkerSpec> = {}): WorkerSpec => ({
  command: ['node', 'queue.js'],
  count: 1,
  runtime: null,
  enabled: true,
  ...more,
})
const spec = (more: Partial<ProjectSpec>): ProjectSpec => ({
  ...emptySpec('Shop'),
  runtimes: { node: node() },
  ...more,
})
const workersOf = (one: ProjectSpec, with_: ResolveFacts = facts) => {
  const { workloads, kinds, errors } = resolveProject(one, with_)
  assert.deepEqual(errors, [])
  return workloads.filter(({ ref }) => kinds[ref.workload] === 'worker')
}

test('instances run in the environment of their runtime after its server, and know nothing of its address', () => {
  const redis = { enabled: true, version: '8', exposePort: false, ...{} }
  const [first, second] = workersOf(
    spec({
      workers: { queue: worker({ count: 2 }) },
      env: { GREETING: { secret: false, value: 'hello' }, OTHER: { secret: false, value: 'x', runtimes: ['php'] } },
      services: { memcached: { ...redis, version: '1' } as never },
    }),
  )
  assert.deepEqual([first!.ref.workload, second!.ref.workload], ['queue-1', 'queue-2'])
  assert.deepEqual(first!.run.argv, ['/usr/bin/env', 'node', 'queue.js'])
  assert.equal(first!.run.cwd, '/srv/shop')
  assert.deepEqual([first!.env.GREETING, first!.env.OTHER, first!.env.NODE_ENV], ['hello', undefined, 'development'])
  assert.deepEqual([first!.env.PORT, first!.env.HOST, first!.ports], [undefined, undefined, []])
  assert.deepEqual([first!.dependsOn, first!.setup], [['memcached', 'node'], []])
  assert.deepEqual([first!.health, first!.restart], [{ kind: 'none' }, { kind: 'always' }])
})

test('another count changes no instance that stays; without a server the first one installs', () => {
  const fingerprints = (count: number) =>
    workersOf(spec({ workers: { queue: worker({ count }) } })).map(({ fingerprint }) => fingerprint)
  assert.deepEqual(fingerprints(5).slice(0, 2), fingerprints(2))
  const alone = spec({
    runtimes: { node: node({ server: false }) },
    workers: { queue: worker({ count: 2 }), mail: worker() },
  })
  assert.deepEqual(
    workersOf(alone).map(({ ref, setup, dependsOn }) => [ref.workload, setup.length, dependsOn]),
    [
      ['queue-1', 1, []],
      ['queue-2', 0, ['queue-1']],
      ['mail-1', 0, ['queue-1']],
    ],
  )
})

test('limits of a worker hold for each instance, else those of its runtime; off it is nothing', () => {
  const limits = { cpus: null, memoryBytes: 100, workloads: { queue: { cpus: 2 }, node: { cpus: 1, pids: 50 } } }
  const [queue, mail] = workersOf(spec({ limits, workers: { queue: worker(), mail: worker() } }))
  assert.deepEqual(queue!.run.limits, { cpus: 2, memoryBytes: 100, pids: 50 })
  assert.deepEqual(mail!.run.limits, { cpus: 1, memoryBytes: 100, pids: 50 })
  assert.deepEqual(workersOf(spec({ workers: { queue: worker({ enabled: false }) } })), [])
})

test('in containers each has the image of its runtime', () => {
  const containers = {
    user: '1:1',
    image: (reference: string) => reference,
    ours: (name: string) => ({ folder: `/images/${name}`, tag: `ours/${name}` }),
    pinned: (workload: string) => `pinned-for-${workload}`,
    programs: [],
  }
  const [queue] = workersOf(spec({ workers: { queue: worker() } }), { ...facts, containers })
  assert.equal(queue!.run.container?.image, 'pinned-for-node')
  assert.equal(queue!.env.HOME, '/tools/prj_1')
})

test('without its runtime a worker says so, and a cron job has a reason', () => {
  const off = spec({
    runtimes: { node: node({ enabled: false }) },
    workers: { queue: worker({ runtime: 'node' }) },
    cron: {
      nightly: {
        schedule: '0 3 * * *',
        timezone: 'UTC',
        timeLimit: '1h',
        overlap: 'skip',
        command: ['x y', '|'],
        runtime: 'node',
        enabled: true,
      },
    },
  })
  const { errors, unresolved } = resolveProject(off, facts)
  assert.deepEqual(
    [errors.map(({ pointer, code }) => [pointer, code]), unresolved],
    [[['/workers/queue/runtime', 'no_runtime']], ['queue-1']],
  )
  const [job] = resolveCommands(off, facts).cron
  assert.match(job!.reason ?? '', /node, which is off/)
  assert.equal(job!.label, "'x y' '|'")
})

test('presets are found in the folder of the runtime, and not what the project has', () => {
  const source = {
    'app/package.json': '{"dependencies":{"bullmq":"5"},"scripts":{"worker":"node w.js"}}',
    Procfile: 'web: x\nrelease: y\nclock_1: a | b\nbad-1: z\n',
  }
  const here = spec({ runtimes: { node: node({ package: 'app' }) } })
  assert.deepEqual(
    programPresets(here, source).map(({ name, command }) => [name, command]),
    [['queue', ['npm', 'run', 'worker']]],
  )
  const named = { ...source, Procfile: 'Mail: sh -c "a"\nclock: a | b\n' }
  assert.deepEqual(
    programPresets({ ...here, workers: { queue: worker() } }, named).map(({ name, command }) => [name, command]),
    [
      ['mail', ['sh', '-c', 'a']],
      ['clock', ['sh', '-c', 'a | b']],
    ],
  )
})
