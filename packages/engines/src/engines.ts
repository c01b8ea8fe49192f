import {
  type CommandRef,
  type Commands,
  type Container,
  type Engine,
  EngineError,
  type EngineId,
  noImages,
  type Step,
  type WorkloadRef,
} from '@stackquay/engine-api'
import { mergeEvents } from './merge-events.ts'

/** The engines of an instance, as one: each project is held by its own. */
export interface Engines extends Engine {
  /** The one of new projects first. */
  readonly all: readonly Engine[]
}

export interface EnginesOptions {
  /** The one of new projects comes first. */
  readonly engines: readonly [Engine, ...Engine[]]
  /** Which engine a project names, the same for its whole life; null for one that nobody knows. */
  engineOf(project: string): Promise<EngineId | null>
}

/**
 * Everything goes to the engine that the project names; what a project of images runs without a container (the program of a share)
 * goes to the engine of this machine. For a project that nobody knows, every engine that answers is asked, and what is to run goes to
 * the first that can.
 */
export function createEngines({ engines, engineOf }: EnginesOptions): Engines {
  const find = (id: EngineId) => engines.find((engine) => engine.id === id)
  const [first] = engines
  const ofMachine = engines.find(({ capabilities }) => capabilities.processes) ?? first
  const others = engines.filter((engine) => engine !== ofMachine && engine.capabilities.images)
  /** For `plan`, which cannot wait: engines of the projects that were asked about. */
  const remembered = new Map<string, Engine>()

  const engineNamed = async (project: string): Promise<Engine | null> => {
    const id = await engineOf(project)
    const engine = id === null ? undefined : find(id)
    if (engine === undefined) remembered.delete(project)
    else remembered.set(project, engine)
    if (id === null || engine !== undefined) return engine ?? null
    throw new EngineError('engine_unavailable', `This instance has no engine "${id}", which the project names.`, {
      hint: `Start the service with STACKQUAY_ENGINE=${id}, on a machine that has it.`,
    })
  }

  /** Where something runs, by the project's own engine and what that can. */
  const runnerOf = (own: Engine | null, container: Container | undefined): Engine => {
    if (container === undefined) return own?.capabilities.processes === true ? own : ofMachine
    const engine = own ?? engines.find(({ capabilities }) => capabilities.images)
    if (engine?.capabilities.images !== true) throw noImages()
    return engine
  }
  const planner = (project: string, container: Container | undefined): Engine =>
    runnerOf(remembered.get(project) ?? null, container)
  const runner = async (project: string, container: Container | undefined): Promise<Engine> =>
    runnerOf(await engineNamed(project), container)

  /** The project's own engine, or all. */
  const holders = async (project: string): Promise<readonly Engine[]> => {
    const engine = await engineNamed(project)
    return engine === null ? engines : [engine]
  }
  const ownOrFirst = async (project: string): Promise<Engine> => (await engineNamed(project)) ?? first

  const each = async <T>(project: string, ask: (engine: Engine) => Promise<readonly T[]>): Promise<readonly T[]> => {
    const asked = await holders(project)
    if (asked.length === 1) return ask(asked[0]!)
    return (await Promise.all(asked.map((engine) => ask(engine).catch(orNothing)))).flat()
  }

  const applyTo = async (step: Step): Promise<readonly Engine[]> => {
    switch (step.do) {
      case 'start':
      case 'ready':
        return [await runner(step.workload.ref.project, step.workload.run.container)]
      case 'job':
        return [await runner(step.ref.project, step.job.container)]
      case 'pull':
        return [
          (await engineNamed(step.ref.project)) ?? engines.find(({ capabilities }) => capabilities.images) ?? first,
        ]
      case 'stop':
      case 'remove':
        return holders(step.ref.project)
      case 'deleteData':
      case 'strays':
        return holders(step.project)
      default:
        return step satisfies never
    }
  }

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
    observe: (project, signal) => each(project, (engine) => engine.observe(project, signal)),
    plan: (change) => {
      switch (change.type) {
        case 'start':
        case 'replace':
          return planner(change.workload.ref.project, change.workload.run.container).plan(change)
        case 'job':
          return planner(change.ref.project, change.job.container).plan(change)
        case 'stop':
        case 'remove':
          return (remembered.get(change.ref.project) ?? ofMachine).plan(change)
        case 'deleteData':
        case 'strays':
          return (remembered.get(change.project) ?? ofMachine).plan(change)
        default:
          return change satisfies never
      }
    },
    apply: async (step, context) => {
      for (const engine of await applyTo(step)) await engine.apply(step, context)
    },
    watch: (signal) =>
      mergeEvents(
        engines.map((engine) => (until: AbortSignal) => engine.watch(until)),
        signal,
      ),
    async *logs(ref, options, signal) {
      yield* (await ownOrFirst(ref.project)).logs(ref, options, signal)
    },
    async *logBatches(ref, options, signal) {
      yield* (await ownOrFirst(ref.project)).logBatches(ref, options, signal)
    },
    removeLogs: async (project, signal) => {
      for (const engine of await holders(project)) await engine.removeLogs(project, signal)
      remembered.delete(project)
    },
    stats: (project, signal) => each(project, (engine) => engine.stats(project, signal)),
    address: async (ref: WorkloadRef, port) => (await ownOrFirst(ref.project)).address(ref, port),
    portHolder: async (port, signal) => {
      const holder = await ofMachine.portHolder(port, signal)
      if (holder === null || holder.ref !== null) return holder
      // In front of a container stands a program that is the engine's own.
      const known = await Promise.all(others.map((engine) => engine.portHolder(port, signal).catch(() => null)))
      return known.find((one) => one?.ref != null) ?? holder
    },
    dataNames: (project, signal) => each(project, (engine) => engine.dataNames(project, signal)),
    data: (project, signal) => each(project, (engine) => engine.data(project, signal)),
    copyData: async (from, to, name, signal) => (await ownOrFirst(from)).copyData(from, to, name, signal),
    usage: async (signal) => (await Promise.all(engines.map((engine) => engine.usage(signal).catch(orNothing)))).flat(),
    commands: commandsOf(engines, runner),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()))
    },
  }
}

/** A project's commands may be in its containers or, like the program of a share, on the machine: whoever knows one has it. */
function commandsOf(
  engines: readonly Engine[],
  runner: (project: string, container: Container | undefined) => Promise<Engine>,
): Commands {
  const holder = async (ref: CommandRef): Promise<Commands> => {
    for (const { commands } of engines) if ((await commands.find(ref)) !== null) return commands
    return engines[0]!.commands
  }
  return {
    start: async (spec, context) => (await runner(spec.ref.project, spec.container)).commands.start(spec, context),
    exec: async (program, io, context) =>
      (await runner(program.project, program.container)).commands.exec(program, io, context),
    find: async (ref) => (await holder(ref)).find(ref),
    list: async (signal) => (await Promise.all(engines.map(({ commands }) => commands.list(signal)))).flat(),
    async *read(ref, options, signal) {
      yield* (await holder(ref)).read(ref, options, signal)
    },
    write: async (ref, bytes) => (await holder(ref)).write(ref, bytes),
    resize: async (ref, size) => (await holder(ref)).resize(ref, size),
    end: async (ref, signal) => (await holder(ref)).end(ref, signal),
    remove: async (ref) => (await holder(ref)).remove(ref),
  }
}

/** One engine that does not answer keeps nobody from what the others hold. */
function orNothing(error: unknown): [] {
  if (error instanceof EngineError && error.code === 'engine_unavailable') return []
  throw error
}
