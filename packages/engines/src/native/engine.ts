import { readdir } from 'node:fs/promises'
import { type Capabilities, type Engine, stepsOf } from '@stackquay/engine-api'
import type { Accounts } from './accounts.ts'
import { addressOf } from './address.ts'
import { applyStep } from './apply.ts'
import { asidesOf, putDataBack, removeAside, setDataAside } from './asides.ts'
import type { BundledProgram } from './bundled.ts'
import { nativeCapabilities } from './capabilities.ts'
import { endOrphanedExecs } from './commands/exec.ts'
import { createNativeCommands } from './commands/native-host.ts'
import { clearTrash, dataNames, listData } from './data.ts'
import { readData, writeData } from './data-archives.ts'
import { copyData, copyMethod, freeBytes } from './data-copies.ts'
import { asEngineError } from './errors.ts'
import { createEvents } from './events.ts'
import { isName, openHome } from './home.ts'
import { createConfiner } from './isolation/confine.ts'
import { whyNoLimits } from './isolation/control-groups.ts'
import { type Isolation, noIsolation } from './isolation/isolation.ts'
import { createLogKeeper, usualLogLimits } from './log-retention.ts'
import type { Machine } from './machine.ts'
import { isCommandUnit } from './marker.ts'
import { type NetworkEnvironment, noNetworkEnvironment } from './network-environment.ts'
import { observeProject } from './observe.ts'
import { conflicts, portOwner } from './ports.ts'
import { probeMachine } from './probe.ts'
import { projectsOf } from './projects-of.ts'
import { createReadings } from './readings.ts'
import { removeLogs } from './remove.ts'
import { createStats } from './stats.ts'
import { createSupervisor } from './supervisor.ts'
import { processTable } from './this-system.ts'
import type { LogLimits } from './tidy-logs.ts'
import { createToolchains } from './toolchains.ts'
import { createWorkloadLogs } from './workload-logs.ts'

export interface NativeEngineOptions {
  /** Absolute; everything of the engine lies below it. */
  readonly home: string
  /** The user of each project's programs. */
  readonly accounts: Accounts
  /** What keeps projects apart beside their users; nothing unless given. */
  readonly isolation?: Isolation
  /** Programs that came with this installation. */
  readonly bundled: readonly BundledProgram[]
  /** How installers reach the network; nothing is passed on unless given. */
  readonly network?: NetworkEnvironment
  readonly clock?: () => Date
  /** What each workload's logs may hold. */
  readonly logs?: LogLimits
}

const TIDY_EVERY_MS = 60 * 60 * 1000

/** Runs workloads as processes of this machine. Finds and watches what earlier instances over the same home started. */
export async function createNativeEngine(options: NativeEngineOptions): Promise<Engine> {
  const { accounts, isolation = noIsolation } = options
  const home = await openHome(options.home, { enterable: accounts.shared !== null })
  const events = createEvents()
  const now = options.clock ?? (() => new Date())
  const machine: Machine = {
    home,
    accounts,
    isolation,
    confiner: createConfiner(home, accounts, isolation),
    network: options.network ?? noNetworkEnvironment,
    table: processTable(),
    now,
    logs: createLogKeeper(options.logs ?? usualLogLimits, now),
    emit: events.emit,
  }
  const supervisor = createSupervisor(machine)
  const toolchains = createToolchains(machine, options.bundled)
  const withoutLimits = whyNoLimits(isolation.groups)
  const closing = new AbortController()
  const commands = createNativeCommands(machine, closing.signal)

  const logs = createWorkloadLogs(machine, closing.signal)

  await supervisor.adoptAll()
  await endOrphanedExecs(machine, closing.signal)
  const tidyingGroups = tidyCommandGroups(isolation.groups)
  const settled = commands.list(closing.signal).catch(() => [])
  // Drops what a crash left, and what became too old while nothing of its workload was written.
  const tidyLogs = () => void machine.logs.tidyAll(machine.home.logs)
  tidyLogs()
  const tidying = setInterval(tidyLogs, TIDY_EVERY_MS).unref()
  // Never part of the start: a program may still write there.
  const cleared = clearAllTrash(machine)

  return {
    id: 'native',
    capabilities: {
      ...nativeCapabilities,
      limits: withoutLimits === null,
      ...(withoutLimits === null ? {} : { withoutLimits }),
      imageRollback: false,
      strays: straysOf(accounts, isolation),
      exec: true,
    },
    probe: () => probeMachine(machine),
    toolchains,
    projects: () => projectsOf(machine),
    observe: (project) => observeProject(machine, supervisor, project),
    plan: stepsOf,
    apply: (step, context) => applyStep(machine, supervisor, step, { tail: logs.tail, liveLog: logs.live }, context),
    watch: (signal) => events.watch(signal, closing.signal),
    logs: logs.lines,
    logBatches: logs.batches,
    removeLogs: (project) => removeLogs(machine, project),
    stats: createStats(machine),
    readings: createReadings(machine, supervisor),
    address: (ref, name) => addressOf(machine, supervisor, ref, name),
    portOwner: async (port) => portOwner(machine, conflicts(machine, { hostPort: port, bind: '0.0.0.0' })),
    dataNames: (project) => dataNames(machine, project),
    data: (project, signal) => listData(machine, project, signal),
    copyData: (from, to, options, signal) => copyData(machine, from, to, options, signal),
    copyMethod: (project) => copyMethod(machine, project),
    freeBytes: () => freeBytes(machine),
    readData: (project, name, signal) => readData(machine, project, name, signal),
    writeData: (project, name, archive, signal) => writeData(machine, project, name, archive, signal),
    asides: (project) => asidesOf(home, project),
    setDataAside: (project, aside, signal) => orEngineError(signal, setDataAside(machine, project, aside, signal)),
    putDataBack: (project, aside, signal) => orEngineError(signal, putDataBack(machine, project, aside, signal)),
    removeAside: (project, aside, signal) => orEngineError(signal, removeAside(machine, project, aside, signal)),
    usage: async () => [],
    commands,
    async close() {
      closing.abort()
      clearInterval(tidying)
      clearTimeout(tidyingGroups)
      await Promise.all([supervisor.close(), settled, cleared])
    },
  }
}

function orEngineError<T>(signal: AbortSignal, act: Promise<T>): Promise<T> {
  return act.catch((error: unknown) => {
    throw asEngineError(error, signal)
  })
}

/** Without a user for each project only control groups show whose a process is. */
function straysOf(accounts: Accounts, { groups }: Isolation): Capabilities['strays'] {
  if (groups !== null) return 'apart'
  return accounts.shared === undefined ? 'all' : 'none'
}

const EMPTY_MS = 60_000

/**
 * Control groups of commands that a crash left. Each has a name of its own, so one that is empty twice is never entered again. Those of
 * workloads and jobs go with the next start, stop or removal.
 */
function tidyCommandGroups(groups: Isolation['groups']): NodeJS.Timeout | undefined {
  const before = new Set(groups?.empty().map(({ id }) => id))
  if (groups === null || before.size === 0) return undefined
  return setTimeout(() => {
    for (const group of groups.empty()) if (isCommandUnit(group.name) && before.has(group.id)) group.remove()
  }, EMPTY_MS).unref()
}

async function clearAllTrash(machine: Machine): Promise<void> {
  for (const project of (await readdir(machine.home.data)).filter(isName)) await clearTrash(machine, project)
}
