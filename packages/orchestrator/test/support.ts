import { fingerprintOf, type Job, type Workload, type WorkloadRef } from '@stackquay/engine-api'
import { createFakeEngine, type FakeEngine } from '@stackquay/engine-api/fake-engine'
import { createObservations, type Observations } from '../src/observations.ts'
import { createProjectQueues, type ProjectQueues } from '../src/project-queues.ts'
import { createSupervisor, type Supervisor } from '../src/supervisor.ts'
import { createWatches, type Watches } from '../src/watches.ts'

export const project = 'prj_1'

export function workload(name: string, more: Partial<Workload> = {}): Workload {
  const rest: Omit<Workload, 'fingerprint'> = {
    ref: { project, workload: name },
    title: name,
    run: { kind: 'process', argv: ['/bin/serve', name], cwd: '/srv' },
    env: {},
    data: [],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    dependsOn: [],
    ...more,
  }
  return { ...rest, fingerprint: fingerprintOf(rest) }
}

export const job = (name: string): Job => ({
  name,
  title: name,
  argv: ['/bin/do', name],
  cwd: '/srv',
  env: {},
  timeoutSeconds: 5,
  inputs: [],
})

/** Asks until it is true; fails with what it waited for. Needs no timers, which a test may have stopped. */
export async function until(what: string, ask: () => boolean, ms = 3_000): Promise<void> {
  const end = performance.now() + ms
  while (!ask()) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Lets everything that can go on without waiting go on. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

export interface Supervised {
  readonly engine: FakeEngine
  readonly queues: ProjectQueues
  readonly observations: Observations
  readonly supervisor: Supervisor
  readonly watches: Watches
  /** What is wanted; take one out and it is not to run any more. */
  readonly wanted: Map<string, Workload>
  readonly errors: unknown[]
  /** Milliseconds that the supervisor's clock is ahead. */
  readonly clock: { ahead: number }
  /** Called when something about the supervision changed. */
  readonly onChange: Set<() => void>
  start(one: Workload): Promise<void>
  state(name: string): string | undefined
  /** Titles of steps that began since the last call, without waits for readiness. */
  done(): readonly string[]
}

/** A supervisor over a fake engine, which hears the engine's events as they come. */
export async function withSupervisor(work: (all: Supervised) => Promise<void>): Promise<void> {
  const engine = createFakeEngine()
  const life = new AbortController()
  const queues = createProjectQueues()
  const observations = createObservations(engine, life.signal)
  const wanted = new Map<string, Workload>()
  const errors: unknown[] = []
  const clock = { ahead: 0 }
  const onChange = new Set<() => void>()
  let told = 0
  const watches = createWatches()
  watches.onChange(() => {
    for (const listener of onChange) listener()
  })
  const supervisor = createSupervisor({
    engine,
    queues,
    observations,
    watches,
    reveal: async () => '',
    wanted: async (ref: WorkloadRef) => wanted.get(ref.workload) ?? null,
    onError: (error) => errors.push(error),
    now: () => Date.now() + clock.ahead,
    signal: life.signal,
  })
  const context = { signal: life.signal, output: () => undefined, reveal: async () => '' }
  const watching = (async () => {
    for await (const event of engine.watch(life.signal))
      if ('ref' in event) supervisor.handle(event).catch((error: unknown) => errors.push(error))
  })()
  try {
    await work({
      engine,
      queues,
      observations,
      supervisor,
      watches,
      wanted,
      errors,
      clock,
      onChange,
      start: async (one) => {
        wanted.set(one.ref.workload, one)
        for (const step of engine.plan({ type: 'start', workload: one })) await engine.apply(step, context)
        await observations.refresh(project)
        await quiet()
        told = engine.applied.length
      },
      state: (name) => engine.machine.workloads.get(`${project}/${name}`)?.state,
      done: () => {
        const steps = engine.applied.slice(told).map(({ step }) => step.id)
        told = engine.applied.length
        return steps.filter((id) => !id.startsWith('ready:'))
      },
    })
  } finally {
    life.abort()
    await queues.allFree()
    await engine.close()
    await watching
  }
}
