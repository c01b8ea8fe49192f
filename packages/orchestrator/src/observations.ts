import type { Engine, Observed } from '@stackquay/engine-api'

/** The last look at each project's workloads, renewed when something happens to it. */
export interface Observations {
  /** What was last seen; empty before the first look. */
  of(project: string): readonly Observed[]
  refresh(project: string): Promise<readonly Observed[]>
  forget(project: string): void
  /** Called when a look brought something else than the one before. */
  onChange(listener: (project: string) => void): void
}

export function createObservations(engine: Engine, signal: AbortSignal): Observations {
  const seen = new Map<string, readonly Observed[]>()
  const running = new Map<string, Promise<readonly Observed[]>>()
  const again = new Set<string>()
  const listeners: ((project: string) => void)[] = []

  const look = async (project: string): Promise<readonly Observed[]> => {
    try {
      const observed = await engine.observe(project, signal)
      if (JSON.stringify(observed) !== JSON.stringify(seen.get(project))) {
        seen.set(project, observed)
        for (const listener of listeners) listener(project)
      }
      return observed
    } finally {
      running.delete(project)
    }
  }

  return {
    of: (project) => seen.get(project) ?? [],
    // A look that began before the call may have missed what the caller knows of: then one more follows it.
    refresh: async (project) => {
      const now = running.get(project)
      if (now === undefined) {
        const mine = look(project)
        running.set(project, mine)
        return mine
      }
      if (again.has(project)) return now.then(() => running.get(project) ?? seen.get(project) ?? [])
      again.add(project)
      await now.catch(() => undefined)
      again.delete(project)
      const mine = running.get(project) ?? look(project)
      running.set(project, mine)
      return mine
    },
    forget: (project) => {
      seen.delete(project)
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
  }
}
