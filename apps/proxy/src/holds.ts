import type { PageTarget } from './route-table.ts'

/** Requests to a project that is about to answer again, or is woken by them, wait for the next table, instead of getting a page. */
export interface Holds {
  /**
   * True when another table came before the hold ended: the request then begins anew. False when it must be answered now:
   * the time is over, too many wait already, or the client has left.
   */
  wait(target: Pick<PageTarget, 'holdUntil'>, gone: AbortSignal): Promise<boolean>
  /** Another table is in use. */
  release(): void
  /** How many wait now. */
  readonly count: number
}

export function createHolds(most: number, now: () => number = Date.now): Holds {
  const waiting = new Set<(again: boolean) => void>()
  return {
    get count() {
      return waiting.size
    },
    wait({ holdUntil = 0 }, gone) {
      const left = holdUntil - now()
      if (left <= 0 || waiting.size >= most || gone.aborted) return Promise.resolve(false)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const leave = () => resolve(false)
      const timer = setTimeout(leave, left)
      waiting.add(resolve)
      gone.addEventListener('abort', leave, { once: true })
      return promise.finally(() => {
        clearTimeout(timer)
        gone.removeEventListener('abort', leave)
        waiting.delete(resolve)
      })
    },
    release() {
      for (const resolve of [...waiting]) resolve(true)
    },
  }
}
