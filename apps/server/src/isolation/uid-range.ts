import { takenIds, uidsOfProcesses } from './system-users.ts'
import { usersUnavailable } from './users-unavailable.ts'

/** Numbers for users of projects. Each is given once: files of a project that is gone may still be there. */
export interface UidRange {
  /** One that nobody has: what is written down is used as the project's after a crash. Throws `engine_unavailable` when there is none. */
  next(): Promise<number>
  /** So many, or all that are left. */
  some(count: number): Promise<readonly number[]>
  /** Was given before. */
  remember(uid: number): void
  /** They were not written down, so they can be given again. */
  putBack(uids: readonly number[]): void
  /** Whether the range has the number, taken or not. */
  holds(uid: number): boolean
}

export function createUidRange({ from, to }: { readonly from: number; readonly to: number }): UidRange {
  const taken = new Set<number>()
  let free: readonly number[] = []
  let askedAt = Number.NEGATIVE_INFINITY
  let last: Promise<unknown> = Promise.resolve()

  const known = () => (performance.now() - askedAt < freshMs ? free.find((uid) => !taken.has(uid)) : undefined)
  const ask = async (): Promise<number | undefined> => {
    // Programs outlive an installation that was taken away, and its users with it.
    const running = await uidsOfProcesses()
    for (let uid = from; uid <= to; ) {
      const some: number[] = []
      for (; uid <= to && some.length < askedAtOnce; uid += 1) if (!taken.has(uid)) some.push(uid)
      // Without a number it would answer everybody.
      if (some.length === 0) return undefined
      const others = await takenIds(some)
      free = some.filter((one) => !others.has(one) && !running.has(one))
      askedAt = performance.now()
      if (free[0] !== undefined) return free[0]
    }
    return undefined
  }
  /** One after the other, so that two get two. */
  const give = (): Promise<number | undefined> => {
    const mine = last.then(async () => {
      const uid = known() ?? (await ask())
      if (uid !== undefined) taken.add(uid)
      return uid
    })
    last = mine.catch(() => undefined)
    return mine
  }

  return {
    next: async () => {
      const uid = await give()
      if (uid !== undefined) return uid
      throw usersUnavailable(
        `All uids from ${from} to ${to} are taken.`,
        'Give projects a larger range with STACKQUAY_PROJECT_UIDS.',
      )
    },
    some: async (count) => {
      const uids = []
      for (let uid: number | undefined; uids.length < count; uids.push(uid)) {
        uid = await give()
        if (uid === undefined) break
      }
      return uids
    },
    remember: (uid) => void taken.add(uid),
    putBack: (uids) => {
      for (const uid of uids) taken.delete(uid)
    },
    holds: (uid) => uid >= from && uid <= to,
  }
}

const askedAtOnce = 64
/** As long as the machine is taken at its word. What is taken meanwhile, `useradd` refuses. */
const freshMs = 5_000
