import { takenIds } from './system-users.ts'
import { usersUnavailable } from './users-unavailable.ts'

/** Before a number is written down it is nobody's: what is written is used as the project's after a crash. */
export function createFreeUids(
  { from, to }: { readonly from: number; readonly to: number },
  taken: ReadonlySet<number>,
): () => Promise<number> {
  let free: readonly number[] = []
  let askedAt = Number.NEGATIVE_INFINITY
  const next = () => free.find((uid) => !taken.has(uid))
  return async () => {
    const known = performance.now() - askedAt < freshMs ? next() : undefined
    if (known !== undefined) return known
    for (let uid = from; uid <= to; ) {
      const asked: number[] = []
      for (; uid <= to && asked.length < askedAtOnce; uid += 1) if (!taken.has(uid)) asked.push(uid)
      // Without a number it would answer everybody.
      if (asked.length === 0) break
      const others = await takenIds(asked)
      free = asked.filter((one) => !others.has(one))
      askedAt = performance.now()
      if (free[0] !== undefined) return free[0]
    }
    throw usersUnavailable(
      `All uids from ${from} to ${to} are taken.`,
      'Give projects a larger range with STACKQUAY_PROJECT_UIDS.',
    )
  }
}

const askedAtOnce = 64
/** As long as the machine is taken at its word. What is taken meanwhile, `useradd` refuses. */
const freshMs = 5_000
