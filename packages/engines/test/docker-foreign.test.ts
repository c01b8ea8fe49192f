import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ApplyContext,
  type Change,
  type Container,
  dataPath,
  type Engine,
  EngineError,
  fingerprintOf,
  type Job,
  type StopPolicy,
  type Workload,
} from '@stackquay/engine-api'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import Dockerode from 'dockerode'
import { createDockerEngine } from '../src/docker/index.ts'

const OPERATIONS = rounds(100, 200)
const FOREIGN = 100
const PROJECTS = ['shop', 'shop-2', 'blog', 'api'] as const
/** In it every name that the engine would use is taken by a foreign object. */
const TAKEN = 'taken'
const WORKLOADS = ['web', 'redis'] as const
const INSTANCE = 'a1b2c3d4e5f6'
const OTHER_INSTANCE = 'a1b2c3d4e5f7'

test('of hundreds of operations nothing of others is touched: not their containers, volumes, networks and images, whatever their names and labels', async () => {
  // Thousands of firewall rules would be made and removed, and nothing here is reached over the network.
  await using lab = await dockerLab({ images: ['redis'], daemonArgs: ['--iptables=false'] })
  const docker = new Dockerode({ socketPath: lab.socketPath })
  await using mine = await installation(lab, INSTANCE)
  await using other = await installation(lab, OTHER_INSTANCE)

  await makeForeign(docker, lab.image('debian'))
  for (const project of PROJECTS)
    await apply(other.engine, { type: 'start', workload: workloadOf(lab, project, 'redis', 0) })
  const before = await everything(docker, isNotMine)
  assert.equal(before.containers.length, FOREIGN + 1 + PROJECTS.length)
  assert.equal(before.volumes.length, FOREIGN + 1 + PROJECTS.length)

  const done = await operate(lab, mine, randomFrom(20_261_122))
  for (const name of ['start', 'stop', 'replace', 'remove', 'job', 'pull', 'deleteData', 'copyData', 'reopen'])
    assert.ok((done.get(name) ?? 0) > 0, `"${name}" succeeded at least once: ${JSON.stringify([...done])}`)
  assert.ok((done.get('refused') ?? 0) > 0, 'names that others hold were refused')
  assert.equal(done.get('succeeded where names are taken'), undefined)
  assertSame(await everything(docker, isNotMine), before)

  await removeAll(mine.engine)
  const left = await everything(docker, (labels) => !isNotMine(labels))
  assert.deepEqual({ ...left, images: [] }, { containers: [], volumes: [], networks: [], images: [] })
  assertSame(await everything(docker, isNotMine), before)
})

/** In each round every project has one operation, all at once; then come those that nothing may be beside. Answers how many there were. */
async function operate(lab: DockerLab, mine: Installation, random: () => number): Promise<ReadonlyMap<string, number>> {
  const done = new Map<string, number>()
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const count = (name: string) => done.set(name, (done.get(name) ?? 0) + 1)
  const projects = [...PROJECTS, TAKEN]
  for (let round = 0; round < OPERATIONS / projects.length; round += 1) {
    const acts = projects.map((project) => {
      const operation = pick(operations)
      const workload = workloadOf(lab, project, pick(WORKLOADS), round)
      const from = pick(PROJECTS)
      return {
        isAlone: operation.isAlone === true,
        act: () => attempt(operation, () => operation.run({ mine, workload, from }), project, count),
      }
    })
    const ends = await Promise.allSettled(acts.filter(({ isAlone }) => !isAlone).map(({ act }) => act()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    for (const { act } of acts.filter(({ isAlone }) => isAlone)) await act()
  }
  return done
}

async function attempt(
  operation: Operation,
  run: () => Promise<void>,
  project: string,
  count: (name: string) => void,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    // Data in use, or already there; and the names that others hold.
    if (error instanceof EngineError && error.code === 'engine_cannot') return count('refused')
    throw new Error(`"${operation.name}" of ${project} failed: ${error}`, { cause: error })
  }
  count(operation.name)
  if (project === TAKEN && operation.makes) count('succeeded where names are taken')
}

interface Operation {
  readonly name: string
  /** It cannot succeed without objects of its own. */
  readonly makes?: true
  /** It concerns two projects, or all. */
  readonly isAlone?: true
  run(context: { readonly mine: Installation; readonly workload: Workload; readonly from: string }): Promise<void>
}

const operations: readonly Operation[] = [
  { name: 'start', makes: true, run: ({ mine, workload }) => apply(mine.engine, { type: 'start', workload }) },
  { name: 'start', makes: true, run: ({ mine, workload }) => apply(mine.engine, { type: 'start', workload }) },
  {
    name: 'replace',
    makes: true,
    run: ({ mine, workload }) => apply(mine.engine, { type: 'replace', workload, because: ['environment'] }),
  },
  { name: 'stop', run: ({ mine, workload }) => apply(mine.engine, { type: 'stop', ...workload }) },
  { name: 'remove', run: ({ mine, workload }) => apply(mine.engine, { type: 'remove', ...workload }) },
  {
    name: 'job',
    makes: true,
    run: ({ mine, workload }) =>
      apply(mine.engine, { type: 'job', ref: workload.ref, job: jobOf(workload), force: true }),
  },
  {
    name: 'pull',
    run: async ({ mine, workload }) => {
      const [pull] = mine.engine.plan({ type: 'start', workload })
      assert.equal(pull?.do, 'pull')
      await mine.engine.apply(pull!, context())
    },
  },
  {
    name: 'deleteData',
    run: async ({ mine, workload }) => {
      const { project, workload: data } = workload.ref
      await apply(mine.engine, { type: 'stop', ...workload })
      await apply(mine.engine, { type: 'deleteData', project, data })
    },
  },
  {
    name: 'copyData',
    isAlone: true,
    run: async ({ mine, workload: { ref }, from }) => {
      const name = ref.workload
      await mine.engine.copyData(
        { project: from, name },
        { project: ref.project, name },
        {},
        AbortSignal.timeout(60_000),
      )
    },
  },
  { name: 'reopen', isAlone: true, run: ({ mine }) => mine.reopen() },
]

interface Installation extends AsyncDisposable {
  readonly engine: Engine
  /** Another engine over the same home, as after a restart. */
  reopen(): Promise<void>
}

async function installation(lab: DockerLab, instance: string): Promise<Installation> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-docker-foreign-'))
  const open = () => createDockerEngine({ home, host: lab.host, instance })
  let engine = await open()
  return {
    get engine() {
      return engine
    },
    async reopen() {
      await engine.close()
      engine = await open()
    },
    async [Symbol.asyncDispose]() {
      await engine.close()
      await rm(home, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

function workloadOf(lab: DockerLab, project: string, name: (typeof WORKLOADS)[number], number: number): Workload {
  const withData = name === 'redis'
  const container: Container = {
    image: withData ? lab.image('redis') : lab.image('debian'),
    build: null,
    user: '999:999',
    network: project,
    folders: [],
    data: withData ? { redis: '/data' } : { web: '/var/kept' },
    limits: { cpus: null, memoryBytes: null, pids: null },
  }
  const workload: Omit<Workload, 'fingerprint'> = {
    ref: { project, workload: name },
    title: name,
    run: {
      kind: 'process',
      argv: ['/bin/sh', '-c', `echo kept > ${dataPath(name)}/file; exec sleep 600`],
      cwd: '/',
      container,
    },
    env: { NUMBER: String(number) },
    data: [{ name }],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 5 },
    dependsOn: [],
  }
  return { ...workload, fingerprint: fingerprintOf(workload) }
}

function jobOf({ run }: Workload): Job {
  return {
    name: 'once-more',
    title: 'A job',
    argv: ['/bin/true'],
    cwd: '/',
    ...(run.container === undefined ? {} : { container: run.container }),
    env: {},
    timeoutSeconds: 60,
    inputs: [],
  }
}

async function apply(engine: Engine, change: Change): Promise<void> {
  for (const step of engine.plan(change)) await engine.apply(step, context())
}

function context(): ApplyContext {
  return { signal: AbortSignal.timeout(120_000), reveal: async () => '', output: () => {} }
}

async function removeAll(engine: Engine): Promise<void> {
  const signal = AbortSignal.timeout(120_000)
  const usual: StopPolicy = { signal: 'SIGTERM', deadlineSeconds: 5 }
  for (const project of await engine.projects(signal)) {
    for (const { ref, title = ref.workload, stop = usual } of await engine.observe(project, signal))
      await apply(engine, { type: 'remove', ref, title, stop })
    for (const data of await engine.dataNames(project, signal))
      await apply(engine, { type: 'deleteData', project, data })
  }
}

/** Names and labels that differ from managed ones in one respect each. */
function disguises(number: number): { readonly name: string; readonly labels: Readonly<Record<string, string>> } {
  const project = PROJECTS[number % PROJECTS.length]!
  const workload = WORKLOADS[number % WORKLOADS.length]!
  const labels = { 'stackquay.project': project, 'stackquay.workload': workload, 'stackquay.data': workload }
  const variants = [
    { name: `stackquay-${INSTANCE}.${project}.${workload}.${number}`, labels: {} },
    {
      name: `stackquay-${INSTANCE}x.${project}.${number}`,
      labels: { ...labels, 'stackquay.instance': `${INSTANCE}x` },
    },
    {
      name: `stackquay-${INSTANCE}-${project}-${number}`,
      labels: { ...labels, 'stackquay.instance': INSTANCE.slice(0, -1) },
    },
    { name: `${project}-${workload}-${number}`, labels: { ...labels } },
    { name: `stackquay-elsewhere.${project}.${number}`, labels: { ...labels, 'stackquay.instance': 'elsewhere' } },
    { name: `plain-${number}`, labels: { 'stackquay.instance': INSTANCE } },
    { name: `upper-${number}`, labels: { ...labels, 'stackquay.instance': INSTANCE.toUpperCase() } },
  ]
  return variants[number % variants.length]!
}

async function makeForeign(docker: Dockerode, image: string): Promise<void> {
  const roles = (role: string, labels: Readonly<Record<string, string>>) =>
    'stackquay.project' in labels ? { ...labels, 'stackquay.role': role } : labels
  const own = (kind: string, ...parts: readonly string[]) => ({
    name: [`stackquay-${INSTANCE}`, TAKEN, ...parts].join('.'),
    labels: { kind },
  })
  const disguised = Array.from({ length: FOREIGN }, (_, number) => disguises(number))
  for (const { name, labels } of [...disguised, own('volume', 'data', 'redis')])
    await docker.createVolume({ Name: name, Labels: roles('volume', labels) })
  for (const { name, labels } of [...disguised, own('network', 'network')])
    await docker.createNetwork({ Name: name, Labels: roles('network', labels) })
  for (const [number, { name, labels }] of [...disguised, own('container', 'web')].entries()) {
    const networkOrVolume = disguised[number % FOREIGN]!.name
    const container = await docker.createContainer({
      name,
      Image: image,
      Labels: roles('workload', labels),
      Cmd: ['sleep', '600'],
      HostConfig: {
        NetworkMode: networkOrVolume,
        Mounts: [{ Type: 'volume', Source: networkOrVolume, Target: '/kept' }],
        Init: true,
      },
    })
    // Some run, some never did, and some have ended.
    if (number % 10 === 0) await container.start()
    if (number % 20 === 0) {
      await container.kill()
      await container.wait()
    }
  }
}

/** All labels of managed objects: nothing else says that an object may be changed. */
function isNotMine(labels: Readonly<Record<string, string>> | null | undefined): boolean {
  return (
    labels?.['stackquay.instance'] !== INSTANCE ||
    labels['stackquay.project'] === undefined ||
    labels['stackquay.role'] === undefined
  )
}

type Everything = Readonly<Record<'containers' | 'volumes' | 'networks' | 'images', readonly string[]>>

/** All that Docker says of them, word for word. Images are shared. */
async function everything(
  docker: Dockerode,
  isWanted: (labels: Record<string, string> | undefined) => boolean,
): Promise<Everything> {
  const texts = async (objects: readonly { inspect(): Promise<unknown> }[]) =>
    (await Promise.all(objects.map(async (object) => JSON.stringify(await object.inspect(), null, 1)))).sort()
  const containers = (await docker.listContainers({ all: true })).filter(({ Labels }) => isWanted(Labels))
  const volumes = ((await docker.listVolumes()).Volumes ?? []).filter(({ Labels }) => isWanted(Labels))
  const networks = (await docker.listNetworks()).filter(({ Labels }) => isWanted(Labels))
  return {
    containers: await texts(containers.map(({ Id }) => docker.getContainer(Id))),
    volumes: await texts(volumes.map(({ Name }) => docker.getVolume(Name))),
    networks: await texts(networks.map(({ Id }) => docker.getNetwork(Id))),
    images: await texts((await docker.listImages()).map(({ Id }) => docker.getImage(Id))),
  }
}

function assertSame(now: Everything, before: Everything): void {
  for (const kind of ['containers', 'volumes', 'networks', 'images'] as const) {
    const gone = before[kind].filter((text) => !now[kind].includes(text))
    const made = now[kind].filter((text) => !before[kind].includes(text))
    assert.deepEqual({ kind, gone, made }, { kind, gone: [], made: [] })
  }
}
