import { readFileSync } from 'node:fs'

const everyMs = 2

/**
 * The longest time, in milliseconds, for which the event loop of this thread took no turn while `act` went on. Time in which
 * the thread could have gone on and the machine ran others on its cores is left out, where the kernel tells it (Linux):
 * that is the load of the machine, not a fault of what is measured.
 */
export async function longestTurn(act: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = reading()
  const look = () => {
    const now = reading()
    longest = Math.max(longest, now.at - last.at - (now.waited - last.waited))
    last = now
  }
  const timer = setInterval(look, everyMs)
  try {
    await act()
    // What the last turn of it took is seen at the next.
    await new Promise((resolve) => setTimeout(resolve, 2 * everyMs))
    look()
  } finally {
    clearInterval(timer)
  }
  return longest
}

function reading(): { readonly at: number; readonly waited: number } {
  return { at: performance.now(), waited: waitedForACore() }
}

/** Milliseconds that this thread stood in the queue of a core since it began. */
function waitedForACore(): number {
  try {
    const [, nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return 0
  }
}
