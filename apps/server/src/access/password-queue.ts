import { ProblemError } from '@stackquay/contract'

/** `known`: a caller who proved something before, by a session or by the key of a browser that logged in once. */
export type Urgency = 'known' | 'ordinary'

export interface PasswordQueue {
  run<T>(work: () => Promise<T>, urgency: Urgency): Promise<T>
}

/**
 * Computes a few passwords at a time and lets some wait; further ones are refused. Known callers go first, and take the
 * place of an ordinary one when no place is left: strangers cannot keep them out by filling the queue.
 */
export function createPasswordQueue({
  places,
  maxWaiting,
}: {
  readonly places: number
  readonly maxWaiting: number
}): PasswordQueue {
  const waiting: Record<Urgency, Waiting[]> = { known: [], ordinary: [] }
  let free = places

  return {
    async run(work, urgency) {
      await enter(urgency)
      try {
        return await work()
      } finally {
        const next = waiting.known.shift() ?? waiting.ordinary.shift()
        if (next) next.resolve()
        else free++
      }
    },
  }

  async function enter(urgency: Urgency): Promise<void> {
    if (free > 0) {
      free--
      return
    }
    if (waiting.known.length + waiting.ordinary.length >= maxWaiting) makeRoom(urgency)
    const turn = Promise.withResolvers<void>()
    waiting[urgency].push(turn)
    await turn.promise
  }

  function makeRoom(urgency: Urgency): void {
    const last = urgency === 'known' ? waiting.ordinary.pop() : undefined
    if (last === undefined) throw tooMany()
    last.reject(tooMany())
  }
}

type Waiting = PromiseWithResolvers<void>

function tooMany(): ProblemError {
  return new ProblemError('unavailable', 'Too many people log in at once.', { headers: { 'retry-after': '5' } })
}
