import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ApplyContext,
  type Engine,
  EngineError,
  type EngineEvent,
  type EngineId,
  fingerprintOf,
  type PortHolder,
  type Workload,
} from '@stackquay/engine-api'
import { createFakeEngine } from '@stackquay/engine-api/fake-engine'
import { createEngines } from '../src/engines.ts'

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
  return { ...engine, id, capabilities: { ...engine.capabilities, images } }
}

function workload(project: string, inContainer: boolean): Workload {
  const run = { kind: 'process', argv: ['/fake/hang'], cwd: '/' } as const
  const draft: Omit<Workload, 'fingerprint'> = {
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
  return { ...draft, fingerprint: fingerprintOf(draft) }
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

test('a project that nobody knows is looked for in every engine that answers', async () => {
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
  let answer: () => Promise<PortHolder | null> = async () => ({ ...proxy, ref })
  const engines = createEngines({
    engines: [
      { ...docker, portHolder: () => answer() },
      { ...native, portHolder: async (port) => (port === 80 ? proxy : null) },
    ],
    engineOf: async () => null,
  })
  assert.deepEqual(await engines.portHolder(80, never), { ...proxy, ref })
  assert.equal(await engines.portHolder(81, never), null)
  answer = () => Promise.reject(new EngineError('engine_unavailable', 'Docker does not answer.', { hint: 'Wait.' }))
  assert.deepEqual(await engines.portHolder(80, never), proxy)
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

test('watching breaks off when one engine does, so that whoever follows begins anew', async () => {
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
