import type {
  Change,
  CommandRef,
  Commands,
  Container,
  Engine,
  EngineId,
  PipedBytes,
  PortOwner,
  WorkloadRef,
} from '@stackquay/engine-api'
import { createEngineChoice, type EngineChoice, orNothing } from './engine-choice.ts'
import { mergeEvents } from './merge-events.ts'

/** The engines of an instance, as one: each project is held by its own. */
export interface Engines extends Engine {
  /** The one of new projects first. */
  readonly all: readonly Engine[]
}

export interface EnginesOptions {
  /** The one of new projects comes first. */
  readonly engines: readonly [Engine, ...Engine[]]
  /** Which engine a project names, the same for its whole life; null for an unknown project. */
  engineOf(project: string): Promise<EngineId | null>
}

/**
 * Everything goes to the engine that the project names; what a project of images runs without a container (the program of a share)
 * goes to the engine of this machine. For an unknown project, every engine that answers is asked, and what is to run goes to
 * the first that can.
 */
export function createEngines({ engines, engineOf }: EnginesOptions): Engines {
  const [first] = engines
  const choice = createEngineChoice(engines, engineOf)
  const { known, ofMachine } = choice
  return {
    id: first.id,
    capabilities: first.capabilities,
    all: engines,
    probe: (signal) => first.probe(signal),
    toolchains: (queries, signal) => ofMachine.toolchains(queries, signal),
    projects: async (signal) => {
      const found = await Promise.all(engines.map((engine) => engine.projects(signal).catch(orNothing)))
      return [...new Set(found.flat())].sort()
    },
    observe: (project, signal) => choice.ask(project, (engine) => engine.observe(project, signal)),
    plan: (change) => planner(change, choice).plan(change),
    apply: async (step, context) => {
      for (const engine of await choice.ofStep(step)) await engine.apply(step, context)
    },
    watch: (signal) =>
      mergeEvents(
        engines.map((engine) => (until: AbortSignal) => engine.watch(until)),
        signal,
      ),
    async *logs(ref, options, signal) {
      yield* (await choice.ownOrFirst(ref.project)).logs(ref, options, signal)
    },
    async *logBatches(ref, options, signal) {
      yield* (await choice.ownOrFirst(ref.project)).logBatches(ref, options, signal)
    },
    removeLogs: async (project, signal) => {
      for (const engine of await choice.ownOrAll(project)) await engine.removeLogs(project, signal)
      known.forget(project)
    },
    stats: (project, signal) => choice.ask(project, (engine) => engine.stats(project, signal)),
    readings: async (signal) =>
      (await Promise.all(engines.map((engine) => engine.readings(signal).catch(orNothing)))).flat(),
    address: async (ref: WorkloadRef, port) => (await choice.ownOrFirst(ref.project)).address(ref, port),
    portOwner: (port, signal) => findPortOwner(engines, ofMachine, port, signal),
    dataNames: (project, signal) => choice.ask(project, (engine) => engine.dataNames(project, signal)),
    data: (project, signal) => choice.ask(project, (engine) => engine.data(project, signal)),
    copyData: async (from, to, options, signal) =>
      (await choice.ownOrFirst(from.project)).copyData(from, to, options, signal),
    copyMethod: async (project, signal) => (await choice.ownOrFirst(project)).copyMethod(project, signal),
    freeBytes: async (project, signal) => (await choice.ownOrFirst(project)).freeBytes(project, signal),
    readData: (project, name, signal) => readDataOf(() => choice.ownOrFirst(project), project, name, signal),
    writeData: async (project, name, archive, signal) =>
      (await choice.ownOrFirst(project)).writeData(project, name, archive, signal),
    asides: (project, signal) => choice.ask(project, (engine) => engine.asides(project, signal)),
    setDataAside: async (project, aside, signal) => {
      for (const engine of await choice.ownOrAll(project)) await engine.setDataAside(project, aside, signal)
    },
    putDataBack: async (project, aside, signal) =>
      (await choice.ownOrFirst(project)).putDataBack(project, aside, signal),
    removeAside: async (project, aside, signal) => {
      for (const engine of await choice.ownOrAll(project)) await engine.removeAside(project, aside, signal)
    },
    usage: async (signal) => (await Promise.all(engines.map((engine) => engine.usage(signal).catch(orNothing)))).flat(),
    commands: commandsOf(engines, choice.runner),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()))
    },
  }
}

function readDataOf(find: () => Promise<Engine>, project: string, name: string, signal: AbortSignal): PipedBytes {
  const begin = async () => (await find()).readData(project, name, signal)
  return {
    async *[Symbol.asyncIterator]() {
      yield* await begin()
    },
    async into(pipe, stopped) {
      const bytes = await begin()
      return bytes.into === undefined ? false : bytes.into(pipe, stopped)
    },
  }
}

/** By what the project was last known to name. */
function planner(change: Change, { known, ofMachine }: EngineChoice): Engine {
  switch (change.type) {
    case 'start':
    case 'replace':
      return known.runner(change.workload.ref.project, change.workload.run.container)
    case 'job':
      return known.runner(change.ref.project, change.job.container)
    case 'stop':
    case 'remove':
      return known.own(change.ref.project) ?? ofMachine
    case 'deleteData':
    case 'strays':
      return known.own(change.project) ?? ofMachine
    default:
      return change satisfies never
  }
}

/** In front of a container stands a program of its engine: that engine knows better than the machine whose port it is. */
async function findPortOwner(
  engines: readonly Engine[],
  ofMachine: Engine,
  port: number,
  signal: AbortSignal,
): Promise<PortOwner | null> {
  const owner = await ofMachine.portOwner(port, signal)
  if (owner === null || owner.ref !== null) return owner
  const others = engines.filter((engine) => engine !== ofMachine && engine.capabilities.images)
  const known = await Promise.all(others.map((engine) => engine.portOwner(port, signal).catch(() => null)))
  return known.find((one) => one?.ref != null) ?? owner
}

/** A project's commands may be in its containers or, like the program of a share, on the machine: the engine that knows one has it. */
function commandsOf(
  engines: readonly Engine[],
  runner: (project: string, container: Container | undefined) => Promise<Engine>,
): Commands {
  const ownerOf = async (ref: CommandRef): Promise<Commands> => {
    for (const { commands } of engines) if ((await commands.find(ref)) !== null) return commands
    return engines[0]!.commands
  }
  return {
    start: async (spec, context) => (await runner(spec.ref.project, spec.container)).commands.start(spec, context),
    exec: async (program, io, context) =>
      (await runner(program.project, program.container)).commands.exec(program, io, context),
    find: async (ref) => (await ownerOf(ref)).find(ref),
    list: async (signal) => (await Promise.all(engines.map(({ commands }) => commands.list(signal)))).flat(),
    async *read(ref, options, signal) {
      yield* (await ownerOf(ref)).read(ref, options, signal)
    },
    write: async (ref, bytes) => (await ownerOf(ref)).write(ref, bytes),
    resize: async (ref, size) => (await ownerOf(ref)).resize(ref, size),
    end: async (ref, signal) => (await ownerOf(ref)).end(ref, signal),
    remove: async (ref) => (await ownerOf(ref)).remove(ref),
  }
}
