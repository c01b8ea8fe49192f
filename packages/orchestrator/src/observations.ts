import { type Engine, EngineError, type Observed } from '@stackquay/engine-api'

/** The last look at each project's workloads, renewed when something happens to it. */
export interface Observations {
  /** What was last seen; empty before the first look. */
  of(project: string): readonly Observed[]
  /** Why the last look showed nothing: the engine did not answer. What was seen before may be true or not. */
  unknown(project: string): string | null
  /** Answers a look that began after the call. Calls at the same time share one. */
  refresh(project: string): Promise<readonly Observed[]>
  /** Something was done to the project since the last look, or the engine told of something. */
  outdate(project: string): void
  /** The same; it is looked at soon, unless somebody looks before. */
  refreshSoon(project: string): void
  /** What was last seen where nothing is known to have changed since, else a new look. */
  current(project: string): Promise<readonly Observed[]>
  forget(project: string): void
  /** Called when a look brought something else than the one before. */
  onChange(listener: (project: string) => void): void
}

/** So long what changes one after the other is waited for, to be looked at once. */
const soonMs = 250

export function createObservations(engine: Engine, signal: AbortSignal): Observations {
  const seen = new Map<string, readonly Observed[]>()
  const unknown = new Map<string, string>()
  /** Of these the last look shows what is there, as far as anybody knows. */
  const upToDate = new Set<string>()
  const planned = new Map<string, NodeJS.Timeout>()
  const listeners: ((project: string) => void)[] = []

  const of = (project: string) => seen.get(project) ?? []

  const look = async (project: string): Promise<readonly Observed[]> => {
    clearTimeout(planned.get(project))
    planned.delete(project)
    // Before it begins: what happens during the look may be missing in it.
    upToDate.add(project)
    const observed = await engine.observe(project, signal).catch((error: unknown) => {
      upToDate.delete(project)
      if (error instanceof EngineError && error.code === 'engine_unavailable') setUnknown(project, error.message)
      throw error
    })
    setUnknown(project, null)
    if (observed.length === 0) upToDate.delete(project)
    if (JSON.stringify(observed) !== JSON.stringify(of(project))) {
      // Nothing is remembered of a project that has nothing, so that deleted ones leave no trace.
      if (observed.length === 0) seen.delete(project)
      else seen.set(project, observed)
      for (const listener of listeners) listener(project)
    }
    return observed
  }

  const setUnknown = (project: string, reason: string | null) => {
    if ((unknown.get(project) ?? null) === reason) return
    if (reason === null) unknown.delete(project)
    else unknown.set(project, reason)
    for (const listener of listeners) listener(project)
  }

  const looks = createLooks(look)
  const { refresh } = looks

  const outdate = (project: string) => {
    upToDate.delete(project)
  }

  return {
    of,
    unknown: (project) => unknown.get(project) ?? null,
    refresh,
    outdate,
    refreshSoon: (project) => {
      outdate(project)
      if (planned.has(project) || signal.aborted) return
      // Who needs to know asks for himself.
      planned.set(project, setTimeout(() => void refresh(project).catch(() => undefined), soonMs).unref())
    },
    current: async (project) => {
      await looks.running(project)?.catch(() => undefined)
      return upToDate.has(project) ? of(project) : refresh(project)
    },
    forget: (project) => {
      clearTimeout(planned.get(project))
      planned.delete(project)
      upToDate.delete(project)
      seen.delete(project)
      unknown.delete(project)
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
  }
}

/** At most one look at a project at a time; who asks during one shares the next with all who do. */
function createLooks(look: (project: string) => Promise<readonly Observed[]>) {
  const running = new Map<string, Promise<readonly Observed[]>>()
  const following = new Map<string, Promise<readonly Observed[]>>()
  const begin = (project: string): Promise<readonly Observed[]> => {
    const mine = look(project).finally(() => {
      if (running.get(project) === mine) running.delete(project)
    })
    running.set(project, mine)
    return mine
  }
  return {
    running: (project: string) => running.get(project),
    // A look that began before the call may have missed what the caller knows of: then one more follows it.
    refresh: (project: string): Promise<readonly Observed[]> => {
      const now = running.get(project)
      if (now === undefined) return begin(project)
      const waiting = following.get(project)
      if (waiting !== undefined) return waiting
      const goOn = () => {
        following.delete(project)
        return running.get(project) ?? begin(project)
      }
      const next = now.then(goOn, goOn)
      following.set(project, next)
      return next
    },
  }
}
