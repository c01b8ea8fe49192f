/**
 * One queue per project: at most one piece of work at a time changes it. Operations wait for their turn; what the
 * supervisor does quietly steps aside for them.
 */
export interface ProjectQueues {
  /** Runs `work` when everything before it has ended. Asks quiet work to stop first. */
  enter<T>(project: string, work: () => Promise<T>): Promise<T>
  /**
   * Runs `work` only if the queue is free now; its signal aborts when an operation arrives. Answers whether it was done:
   * false when the queue was not free or the work stepped aside.
   */
  enterQuietly(project: string, work: (signal: AbortSignal) => Promise<void>): Promise<boolean>
  isFree(project: string): boolean
  /** Ends when nobody is in the queue any more. Somebody else who waited may be quicker to enter it. */
  whenFree(project: string): Promise<void>
  /** Ends when all queues are free. */
  allFree(): Promise<void>
}

export function createProjectQueues(): ProjectQueues {
  const tails = new Map<string, Promise<unknown>>()
  const quiet = new Map<string, AbortController>()

  const append = async <T>(project: string, work: () => Promise<T>): Promise<T> => {
    const before = tails.get(project) ?? Promise.resolve()
    const mine = before.then(work, work)
    const settled = mine.catch(() => undefined)
    tails.set(project, settled)
    try {
      return await mine
    } finally {
      if (tails.get(project) === settled) tails.delete(project)
    }
  }

  return {
    enter: (project, work) => {
      quiet.get(project)?.abort(new Error('an operation arrived'))
      return append(project, work)
    },
    enterQuietly: async (project, work) => {
      if (tails.has(project)) return false
      const controller = new AbortController()
      quiet.set(project, controller)
      try {
        await append(project, () => work(controller.signal))
        return true
      } catch (error) {
        if (controller.signal.aborted) return false
        throw error
      } finally {
        if (quiet.get(project) === controller) quiet.delete(project)
      }
    },
    isFree: (project) => !tails.has(project),
    whenFree: async (project) => {
      while (tails.has(project)) await tails.get(project)
    },
    allFree: async () => {
      while (tails.size > 0) await Promise.all(tails.values())
    },
  }
}
