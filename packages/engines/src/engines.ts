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
  /** Undefined for one that this instance does not have. */
  find(id: EngineId): Engine | undefined
  readonly all: readonly Engine[]
}

export interface EnginesOptions {
  /** The one of new projects comes first. The native one is always there: it runs what needs no container. */
  readonly engines: readonly [Engine, ...Engine[]]
  /** Which engine a project names; null for one that nobody knows. */
  engineOf(project: string): Promise<EngineId | null>
}

/**
 * What says in what it runs (a container or none) goes where that can be done. All else goes to the engine that the project
 * names, and for a project that nobody knows to every engine that answers.
 */
export function createEngines({ engines, engineOf }: EnginesOptions): Engines {
  const find = (id: EngineId) => engines.find((engine) => engine.id === id)
  const [first] = engines
  const ofMachine = find('native') ?? first
  const ofImages = engines.find((engine) => engine.capabilities.images)

  const engineFor = (container: Container | undefined): Engine => {
    if (container === undefined) return ofMachine
    if (ofImages === undefined) throw noImages()
    return ofImages
  }

  const engineNamed = async (project: string): Promise<Engine | null> => {
    const id = await engineOf(project)
    if (id === null) return null
    const engine = find(id)
    if (engine !== undefined) return engine
    throw new EngineError('engine_unavailable', `This instance has no engine "${id}", which the project names.`, {
      hint: `Start the service with STACKQUAY_ENGINE=${id}, on a machine that has it.`,
    })
  }

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
        return [engineFor(step.workload.run.container)]
      case 'job':
        return [engineFor(step.job.container)]
      case 'pull':
        return [ofImages ?? first]
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
    find,
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
          return engineFor(change.workload.run.container).plan(change)
        case 'job':
          return engineFor(change.job.container).plan(change)
        default:
          return ofMachine.plan(change)
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
    },
    stats: (project, signal) => each(project, (engine) => engine.stats(project, signal)),
    address: async (ref: WorkloadRef, port) => (await ownOrFirst(ref.project)).address(ref, port),
    portHolder: async (port, signal) => {
      const holder = await ofMachine.portHolder(port, signal)
      if (holder === null || holder.ref !== null || ofImages === undefined) return holder
      // In front of a container stands a program that is the engine's own.
      const known = await ofImages.portHolder(port, signal).catch(() => null)
      return known?.ref == null ? holder : known
    },
    dataNames: (project, signal) => each(project, (engine) => engine.dataNames(project, signal)),
    data: (project, signal) => each(project, (engine) => engine.data(project, signal)),
    copyData: async (from, to, name, signal) => (await ownOrFirst(from)).copyData(from, to, name, signal),
    usage: async (signal) => (await Promise.all(engines.map((engine) => engine.usage(signal).catch(orNothing)))).flat(),
    commands: commandsOf(engines, engineFor),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()))
    },
  }
}

/** A project's commands may be in its containers or, like the program of a share, on the machine: whoever knows one has it. */
function commandsOf(engines: readonly Engine[], engineFor: (container: Container | undefined) => Engine): Commands {
  const holder = async (ref: CommandRef): Promise<Commands> => {
    for (const { commands } of engines) if ((await commands.find(ref)) !== null) return commands
    return engines[0]!.commands
  }
  return {
    start: (spec, context) => engineFor(spec.container).commands.start(spec, context),
    exec: (program, io, context) => engineFor(program.container).commands.exec(program, io, context),
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
