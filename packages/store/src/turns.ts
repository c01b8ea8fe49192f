import { setImmediate as breathe } from 'node:timers/promises'

/**
 * Runs each act after every act that was asked for before, however those ended. SQLite answers at once, so transactions
 * in a row would never give the event loop a turn: the next one waits for a turn, the caller of this one does not.
 */
export function createTurns(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = last.then(act)
    last = turn.then(
      () => breathe(),
      () => breathe(),
    )
    return turn
  }
}
