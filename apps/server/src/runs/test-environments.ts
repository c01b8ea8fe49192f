import { serviceTypes } from '@stackquay/catalog'
import {
  type ProjectCommands,
  type ProjectSpec,
  planProject,
  type Resolved,
  type SecretHandle,
} from '@stackquay/domain'
import { type Change, type Engine, EngineError, type SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import { randomText, refuseErrors } from '../projects/prepare.ts'
import type { Resolver, TestEnvironmentPlace } from '../projects/resolver.ts'
import { isTestEnvironment } from '../test-environment-id.ts'
import { createSparePorts } from './spare-ports.ts'

/** Data that exists for one test run: databases and caches like those of the project, made empty for it and gone after it. */
export interface TestEnvironment {
  /** What can be run in the project, with the variables of this data in place of the project's. */
  readonly commands: ProjectCommands
  /** The text of a secret in those commands: of this data, or the person's own. */
  reveal(ref: SecretRef): Promise<string>
  /** Ends and deletes it. Doing so twice is a success. */
  close(): Promise<void>
}

export interface TestEnvironmentRequest {
  /** Id of the run; the engine knows the data by it. */
  readonly run: string
  readonly project: Pick<ProjectRow, 'id' | 'slug' | 'path' | 'spec' | 'engine'>
  readonly signal: AbortSignal
  /** Titles of what is being done: `Start PostgreSQL main`. */
  onPhase(title: string): void
}

/** What is started under an id of its own, on ports that nothing else has. */
export interface BroughtUp<Place extends { readonly resolved: Resolved }> {
  readonly id: string
  /** As it is wanted with these ports and secrets. */
  resolve(place: TestEnvironmentPlace): Promise<Place>
  readonly secret: TestEnvironmentPlace['secret']
  /** Errors that are no reason not to start the rest. */
  ignores?(pointer: string): boolean
  readonly signal: AbortSignal
  onPhase(title: string): void
}

export interface TestEnvironments {
  /** Throws `ProblemError` or `EngineError` when it cannot be made, and leaves nothing then. */
  open(request: TestEnvironmentRequest): Promise<TestEnvironment>
  /**
   * The same for data that is there already under the id, such as a copy that is to be looked at. What could not be started stays until
   * `closeLeft`.
   */
  bringUp<Place extends { readonly resolved: Resolved }>(
    wanted: BroughtUp<Place>,
    revealIn: (place: Place) => (ref: SecretRef) => Promise<string>,
  ): Promise<Place>
  /** Deletes what a run has left whose server was killed. Nothing there is a success. */
  closeLeft(run: string): Promise<void>
  /** Deletes what is left of every run but those that go on. Called once, at the start of the service. */
  sweep(goesOn: (run: string) => boolean): Promise<void>
  /** Ports that the services of runs have now. */
  ports(): readonly { readonly run: string; readonly port: number }[]
}

export interface TestEnvironmentDeps {
  readonly store: Pick<Store, 'ports'>
  readonly resolver: Pick<Resolver, 'inTestEnvironment'>
  readonly engine: Engine
  readonly config: Config
  reveal(ref: SecretRef): Promise<string>
}

/**
 * The project is resolved a second time, as another one: the same specification, with ports and secrets that nothing else
 * has. The engine knows that one by the run's id, so that neither it nor the tests can reach the data of development.
 */
export function createTestEnvironments({
  store,
  resolver,
  engine,
  config,
  reveal,
}: TestEnvironmentDeps): TestEnvironments {
  const ports = createSparePorts({ store, engine, config })

  const open: TestEnvironments['open'] = async ({ run, project, onPhase, ...request }) => {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(openingMs)])
    const secrets = createSecrets(run)
    const close = async () => {
      await closeLeft(run)
      ports.release(run)
    }
    const resolve = (place: TestEnvironmentPlace) => resolver.inTestEnvironment(project, place)
    const ignores = (pointer: string) => isElsewhere(project.spec, pointer)
    // A person may keep the whole address of a database as a secret.
    const revealIn = ({ ledAway }: Awaited<ReturnType<typeof resolve>>) => {
      return (ref: SecretRef) => secrets.find(ref) ?? reveal(ref).then(ledAway)
    }
    try {
      const wanted = { id: run, resolve, secret: secrets.handle, ignores, signal, onPhase }
      const place = await bringUp(wanted, revealIn)
      return { commands: place.commands, close, reveal: revealIn(place) }
    } catch (error) {
      // What cannot be deleted now is deleted by the next start; the reason of the failure is what counts.
      await close().catch(() => undefined)
      throw error
    }
  }

  const bringUp: TestEnvironments['bringUp'] = async (wanted, revealIn) => {
    const { id, ignores = () => false, signal, onPhase } = wanted
    for (let attempt = 1; ; attempt += 1) {
      const place = await resolveFor(wanted)
      try {
        refuseErrors(place.resolved.errors.filter(({ pointer }) => !ignores(pointer)))
        await start(id, place.resolved, { onPhase, signal, reveal: revealIn(place) })
        return place
      } catch (error) {
        // Somebody took a port between the look and the start: others are chosen.
        if (!isPortInUse(error) || attempt === 3) throw error
        ports.release(id)
      }
    }
  }

  const resolveFor = async <Place extends { readonly resolved: Resolved }>({
    id: run,
    resolve,
    secret,
    signal,
  }: BroughtUp<Place>): Promise<Place> => {
    const leases = new Map<string, number>()
    const lease = (workload: string, port: string) => leases.get(`${workload} ${port}`) ?? null
    const again = () => resolve({ id: run, lease, secret })
    let place = await again()
    // More than once: a kind may ask for a port only when it knows another.
    for (let round = 0; round < 3; round += 1) {
      const { missingLeases } = place.resolved
      if (missingLeases.length === 0) break
      const found = await ports.take(run, missingLeases.length, signal)
      for (const [index, { workload, port }] of missingLeases.entries())
        leases.set(`${workload} ${port}`, found[index]!)
      place = await again()
    }
    return place
  }

  const start = async (
    run: string,
    resolved: Resolved,
    context: Pick<TestEnvironmentRequest, 'signal' | 'onPhase'> & Pick<TestEnvironmentDeps, 'reveal'>,
  ) => {
    const { onPhase, signal } = context
    if (resolved.workloads.length === 0) return
    const { changes } = planProject({
      wanted: resolved.workloads,
      observed: await engine.observe(run, signal),
      goal: 'running',
    })
    const failed = new AbortController()
    const applying = { ...context, signal: AbortSignal.any([signal, failed.signal]), output: () => undefined }
    const begun = changes.map(async (change) => {
      try {
        for (const step of engine.plan(change)) {
          onPhase(step.title)
          await engine.apply(step, applying)
        }
      } catch (error) {
        // The first reason is the one to tell; the others are ended before anything is taken down.
        if (!failed.signal.aborted) failed.abort(error)
        throw error
      }
    })
    await Promise.allSettled(begun)
    signal.throwIfAborted()
    if (failed.signal.aborted) throw failed.signal.reason
  }

  const closeLeft = async (run: string) => {
    const signal = AbortSignal.timeout(closingMs)
    const apply = async (change: Change) => {
      for (const step of engine.plan(change)) {
        await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
      }
    }
    const observed = await engine.observe(run, signal)
    const data = await engine.dataNames(run, signal)
    // A job that was cut off may run on for a workload that was never started; its data has the workload's name.
    const unseen = data.filter((name) => !observed.some(({ ref }) => ref.workload === name))
    for (const change of planProject({ wanted: [], observed, goal: 'stopped' }).changes) await apply(change)
    for (const workload of unseen)
      await apply({ type: 'remove', ref: { project: run, workload }, title: workload, stop: quickly })
    for (const name of data) await apply({ type: 'deleteData', project: run, data: name })
    await engine.removeLogs(run, signal)
    ports.release(run)
  }
  const keepPorts = async (run: string) => {
    const observed = await engine.observe(run, AbortSignal.timeout(closingMs))
    ports.keep(
      run,
      observed.flatMap((one) => one.ports.map(({ hostPort }) => hostPort)),
    )
  }

  return {
    open,
    bringUp,
    closeLeft,
    ports: () => ports.all().map(({ holder, port }) => ({ run: holder, port })),
    sweep: async (goesOn) => {
      const runs = (await engine.projects(AbortSignal.timeout(closingMs))).filter(isTestEnvironment)
      const ended = await Promise.allSettled(runs.map((run) => (goesOn(run) ? keepPorts(run) : closeLeft(run))))
      const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      if (failures.length > 0) throw new AggregateError(failures, 'Data that test runs left could not be deleted.')
    },
  }
}

/**
 * Whether a blocker is that of a service which somebody else runs for development. Its program need not be on this machine:
 * its variables then lead to a port on which nothing listens.
 */
function isElsewhere(spec: ProjectSpec, pointer: string): boolean {
  return serviceTypes.some(({ name, runsHere }) => {
    const settings = spec.services[name]
    return pointer.startsWith(`/${name}/`) && settings !== undefined && runsHere?.(settings) === false
  })
}

/** Secrets of one run, in memory alone: nothing of them is stored, and nothing of it is left after a crash. */
interface RunSecrets {
  /** Makes the secret when it is first asked for. */
  handle(name: string, length: number): SecretHandle
  /** Undefined when it is not one of these. */
  find(ref: SecretRef): Promise<string> | undefined
}

function createSecrets(run: string): RunSecrets {
  const texts = new Map<string, string>()
  return {
    handle: (name, length) => {
      const secret = `${run}/${name}`
      if (!texts.has(secret)) texts.set(secret, randomText(length))
      return { secret, version: 1 }
    },
    find: ({ secret }) => {
      const text = texts.get(secret)
      return text === undefined ? undefined : Promise.resolve(text)
    },
  }
}

function isPortInUse(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'port_in_use'
}

const quickly = { signal: 'SIGTERM', deadlineSeconds: 5 } as const
const openingMs = 10 * 60_000
const closingMs = 2 * 60_000
