import { type Container, type Engine, EngineError, type EngineId, noImages, type Step } from '@stackquay/engine-api'

/** Which engine something goes to. */
export interface EngineChoice {
  /** The project's own; null where no engine is named. Throws when the named one is not here. */
  own(project: string): Promise<Engine | null>
  /** The project's own, or the one of new projects. */
  ownOrFirst(project: string): Promise<Engine>
  /** The project's own, or all. */
  ownOrAll(project: string): Promise<readonly Engine[]>
  /** The engine that runs a program, in a container or without one. */
  runner(project: string, container: Container | undefined): Promise<Engine>
  /** The engines that a step is applied to, in this order. */
  ofStep(step: Step): Promise<readonly Engine[]>
  /** The answers of the project's own engine, or of all that answer. */
  ask<T>(project: string, ask: (engine: Engine) => Promise<readonly T[]>): Promise<readonly T[]>
  /** For `plan`, which cannot wait: by what the project was last known to name. */
  readonly known: {
    own(project: string): Engine | null
    runner(project: string, container: Container | undefined): Engine
    forget(project: string): void
  }
  /** Runs programs of this machine. */
  readonly ofMachine: Engine
}

export function createEngineChoice(
  engines: readonly [Engine, ...Engine[]],
  engineOf: (project: string) => Promise<EngineId | null>,
): EngineChoice {
  const [first] = engines
  const ofMachine = engines.find(({ capabilities }) => capabilities.processes) ?? first
  const ofImages = engines.find(({ capabilities }) => capabilities.images)
  const remembered = new Map<string, Engine>()

  const own = async (project: string): Promise<Engine | null> => {
    const id = await engineOf(project)
    const engine = id === null ? undefined : engines.find((one) => one.id === id)
    if (engine === undefined) remembered.delete(project)
    else remembered.set(project, engine)
    if (id === null || engine !== undefined) return engine ?? null
    throw new EngineError('engine_unavailable', `This instance has no engine "${id}", which the project names.`, {
      hint: `Start the service with STACKQUAY_ENGINE=${id}, on a machine that has it.`,
    })
  }
  /** By the project's own engine and what that can. */
  const runnerOf = (mine: Engine | null, container: Container | undefined): Engine => {
    if (container === undefined) return mine?.capabilities.processes === true ? mine : ofMachine
    const engine = mine ?? ofImages
    if (engine?.capabilities.images !== true) throw noImages()
    return engine
  }
  const runner = async (project: string, container: Container | undefined) => runnerOf(await own(project), container)
  const ownOrAll = async (project: string): Promise<readonly Engine[]> => {
    const engine = await own(project)
    return engine === null ? engines : [engine]
  }
  const known = {
    own: (project: string) => remembered.get(project) ?? null,
    runner: (project: string, container: Container | undefined) => runnerOf(remembered.get(project) ?? null, container),
    forget: (project: string) => void remembered.delete(project),
  }

  return {
    own,
    ownOrFirst: async (project) => (await own(project)) ?? first,
    ownOrAll,
    runner,
    known,
    ofMachine,
    ofStep: (step) =>
      enginesOfStep(step, { runner, ownOrAll, puller: async (project) => (await own(project)) ?? ofImages ?? first }),
    async ask(project, ask) {
      const asked = await ownOrAll(project)
      if (asked.length === 1) return ask(asked[0]!)
      return (await Promise.all(asked.map((engine) => ask(engine).catch(orNothing)))).flat()
    },
  }
}

async function enginesOfStep(
  step: Step,
  choice: Pick<EngineChoice, 'runner' | 'ownOrAll'> & { puller(project: string): Promise<Engine> },
): Promise<readonly Engine[]> {
  switch (step.do) {
    case 'start':
    case 'ready':
      return [await choice.runner(step.workload.ref.project, step.workload.run.container)]
    case 'job':
      return [await choice.runner(step.ref.project, step.job.container)]
    case 'pull':
      return [await choice.puller(step.ref.project)]
    case 'stop':
    case 'remove':
      return choice.ownOrAll(step.ref.project)
    case 'deleteData':
    case 'strays':
      return choice.ownOrAll(step.project)
    default:
      return step satisfies never
  }
}

/** An engine that does not answer hides nothing of what the others hold. */
export function orNothing(error: unknown): [] {
  if (error instanceof EngineError && error.code === 'engine_unavailable') return []
  throw error
}
