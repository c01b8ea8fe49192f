/** Counts the requests that wait for projects to wake, in one process. */
export interface WaitsForWake {
  begin(project: string): void
  end(project: string): void
}

/** `report` hears of the first that waits for a project, and of the end of the last. */
export function createWaitsForWake(report: (project: string, isWanted: boolean) => void): WaitsForWake {
  const waiting = new Map<string, number>()
  return {
    begin(project) {
      const count = waiting.get(project) ?? 0
      waiting.set(project, count + 1)
      if (count === 0) report(project, true)
    },
    end(project) {
      const count = (waiting.get(project) ?? 0) - 1
      if (count > 0) waiting.set(project, count)
      else if (waiting.delete(project)) report(project, false)
    },
  }
}

export interface WantedProjects {
  /** A process of the proxy, by any value of its own, has requests that wait for a project, or none any more. */
  report(source: unknown, project: string, isWanted: boolean): void
  /** A process that has ended. */
  forget(source: unknown): void
  /** Answers when a project is wanted that was not told before `after`; with none when nothing came in time. */
  next(after: number, within: number): Promise<WantedAnswer>
  /** Answers who waits. */
  close(): void
}

/** `GET /wanted?after=…&seconds=…` on the control socket. */
export interface WantedAnswer {
  /** What to ask with next. Grows over restarts of the proxy too. */
  readonly position: number
  readonly projects: readonly string[]
}

export function createWantedProjects(): WantedProjects {
  const wanted = new Map<string, { readonly position: number; readonly sources: Set<unknown> }>()
  const listeners = new Set<() => void>()
  let position = 0
  let isClosed = false
  const wake = () => {
    for (const listener of [...listeners]) listener()
  }
  const since = (after: number) => [...wanted].filter(([, one]) => one.position > after).map(([project]) => project)
  const drop = (source: unknown, project: string) => {
    const known = wanted.get(project)
    if (known?.sources.delete(source) === true && known.sources.size === 0) wanted.delete(project)
  }
  return {
    report(source, project, isWanted) {
      if (!isWanted) {
        drop(source, project)
        return
      }
      position = Math.max(position + 1, Date.now())
      wanted.set(project, { position, sources: (wanted.get(project)?.sources ?? new Set()).add(source) })
      wake()
    },
    forget(source) {
      for (const project of [...wanted.keys()]) drop(source, project)
    },
    async next(after, within) {
      if (since(after).length === 0 && !isClosed) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, within)
        listeners.add(resolve)
        await promise
        clearTimeout(timer)
        listeners.delete(resolve)
      }
      return { position, projects: since(after) }
    },
    close() {
      isClosed = true
      wake()
    },
  }
}
