import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ApplyContext,
  type Change,
  type Engine,
  EngineError,
  type EngineEvent,
  type EngineId,
  fingerprintOf,
  type Job,
  type PortOwner,
  type Step,
  type Workload,
} from '@stackquay/engine-api'
import { createFakeEngine, type FakeEngine } from '@stackquay/engine-api/fake-engine'
import { createEngines } from '../src/engines.ts'
import { engineKinds } from '../src/index.ts'

const never = new AbortController().signal
const context: ApplyContext = { signal: never, reveal: async () => '', output: () => undefined }

/** Two machines that know nothing of each other; the second takes containers. */
function twoEngines(names: Readonly<Record<string, EngineId | null>>) {
  const native = as(createFakeEngine(), 'native', false)
  const docker = as(createFakeEngine(), 'docker', true)
  const engines = createEngines({
    engines: [docker, native],
    engineOf: async (project) => names[project] ?? null,
  })
  return { native, docker, engines }
}

function as(engine: Engine, id: EngineId, images: boolean): Engine {
  return { ...engine, id, capabilities: { ...engine.capabilities, images, processes: !images } }
}

const stopPolicy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const

function jobOf(image: string) {
  const limits = { cpus: null, memoryBytes: null, pids: null }
  const container = { image, build: null, user: '1:1', network: 'n', folders: [], data: {}, limits }
  return {
    name: 'job',
    title: 'Install',
    argv: ['/fake/exit', '0'],
    cwd: '/',
    env: {},
    timeoutSeconds: 5,
    inputs: [],
    container,
  } satisfies Job
}

function projectOf(step: Step): string {
  if ('workload' in step) return step.workload.ref.project
  return 'ref' in step ? step.ref.project : step.project
}

function workload(project: string, inContainer: boolean): Workload {
  const run = { kind: 'process', argv: ['/fake/hang'], cwd: '/' } as const
  const spec: Omit<Workload, 'fingerprint'> = {
    ref: { project, workload: 'web' },
    title: 'Web',
    run: inContainer
      ? {
          ...run,
          container: {
            image: 'web:1',
            build: null,
            user: '1:1',
            network: project,
            folders: [],
            data: {},
            limits: { cpus: null, memoryBytes: null, pids: null },
          },
        }
      : run,
    env: {},
    data: [],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'never' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    dependsOn: [],
  }
  return { ...spec, fingerprint: fingerprintOf(spec) }
}

async function start(engine: Engine, wanted: Workload): Promise<void> {
  for (const step of engine.plan({ type: 'start', workload: wanted }))
    if (step.do !== 'pull') await engine.apply(step, context)
}

test('what names a container runs where images run, and all else on the machine', async () => {
  const { native, docker, engines } = twoEngines({ here: 'native', there: 'docker' })
  await start(engines, workload('here', false))
  await start(engines, workload('there', true))
  assert.deepEqual([await native.projects(never), await docker.projects(never)], [['here'], ['there']])
  assert.equal((await engines.observe('here', never)).length, 1)
  assert.equal((await engines.observe('there', never)).length, 1)
  assert.deepEqual(await engines.projects(never), ['here', 'there'])
  await engines.close()
})

test('a step that only names its workload goes to the engine of the project', async () => {
  const { docker, engines } = twoEngines({ there: 'docker' })
  const wanted = workload('there', true)
  await start(engines, wanted)
  for (const step of engines.plan({ type: 'remove', ref: wanted.ref, title: 'Web', stop: wanted.stop }))
    await engines.apply(step, context)
  assert.deepEqual(await docker.observe('there', never), [])
  await engines.close()
})

/** Two that run images, and one of this machine; `cluster` plans and steps are its own. */
function twoOfImages(names: Readonly<Record<string, EngineId | null>>) {
  const machine = createFakeEngine()
  const boxes = createFakeEngine({ images: true })
  const cluster = createFakeEngine({ images: true })
  const rolling = (change: Change) => cluster.plan(change).map((step) => ({ ...step, title: `${step.title}, rolling` }))
  const engines = createEngines({
    engines: [
      as(boxes, 'docker', true),
      as(machine, 'native', false),
      { ...as(cluster, 'cluster', true), plan: rolling },
    ],
    engineOf: async (project) => names[project] ?? null,
  })
  return { machine, boxes, cluster, engines }
}

test('with two engines of images every step and every plan is of the project’s own engine', async () => {
  const all = twoOfImages({ here: 'native', boxed: 'docker', spread: 'cluster' })
  const { machine, boxes, cluster, engines } = all
  const job = { ...jobOf('web:1'), name: 'install' }
  for (const project of ['here', 'boxed', 'spread']) {
    const wanted = workload(project, project !== 'here')
    assert.deepEqual(await engines.observe(project, never), [])
    const { ref, title, stop } = wanted
    const { container, ...bare } = job
    const setup: Job = project === 'here' ? bare : { ...bare, container }
    const changes: readonly Change[] = [
      { type: 'start', workload: wanted },
      { type: 'job', ref, job: setup, force: true },
      { type: 'remove', ref, title, stop },
      { type: 'deleteData', project, data: 'main' },
      { type: 'strays', project, commands: true },
    ]
    for (const step of changes.flatMap((change) => engines.plan(change))) {
      assert.equal(step.title.endsWith(', rolling'), project === 'spread', step.title)
      await engines.apply(step, context)
    }
  }
  const doneBy = ({ applied }: FakeEngine) => applied.map(({ step }) => `${step.do} ${projectOf(step)}`)
  const steps = ['start', 'ready', 'job', 'stop', 'remove', 'deleteData', 'strays']
  const withPulls = ['pull', ...steps.slice(0, 2), 'pull', ...steps.slice(2)]
  assert.deepEqual(
    doneBy(machine),
    steps.map((what) => `${what} here`),
  )
  assert.deepEqual(
    doneBy(boxes),
    withPulls.map((what) => `${what} boxed`),
  )
  assert.deepEqual(
    doneBy(cluster),
    withPulls.map((what) => `${what} spread`),
  )
  await engines.close()
})

test('with two engines of images a command runs on the project’s own, and the program of a share on this machine', async () => {
  const { machine, boxes, cluster, engines } = twoOfImages({ boxed: 'docker', spread: 'cluster' })
  const program = { argv: ['/fake/hang'], cwd: '/', env: {}, data: [] } as const
  const rest = { terminal: null, timeoutSeconds: null, idleSeconds: null, stop: stopPolicy, keepBytes: 1000 } as const
  const { container } = jobOf('web:1')
  for (const project of ['boxed', 'spread']) {
    const ref = { project, id: `run_${project}` }
    await engines.commands.start({ ref, ...program, ...rest, container }, context)
    await engines.commands.start({ ref: { project, id: `share_${project}` }, ...program, ...rest }, context)
  }
  const heldBy = async ({ commands }: Engine) => (await commands.list(never)).map(({ id }) => id).sort()
  assert.deepEqual(await heldBy(boxes), ['run_boxed'])
  assert.deepEqual(await heldBy(cluster), ['run_spread'])
  assert.deepEqual(await heldBy(machine), ['share_boxed', 'share_spread'])
  await engines.close()
})

test('a project of this machine is given no container, though other engines run images', async () => {
  const { boxes, cluster, engines } = twoOfImages({ here: 'native' })
  await engines.observe('here', never)
  const wanted = workload('here', true)
  assert.throws(() => engines.plan({ type: 'start', workload: wanted }), { code: 'engine_cannot' })
  const step: Step = { id: 'start:web', title: 'Start Web', do: 'start', workload: wanted }
  await assert.rejects(engines.apply(step, context), { code: 'engine_cannot' })
  assert.deepEqual([boxes.applied, cluster.applied], [[], []])
  await engines.close()
})

test('an unknown project is looked for in every engine that answers', async () => {
  const { native, docker } = twoEngines({})
  const gone = () => Promise.reject(new EngineError('engine_unavailable', 'Docker does not answer.', { hint: 'Wait.' }))
  const engines = createEngines({
    engines: [{ ...docker, observe: gone, projects: gone }, native],
    engineOf: async () => null,
  })
  await start(engines, workload('orphan', false))
  assert.equal((await engines.observe('orphan', never)).length, 1)
  assert.deepEqual(await engines.projects(never), ['orphan'])
  await engines.close()
})

test('a project whose engine is not here says so, and is not looked for elsewhere', async () => {
  const { engines } = twoEngines({ far: 'swarm' })
  await assert.rejects(engines.observe('far', never), (error: unknown) => {
    assert.ok(error instanceof EngineError)
    assert.deepEqual(
      [error.code, error.message],
      ['engine_unavailable', 'This instance has no engine "swarm", which the project names.'],
    )
    return true
  })
  await engines.close()
})

test('an instance without an engine of images refuses a container', async () => {
  const engines = createEngines({ engines: [as(createFakeEngine(), 'native', false)], engineOf: async () => 'native' })
  assert.throws(() => engines.plan({ type: 'start', workload: workload('here', true) }), EngineError)
  await engines.close()
})

test('a port that a container publishes is held by its workload, not by the program in front of it', async () => {
  const { native, docker } = twoEngines({})
  const proxy = { pid: 7, program: 'docker-proxy', ref: null }
  const ref = { project: 'there', workload: 'web' }
  let answer: () => Promise<PortOwner | null> = async () => ({ ...proxy, ref })
  const engines = createEngines({
    engines: [
      { ...docker, portOwner: () => answer() },
      { ...native, portOwner: async (port) => (port === 80 ? proxy : null) },
    ],
    engineOf: async () => null,
  })
  assert.deepEqual(await engines.portOwner(80, never), { ...proxy, ref })
  assert.equal(await engines.portOwner(81, never), null)
  answer = () => Promise.reject(new EngineError('engine_unavailable', 'Docker does not answer.', { hint: 'Wait.' }))
  assert.deepEqual(await engines.portOwner(80, never), proxy)
  await engines.close()
})

test('events of all engines come together, and end with the signal', async () => {
  const { engines } = twoEngines({ here: 'native', there: 'docker' })
  const stop = new AbortController()
  const seen: EngineEvent[] = []
  const watching = (async () => {
    for await (const event of engines.watch(stop.signal)) {
      seen.push(event)
      if (seen.filter(({ type }) => type === 'started').length === 2) stop.abort()
    }
  })()
  await start(engines, workload('here', false))
  await start(engines, workload('there', true))
  await watching
  const projects = seen.flatMap((event) => ('ref' in event ? [event.ref.project] : []))
  assert.deepEqual([...new Set(projects)].sort(), ['here', 'there'])
  await engines.close()
})

test('watching breaks off when one engine does, so that the follower begins anew', async () => {
  const { native, docker } = twoEngines({})
  const engines = createEngines({
    engines: [
      native,
      {
        ...docker,
        // biome-ignore lint/correctness/useYield: it fails before it has anything to say.
        async *watch() {
          throw new Error('the stream broke')
        },
      },
    ],
    engineOf: async () => null,
  })
  await assert.rejects(Array.fromAsync(engines.watch(never)), /the stream broke/)
  await engines.close()
})

test('what is known of an engine without opening it can be relied on', () => {
  const ids = engineKinds.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const always = engineKinds.filter(({ capabilities }) => !capabilities.mayBeAway)
  assert.deepEqual(
    always.map(({ capabilities, chosenByAuto }) => [capabilities.processes, chosenByAuto]),
    [[true, false]],
    'one is on every instance, and runs what needs no container',
  )
  for (const { id, capabilities } of engineKinds) assert.ok(capabilities.processes !== capabilities.images, id)
})
