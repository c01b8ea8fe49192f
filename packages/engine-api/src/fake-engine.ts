import type { Step } from './change.ts'
import type { CommandRef } from './commands.ts'
import type { Aside, Capabilities, Engine } from './engine.ts'
import type { FakeCommand } from './fake-command.ts'
import { createFakeCommands, type FakeScript } from './fake-commands.ts'
import { asidesOf, copyData, dataOf, putDataBack, readData, removeAside, setDataAside, writeData } from './fake-data.ts'
import { createFakeEvents } from './fake-events.ts'
import { createFakeFaults, type FakeFaults } from './fake-faults.ts'
import { printLine, readFakeLog } from './fake-logs.ts'
import { createFakeMachine, type FakeMachine, keyOf } from './fake-machine.ts'
import {
  addressOf,
  hasRequiredFiles,
  observedWorkloads,
  ownerOf,
  projectsOn,
  readingsOf,
  samplesOf,
} from './fake-observations.ts'
import { endWorkload } from './fake-start.ts'
import { applyFakeStep } from './fake-steps.ts'
import type { FakeWorld } from './fake-world.ts'
import type { Exit } from './observed.ts'
import { stepsOf } from './steps.ts'
import type { WorkloadRef } from './workload.ts'

/** An engine in memory, for tests of everything above engines. It keeps the contract, until a test asks it not to. */
export interface FakeEngine extends Engine, FakeFaults {
  readonly machine: FakeMachine
  /** Every step that was given to `apply`, in order, with how it went. */
  readonly applied: readonly AppliedStep[]
  /** Ends a running workload as if it had crashed. */
  crash(ref: WorkloadRef, exit?: Partial<Exit>): void
  setHealth(ref: WorkloadRef, health: 'healthy' | 'unhealthy', reason?: string): void
  /** Makes a file that workloads may wait for. */
  addFile(path: string): void
  /** A program that belongs to no project takes a port. */
  holdPort(port: number, program: string, pid: number): void
  /** The workload writes a line. */
  print(ref: WorkloadRef, text: string, stream?: 'stdout' | 'stderr'): void
  /** `probe` answers that the engine is not usable. */
  setUnavailable(reason: string | null): void
  /** The next command does this in place of its program. */
  nextCommand(script: FakeScript): void
  /** A command that was started, to let it print and end. */
  command(ref: CommandRef): FakeCommand | null
  toolchainsFound: Awaited<ReturnType<Engine['toolchains']>>
}

export interface AppliedStep {
  readonly step: Step
  outcome: 'running' | 'done' | 'failed'
}

export interface FakeEngineOptions {
  /** Share one to pretend that another control plane comes after this one. */
  readonly machine?: FakeMachine
  readonly clock?: () => Date
  /** It runs images too, and holds what it runs to limits. */
  readonly images?: boolean
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const machine = options.machine ?? createFakeMachine()
  const now = () => (options.clock?.() ?? new Date()).toISOString()
  const events = createFakeEvents()
  const world: FakeWorld = { machine, events, images: options.images === true, now }
  const closing = new AbortController()
  const untilClosed = (signal: AbortSignal) => AbortSignal.any([signal, closing.signal])
  const { meet, ...faults } = createFakeFaults()
  const applied: AppliedStep[] = []
  const commands = createFakeCommands(machine, now, closing.signal)
  let unavailable: string | null = null
  const act = async (step: Step, signal: AbortSignal, run: () => void | Promise<void>) => {
    const entry: AppliedStep = { step, outcome: 'running' }
    applied.push(entry)
    try {
      await meet(step, signal)
      await run()
      entry.outcome = 'done'
    } catch (error) {
      entry.outcome = 'failed'
      throw error
    }
  }

  return {
    id: 'fake',
    capabilities: capabilitiesOf(world),
    machine,
    applied,
    toolchainsFound: [],
    async probe() {
      return unavailable === null
        ? { ready: true, detail: 'A pretended machine.', warnings: [] }
        : { ready: false, reason: unavailable, hint: 'Make it available.' }
    },
    async toolchains() {
      return this.toolchainsFound
    },
    projects: async () => projectsOn(machine),
    observe: async (project) => observedWorkloads(machine, project),
    plan: stepsOf,
    apply: (step, context) => act(step, context.signal, () => applyFakeStep(world, step, context)),
    watch: (signal) => events.watch(untilClosed(signal)),
    async *logs(ref, logOptions, signal) {
      for await (const batch of readFakeLog(world, ref, logOptions, untilClosed(signal))) yield* batch.lines
    },
    logBatches: (ref, logOptions, signal) => readFakeLog(world, ref, logOptions, untilClosed(signal)),
    async removeLogs(project) {
      for (const id of machine.logs.keys()) if (id.startsWith(`${project}/`)) machine.logs.delete(id)
    },
    stats: async (project) => samplesOf(machine, project, now()),
    readings: async () => readingsOf(machine, now()),
    address: async (ref, port) => addressOf(machine, ref, port),
    portOwner: async (port) => ownerOf(machine, port),
    dataNames: async (project) => dataOf(machine, project).map(({ name }) => name),
    data: async (project) => dataOf(machine, project),
    copyData: (from, to, options, signal) => copyData(machine, from, to, options, signal),
    copyMethod: async () => machine.copyMethod,
    freeBytes: async () => machine.freeBytes,
    readData: (project, name, signal) => readData(machine, project, name, signal),
    writeData: (project, name, archive, signal) => writeData(machine, project, name, archive, signal),
    asides: async (project) => asidesOf(machine, project),
    setDataAside: (project, aside, signal) =>
      act(moveStep(project, aside), signal, () => setDataAside(machine, project, aside)),
    putDataBack: async (project, aside) => putDataBack(machine, project, aside),
    removeAside: async (project, aside) => removeAside(machine, project, aside),
    usage: async () => [],
    commands,
    async close() {
      closing.abort()
    },
    ...faults,
    ...incidents(world),
    nextCommand: commands.next,
    command: commands.of,
    setUnavailable(reason) {
      unavailable = reason
    },
  }
}

/** For tests that follow steps, and for faults that are meant for the end of data. */
function moveStep(project: string, { name }: Aside): Step {
  return {
    id: `deleteData:${name}`,
    title: `Move the data "${name}" to the trash`,
    do: 'deleteData',
    project,
    data: name,
  }
}

function capabilitiesOf({ images }: FakeWorld): Capabilities {
  return {
    processes: true,
    images,
    limits: images,
    imageRollback: images,
    strays: 'none',
    exec: true,
    mayBeAway: false,
    exclusive: true,
  }
}

/** What a test makes happen on the machine, without a step. */
function incidents(world: FakeWorld): Pick<FakeEngine, 'crash' | 'setHealth' | 'addFile' | 'holdPort' | 'print'> {
  const { machine, events } = world
  return {
    crash(ref, exit = { code: 1 }) {
      const found = machine.workloads.get(keyOf(ref))
      if (found?.state === 'running') endWorkload(world, found, 'exited', exit)
    },
    setHealth(ref, health, reason = 'The check fails.') {
      const found = machine.workloads.get(keyOf(ref))
      if (found?.state !== 'running') return
      found.health = health
      found.reason = health === 'unhealthy' ? reason : null
      events.emit(health === 'healthy' ? { type: 'healthy', ref } : { type: 'unhealthy', ref, reason })
    },
    addFile(path) {
      machine.files.add(path)
      for (const { workload, state } of machine.workloads.values())
        if (state === 'waiting' && hasRequiredFiles(machine, workload))
          events.emit({ type: 'unblocked', ref: workload.ref })
    },
    holdPort(port, program, pid) {
      machine.foreignPorts.set(port, { program, pid })
    },
    print: (ref, text, stream = 'stdout') => printLine(world, ref, text, stream),
  }
}
