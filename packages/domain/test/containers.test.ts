import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypeOf, type ServiceFields, type Settings, serviceTypeOf } from '@stackquay/catalog'
import type { Workload } from '@stackquay/engine-api'
import type { ContainerFacts } from '../src/containers.ts'
import { resolveCommands } from '../src/resolve-commands.ts'
import type { ResolveFacts } from '../src/resolve-facts.ts'
import { resolveProject } from '../src/resolve-project.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'

const containers: ContainerFacts = {
  user: '1234:1234',
  image: (reference) => reference,
  ours: (name, base) => ({ folder: `/images/${name}`, tag: `stackquay/${name}:of-${base.replace(':', '-')}` }),
  pinned: () => null,
  programs: ['/home/programs', '/home/node'],
}

const facts: ResolveFacts = {
  project: {
    id: 'prj_1',
    slug: 'shop',
    url: 'http://shop.localhost:8780',
    path: '/srv/shop',
    toolsPath: '/tools/prj_1',
  },
  source: { 'package.json': '{"scripts":{"dev":"vite","start":"node server.js"}}' },
  toolchain: () => null,
  helpers: () => ({}),
  lease: (workload, port) => 20_000 + `${workload}/${port}`.length,
  secret: () => ({ secret: 'sec_1', version: 1 }),
  ourProgram: (name) => ({ node: '/home/node/node', file: `/home/programs/${name}.ts` }),
  publishAddress: '127.0.0.1',
  containers,
}

const node: Settings = {
  ...runtimeTypeOf('node')!.settings.defaults(),
  version: '26',
  port: 3000,
  preset: 'vite',
} as Settings
const redis = { ...serviceTypeOf('redis')!.settings.defaults(), version: '8.2' } as ServiceFields
const storage = { ...serviceTypeOf('storage')!.settings.defaults(), version: '1' } as ServiceFields
const shop = (more: Partial<ProjectSpec> = {}): ProjectSpec => ({
  ...emptySpec('Shop'),
  runtimes: { node },
  services: { redis, storage },
  databases: { main: { type: 'postgresql', version: '18', exposePort: false } },
  ...more,
})

function workload(name: string, spec = shop(), given = facts): Workload {
  const found = resolveProject(spec, given).workloads.find(({ ref }) => ref.workload === name)
  assert.ok(found !== undefined, `there is no ${name}`)
  return found
}

test('toolchains of the machine count for nothing where images run', () => {
  const { errors, workloads } = resolveProject(shop(), facts)
  assert.deepEqual(errors, [])
  assert.deepEqual(workloads.map(({ ref }) => ref.workload).sort(), ['node', 'postgresql-main', 'redis', 'storage'])
  assert.ok(workloads.every(({ run }) => run.container !== undefined))
})

test('a database sees its data where its image keeps it, and nothing of the machine', () => {
  const { run, ports, setup } = workload('postgresql-main')
  assert.deepEqual(run.container, {
    image: 'postgres:18-bookworm',
    build: null,
    user: 'postgres',
    network: 'prj_1',
    folders: [],
    data: { 'postgresql-main': '/var/lib/postgresql' },
    limits: { cpus: null, memoryBytes: null, pids: null },
  })
  assert.deepEqual(ports, [
    { name: 'postgresql', port: 5432, hostPort: 20_000 + 'postgresql-main/postgresql'.length, bind: '127.0.0.1' },
  ])
  assert.ok(setup.every((job) => job.container?.image === 'postgres:18-bookworm'))
  assert.ok(run.argv.includes('listen_addresses=0.0.0.0'))
})

test('a runtime sees the project, its tools and caches at their own paths, and programs of ours to read', () => {
  const { run, env } = workload('node')
  assert.equal(run.container?.user, '1234:1234')
  assert.deepEqual(run.container?.folders, [
    { path: '/srv/shop', readOnly: false },
    { path: '/tools/prj_1', readOnly: false },
    { path: '/home/programs', readOnly: true },
    { path: '/home/node', readOnly: true },
  ])
  assert.equal(env.HOME, '/tools/prj_1')
  assert.equal(env.PORT, '3000')
})

test('programs of the project find each other by name, at the ports of the images', () => {
  const { env } = workload('node')
  assert.equal(env.DATABASE_HOST, 'postgresql-main')
  assert.equal(env.DATABASE_PORT, '5432')
  assert.equal(env.REDIS_HOST, 'redis')
  assert.equal(env.REDIS_PORT, '6379')
})

test('a service that a program of ours makes gets that program, run by the Node of its image', () => {
  const { run } = workload('storage')
  assert.equal(run.argv[0], '/usr/local/bin/node')
  assert.deepEqual(
    run.container?.folders.map(({ path }) => path),
    containers.programs,
  )
})

test('an image takes the place of that of the catalogue, also below one of ours', () => {
  const mapped: ContainerFacts = { ...containers, image: (reference) => `mirror.example/${reference}` }
  const given = { ...facts, containers: mapped }
  assert.equal(workload('redis', shop(), given).run.container?.image, 'mirror.example/redis:8.2')
  const { build } = workload('node', shop(), given).run.container!
  assert.deepEqual(build, { base: 'mirror.example/node:26-bookworm-slim', folder: '/images/node' })
})

test('a build that a person chose is taken as it is, and makes the workload another one', () => {
  const pinned: ContainerFacts = { ...containers, pinned: (name) => (name === 'node' ? 'sha256:1234' : null) }
  const before = workload('node')
  const after = workload('node', shop(), { ...facts, containers: pinned })
  assert.deepEqual([after.run.container?.image, after.run.container?.build], ['sha256:1234', null])
  assert.notEqual(after.fingerprint, before.fingerprint)
})

test('limits of the project hold for each workload, unless it has its own', () => {
  const limits = { cpus: 1, memoryBytes: 512, pids: 100, workloads: { redis: { memoryBytes: 64 } } }
  const spec = shop({ limits })
  assert.deepEqual(workload('node', spec).run.container?.limits, { cpus: 1, memoryBytes: 512, pids: 100 })
  assert.deepEqual(workload('redis', spec).run.container?.limits, { cpus: 1, memoryBytes: 64, pids: 100 })
})

test('commands run in the image of their runtime, and a project without one has a small image with a shell', () => {
  const { environments } = resolveCommands(shop(), facts)
  assert.deepEqual(
    environments.map(({ name, reason, container }) => [name, reason, container?.network]),
    [['node', null, 'prj_1']],
  )
  assert.ok(environments[0]?.setup.every((job) => job.container !== undefined))
  const [project] = resolveCommands(shop({ runtimes: {} }), facts).environments
  assert.equal(project?.name, 'project')
  assert.match(project?.container?.image ?? '', /^node:/)
})

test('data of a test run stands in a network of its own, where the same names lead to it', () => {
  const inTests: ResolveFacts = {
    ...facts,
    project: { ...facts.project, id: 'run_1' },
    testEnvironment: { leaseOfProject: facts.lease },
  }
  const [environment] = resolveCommands(shop(), inTests).environments
  assert.equal(environment?.container?.network, 'run_1')
  assert.deepEqual(environment?.container?.folders[0], { path: '/srv/shop', readOnly: false })
  assert.equal(workload('postgresql-main', shop(), inTests).run.container?.network, 'run_1')
  assert.equal(environment?.env.DATABASE_HOST, 'postgresql-main')
})

const here: ResolveFacts = {
  ...facts,
  containers: null,
  toolchain: (name, line) => ({ version: line, program: `/opt/${name}/bin/${name}`, directory: `/opt/${name}/bin` }),
}

test('programs of this machine have the limits of their workload, with their jobs and what people run', () => {
  const limits = { cpus: 1, memoryBytes: 512, pids: null, workloads: { redis: { memoryBytes: 64 } } }
  const spec = shop({ limits })
  const ofNode = { cpus: 1, memoryBytes: 512, pids: null }
  assert.deepEqual(workload('node', spec, here).run.limits, ofNode)
  assert.deepEqual(workload('redis', spec, here).run.limits, { cpus: 1, memoryBytes: 64, pids: null })
  assert.deepEqual(workload('postgresql-main', spec, here).run.limits, ofNode)
  const jobs = workload('postgresql-main', spec, here).setup
  assert.ok(jobs.length > 0)
  for (const job of jobs) assert.deepEqual(job.limits, ofNode, job.name)
  const { environments } = resolveCommands(spec, here)
  for (const environment of environments) {
    assert.deepEqual(environment.limits, ofNode)
    for (const job of environment.setup) assert.deepEqual(job.limits, ofNode)
  }
})

test('without limits a program of this machine is what it was before there were any', () => {
  for (const limits of [
    null,
    { cpus: null, memoryBytes: null },
    { cpus: null, memoryBytes: null, workloads: { redis: {} } },
  ]) {
    for (const name of ['node', 'redis', 'postgresql-main']) {
      const found = workload(name, shop({ limits }), here)
      assert.ok(!('limits' in found.run), name)
      for (const job of found.setup) assert.ok(!('limits' in job), job.name)
      assert.equal(found.fingerprint, workload(name, shop(), here).fingerprint)
    }
    for (const environment of resolveCommands(shop({ limits }), here).environments)
      assert.ok(!('limits' in environment))
  }
  const own = { cpus: null, memoryBytes: null, workloads: { redis: { pids: 9 } } }
  assert.equal(workload('node', shop({ limits: own }), here).fingerprint, workload('node', shop(), here).fingerprint)
  assert.notEqual(
    workload('redis', shop({ limits: own }), here).fingerprint,
    workload('redis', shop(), here).fingerprint,
  )
})
