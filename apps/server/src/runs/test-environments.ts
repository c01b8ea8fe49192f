import { serviceTypes } from '@stackquay/catalog'
import type { ProjectCommands, ProjectSpec, Resolved } from '@stackquay/domain'
import { type Engine, EngineError, type SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import { refuseErrors } from '../projects/prepare.ts'
import type { Resolver, TestEnvironmentPlace } from '../projects/resolver.ts'
import { isTestEnvironment } from '../test-environment-id.ts'
import { createRunSecrets } from './run-secrets.ts'
import { deleteServices, startServices } from './run-services.ts'
import { createSparePorts, type HeldPorts, type SparePorts } from './spare-ports.ts'

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
}

export interface TestEnvironmentDeps {
  readonly store: Pick<Store, 'ports'>
  readonly resolver: Pick<Resolver, 'inTestEnvironment'>
  readonly engine: Engine
  readonly config: Config
  /** Ports that the services of runs have. */
  readonly held: HeldPorts
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
  held,
  reveal,
}: TestEnvironmentDeps): TestEnvironments {
  const ports = createSparePorts({ store, engine, config, held })

  const open: TestEnvironments['open'] = async ({ run, project, onPhase, ...request }) => {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(openingMs)])
    const secrets = createRunSecrets(run)
    const close = () => closeLeft(run)
    const resolve = (place: TestEnvironmentPlace) => resolver.inTestEnvironment(project, place)
    const ignores = (pointer: string) => isElsewhere(project.spec, pointer)
    // A person may keep the whole address of a database as a secret.
    const revealIn = ({ ledAway }: Awaited<ReturnType<typeof resolve>>) => {
      return (ref: SecretRef) => secrets.find(ref) ?? reveal(ref).then(ledAway)
    }
    try {
      const wanted = { id: run, resolve, secret: secrets.handle, ignores, signal, onPhase }
      const place = await bringUp(wanted, engine, ports, revealIn)
      return { commands: place.commands, close, reveal: revealIn(place) }
    } catch (error) {
      // What cannot be deleted now is deleted by the next start; the reason of the failure is what counts.
      await close().catch(() => undefined)
      throw error
    }
  }

  const closeLeft = async (run: string) => {
    await deleteServices(run, engine, AbortSignal.timeout(closingMs))
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
    bringUp: (wanted, revealIn) => bringUp(wanted, engine, ports, revealIn),
    closeLeft,
    sweep: async (goesOn) => {
      const runs = (await engine.projects(AbortSignal.timeout(closingMs))).filter(isTestEnvironment)
      const ended = await Promise.allSettled(runs.map((run) => (goesOn(run) ? keepPorts(run) : closeLeft(run))))
      const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      if (failures.length > 0) throw new AggregateError(failures, 'Data that test runs left could not be deleted.')
    },
  }
}

async function bringUp<Place extends { readonly resolved: Resolved }>(
  wanted: BroughtUp<Place>,
  engine: Engine,
  ports: SparePorts,
  revealIn: (place: Place) => (ref: SecretRef) => Promise<string>,
): Promise<Place> {
  const { id, ignores = () => false, signal, onPhase } = wanted
  for (let attempt = 1; ; attempt += 1) {
    const place = await resolveWith(wanted, ports)
    try {
      refuseErrors(place.resolved.errors.filter(({ pointer }) => !ignores(pointer)))
      await startServices(id, place.resolved, engine, { onPhase, signal, reveal: revealIn(place) })
      return place
    } catch (error) {
      // Somebody took a port between the look and the start: others are chosen.
      if (!isPortInUse(error) || attempt === 3) throw error
      ports.release(id)
    }
  }
}

async function resolveWith<Place extends { readonly resolved: Resolved }>(
  { id, resolve, secret, signal }: BroughtUp<Place>,
  ports: SparePorts,
): Promise<Place> {
  const leases = new Map<string, number>()
  const lease = (workload: string, port: string) => leases.get(`${workload} ${port}`) ?? null
  let place = await resolve({ id, lease, secret })
  // More than once: a kind may ask for a port only when it knows another.
  for (let round = 0; round < 3; round += 1) {
    const { missingLeases } = place.resolved
    if (missingLeases.length === 0) break
    const found = await ports.take(id, missingLeases.length, signal)
    for (const [index, { workload, port }] of missingLeases.entries()) leases.set(`${workload} ${port}`, found[index]!)
    place = await resolve({ id, lease, secret })
  }
  return place
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

function isPortInUse(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'port_in_use'
}

const openingMs = 10 * 60_000
const closingMs = 2 * 60_000
