import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, EngineError, stepsOf } from '@stackquay/engine-api'
import { type Accounts, serviceUser } from '../native/accounts.ts'
import { createEvents } from '../native/events.ts'
import { isName, openHome } from '../native/home.ts'
import { usualLogLimits } from '../native/log-retention.ts'
import { type NetworkEnvironment, noNetworkEnvironment } from '../native/network-environment.ts'
import { processTable } from '../native/this-system.ts'
import type { LogLimits } from '../native/tidy-logs.ts'
import { listVolumes } from './all-volumes.ts'
import { applyStep } from './apply.ts'
import { asidesOf, putDataBack, removeAside, setDataAside } from './asides.ts'
import { dockerCapabilities } from './capabilities.ts'
import { connectDocker } from './client.ts'
import { createDockerCommands } from './commands/index.ts'
import { withImages } from './commands/with-image.ts'
import type { Daemon } from './daemon.ts'
import { clearIncoming, dataNames, listData } from './data.ts'
import { readData, writeData } from './data-archives.ts'
import { copyData, copyMethod, freeBytes } from './data-copies.ts'
import { asDockerError, noAnswer } from './errors.ts'
import { isRunning } from './exit.ts'
import { type FoundContainer, listContainers } from './find.ts'
import { PROJECT } from './labels.ts'
import { createDockerLogs } from './logs/index.ts'
import type { DockerMachine } from './machine.ts'
import { observeProject } from './observe.ts'
import { createOwnContainer } from './own-container.ts'
import { portOwner } from './ports.ts'
import { probeDocker } from './probe.ts'
import { createReadings } from './readings.ts'
import type { RegistryCredentials } from './registry-credentials.ts'
import { createStats } from './stats.ts'
import { isRange } from './subnets.ts'
import { createSupervisor } from './supervisor.ts'
import type { DockerTls } from './tls.ts'
import { engineUsage } from './usage.ts'

export interface DockerEngineOptions {
  /** Absolute; what this engine writes down lies in `docker` below it. */
  readonly home: string
  /** As DOCKER_HOST says; null: the usual socket. */
  readonly host: string | null
  /** Tells this installation's objects from another one's on the same daemon. By default made of `home`. */
  readonly instance?: string
  /** The user of workloads whose image has no user of its own: that of their project. */
  readonly accounts?: Accounts
  /** What each workload's logs may hold. */
  readonly logs?: LogLimits
  readonly credentials?: RegistryCredentials
  /** How `host` is spoken to when it is a port: see `dockerTls`. */
  readonly tls?: DockerTls
  /** How programs reach the network: certificates for all, proxies and registries for jobs, builds and commands. */
  readonly network?: NetworkEnvironment
  /** Ranges like "10.200.0.0/13" of which networks get their addresses. By default Docker's pools where it has been given some. */
  readonly subnets?: readonly string[]
  readonly clock?: () => Date
}

/** How long an observation waits for a daemon that accepts questions and answers none. */
const PATIENCE_MS = 15_000

/** Runs workloads as containers. Finds and watches what earlier instances over the same home started. Docker need not be there yet. */
export async function createDockerEngine(options: DockerEngineOptions): Promise<Engine> {
  const events = createEvents()
  const home = await openHome(join(options.home, 'docker'), { enterable: false })
  const now = options.clock ?? (() => new Date())
  const connection = connectDocker(options.host, options.tls)
  const daemon: Daemon = {
    ...connection,
    instance: options.instance ?? home.instance,
    accounts: options.accounts ?? serviceUser,
    home,
    table: processTable(),
    network: options.network ?? noNetworkEnvironment,
    subnets: checkedRanges(options.subnets),
    own: createOwnContainer(connection.docker, connection.isLocal),
    now,
  }
  const closing = new AbortController()
  const logs = createDockerLogs(daemon, options.logs ?? usualLogLimits)
  const commands = createDockerCommands(daemon, closing.signal)
  const adopt = async (found: readonly FoundContainer[]) => {
    for (const one of found) {
      if (isRunning(one.info) && one.description !== null) supervisor.watchRun({ ...one, description: one.description })
    }
    await logs.adopt(found)
    await clearIncomingOnce()
  }
  let isCleared = false
  const clearIncomingOnce = async () => {
    if (isCleared) return
    isCleared = true
    await clearIncoming(daemon)
  }
  const supervisor = createSupervisor(daemon, events.emit, adopt)
  const machine: DockerMachine = {
    daemon,
    logs,
    supervisor,
    credentials: options.credentials ?? (async () => null),
    emit: events.emit,
  }
  const [sample, readings] = [createStats(daemon, supervisor), createReadings(daemon, supervisor)]

  return {
    id: 'docker',
    capabilities: { ...dockerCapabilities, limits: true, imageRollback: true, exec: true, strays: 'none' },
    probe: (signal) => probeDocker(daemon, signal),
    toolchains: async () => [],
    projects: (signal) => asked(signal, (within) => projectsOf(machine, commands, within)),
    observe: (project, signal) => asked(signal, (within) => observeProject(machine, project, within)),
    plan: stepsOf,
    apply: (step, context) => applyStep(machine, step, context),
    watch: (signal) => events.watch(signal, closing.signal),
    logs: (ref, wanted, signal) => logs.logs(ref, wanted, signal),
    logBatches: (ref, wanted, signal) => logs.logBatches(ref, wanted, signal),
    removeLogs: (project) => logs.removeLogs(project),
    stats: (project, signal) => asked(signal, (within) => sample(project, within)),
    readings: (signal) => asked(signal, (within) => readings(within)),
    async address(ref, name) {
      return supervisor.monitor(ref)?.address(name) ?? null
    },
    portOwner: (port, signal) => asked(signal, () => portOwner(daemon, port)),
    dataNames: (project, signal) => asked(signal, () => dataNames(daemon, project)),
    data: (project, signal) => unhurried(signal, () => listData(daemon, project, signal)),
    copyData: (from, to, options, signal) => unhurried(signal, () => copyData(daemon, from, to, options, signal)),
    copyMethod: (project, signal) => unhurried(signal, () => copyMethod(daemon, project, signal)),
    freeBytes: (project, signal) => unhurried(signal, () => freeBytes(daemon, project, signal)),
    readData: (project, name, signal) => readData(daemon, project, name, signal),
    writeData: (project, name, archive, signal) => writeData(daemon, project, name, archive, signal),
    asides: (project, signal) => asked(signal, () => asidesOf(daemon, project)),
    setDataAside: (project, aside, signal) => unhurried(signal, () => setDataAside(daemon, project, aside, signal)),
    putDataBack: (project, aside, signal) => unhurried(signal, () => putDataBack(daemon, project, aside, signal)),
    removeAside: (project, aside, signal) => unhurried(signal, () => removeAside(daemon, project, aside, signal)),
    usage: (signal) => asked(signal, (within) => engineUsage(daemon, within)),
    commands: withImages(commands, machine),
    async close() {
      closing.abort()
      await Promise.all([supervisor.close(), commands.close(), logs.close()])
    },
  }
}

/** A question to Docker: an answer in time, or an error that says that it does not answer. */
async function asked<T>(signal: AbortSignal, ask: (within: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = AbortSignal.timeout(PATIENCE_MS)
  const within = AbortSignal.any([signal, timeout])
  const late = Promise.withResolvers<never>()
  const onAbort = () => late.reject(timeout.aborted && !signal.aborted ? noAnswer(PATIENCE_MS) : signal.reason)
  within.addEventListener('abort', onAbort, { once: true })
  if (within.aborted) onAbort()
  late.promise.catch(() => {})
  try {
    return await Promise.race([ask(within), late.promise])
  } catch (error) {
    throw asDockerError(error, signal)
  } finally {
    within.removeEventListener('abort', onAbort)
  }
}

function checkedRanges(ranges: readonly string[] | undefined): readonly string[] | null {
  const wrong = ranges?.find((range) => !isRange(range))
  if (wrong === undefined) return ranges ?? null
  throw new EngineError('engine_cannot', `${JSON.stringify(wrong)} is no range of addresses for networks.`, {
    hint: 'Use one of at least 64 addresses of IPv4, like "10.200.0.0/13".',
  })
}

async function unhurried<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw asDockerError(error, signal)
  }
}

async function projectsOf(
  { daemon, logs }: DockerMachine,
  commands: { projects(): Promise<readonly string[]> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [containers, volumes, held, records, logged] = await Promise.all([
    listContainers(daemon, undefined, undefined, signal),
    listVolumes(daemon),
    commands.projects(),
    readdir(daemon.home.run),
    logs.projects(),
  ])
  // A network is nothing by itself: it goes with the last container in it.
  const labels = [...containers, ...volumes].flatMap(({ Labels }) => Labels[PROJECT] ?? [])
  const names = [...labels, ...held, ...records, ...logged]
  return [...new Set(names.filter(isName))].sort()
}
