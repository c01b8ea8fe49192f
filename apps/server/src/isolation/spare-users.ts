import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectUser } from '@stackquay/store'
import { type AddResult, addSystemUsers, listedUsers, mostLockedMs } from './system-users.ts'
import type { SpareRecords } from './user-records.ts'

/**
 * Users that wait for projects: to add one costs as much as all the rest of a creation. There are none until projects are created in
 * quick succession; whenever none is left, twice as many are added, beside everything else.
 */
export interface SpareUsers {
  /** One that waits, or the next that is added; null where neither is. It is the caller's, to give to a project or to give back. */
  take(): Promise<ProjectUser | null>
  giveBack(user: ProjectUser): void
  /** Finds those that an earlier service added, and begins to add those that it only wrote down. */
  resume(): Promise<void>
  /** The one that is being added is the last. */
  close(): Promise<void>
}

export interface SpareUsersOptions {
  readonly records: Omit<SpareRecords, 'give'>
  /** Never more than this many at once. */
  readonly most: number
  homeOf(name: string): string
  /** From the machine, where it is the same user still. */
  remove(user: ProjectUser): Promise<void>
  onError(error: unknown, what: string): void
}

export function createSpareUsers(options: SpareUsersOptions): SpareUsers {
  const { most, onError } = options
  const waiting: ProjectUser[] = []
  const asking = createAsking()
  const adding = createAdding(options, (user) => {
    if (!asking.answer(user)) waiting.push(user)
  })
  let wanted = 0
  let missedAt = Number.NEGATIVE_INFINITY
  let failedAt = Number.NEGATIVE_INFINITY
  let filling: Promise<void> | null = null

  const isLacking = () => adding.isBehind() || waiting.length < wanted
  /** False when there can be no more. */
  const fill = async (): Promise<boolean> => {
    while (isLacking()) if (!(await adding.add(wanted - waiting.length))) return false
    return true
  }
  const refill = () => {
    if (filling !== null || !isLacking()) return
    filling = fill()
      .catch((error: unknown) => {
        failedAt = performance.now()
        onError(error, 'adding users that wait for projects')
        return false
      })
      .then((isMore) => {
        filling = null
        // Others may have come while it ended.
        if (isMore) refill()
        if (filling === null) asking.end()
      })
  }
  /** It waited perhaps for months: who has its number by now may be somebody else. */
  const firstThere = async (): Promise<ProjectUser | null> => {
    if (waiting.length === 0) return null
    const listed = await listedUsers()
    for (let user = waiting.shift(); user !== undefined; user = waiting.shift()) {
      const now = listed(user.name)
      if (now?.uid === user.uid && now.gid === user.gid) return user
      await options.records.drop(user)
    }
    return null
  }
  const nextAdded = async () => {
    const user = await asking.ask()
    // A machine that takes so long is not asked again at once.
    if (user === null) failedAt = performance.now()
    return user
  }

  return {
    take: async () => {
      const user = await firstThere()
      const now = performance.now()
      if (user === null) {
        if (now - missedAt < quickMs) wanted = Math.min(most, Math.max(first, 2 * wanted))
        missedAt = now
      }
      const mayAsk = now - failedAt > quickMs
      if (waiting.length <= wanted / 2 && mayAsk) refill()
      return user !== null || filling === null || !mayAsk ? user : nextAdded()
    },
    giveBack: (user) => void waiting.push(user),
    resume: async () => {
      await adding.find()
      wanted = Math.min(most, waiting.length + adding.behind())
      refill()
    },
    close: async () => {
      adding.close()
      await filling
    },
  }
}

const first = 2
/** Two creations within this time are in quick succession. */
const quickMs = 10_000
/** A creation that waits longer goes on without: the user is made when it is needed. */
const patienceMs = 5_000

/** Creations that wait for the next user that is added, in their order. */
function createAsking() {
  const asking: ((user: ProjectUser | null) => void)[] = []
  return {
    /** Null when no more is added, or not soon. */
    ask: () =>
      new Promise<ProjectUser | null>((resolve) => {
        const answer = (user: ProjectUser | null) => {
          clearTimeout(timer)
          resolve(user)
        }
        const timer = setTimeout(() => {
          asking.splice(asking.indexOf(answer), 1)
          resolve(null)
        }, patienceMs)
        asking.push(answer)
      }),
    /** False when nobody waits. */
    answer: (user: ProjectUser): boolean => {
      const next = asking.shift()
      next?.(user)
      return next !== undefined
    },
    end: () => {
      for (const answer of asking.splice(0)) answer(null)
    },
  }
}

/**
 * What is written down comes first, so that a user that was added is known after a crash too; those that were not are added by the
 * next start, with the same numbers. Each that is there is handed over.
 */
function createAdding({ records, homeOf, remove }: SpareUsersOptions, hand: (user: ProjectUser) => void) {
  let behind: readonly ProjectUser[] = records.left
  let busySince: number | null = null
  let closed = false

  const isDone = (user: ProjectUser) => {
    behind = behind.filter((other) => other !== user)
  }
  /** Who else has the name or the number keeps it. */
  const settle = async (user: ProjectUser, result: AddResult) => {
    const found = typeof result === 'string' ? (await listedUsers())(user.name) : result
    if (found === null || found.uid !== user.uid) await records.drop(user)
    else if (found.gid !== user.gid) await records.keepIds(user, found)
    isDone(user)
    if (found?.uid === user.uid) hand({ ...user, gid: found.gid })
  }
  const addAll = async () => {
    const users = behind.map((user) => ({ name: user.name, uid: user.uid, home: homeOf(user.name), user }))
    for await (const { user, result } of addSystemUsers(users)) {
      if (result === 'busy') {
        busySince ??= performance.now()
        if (performance.now() - busySince < mostLockedMs) break
        busySince = null
        throw new Error('the list of users of this machine stays locked')
      }
      busySince = null
      await settle(user.user, result)
      if (closed) break
    }
  }

  return {
    isBehind: () => behind.length > 0 && !closed,
    behind: () => behind.length,
    /** Those that are there already. The administrator may have given the service another range since, for a reason. */
    find: async () => {
      const listed = behind.length === 0 ? () => null : await listedUsers()
      for (const user of behind) {
        const found = listed(user.name)
        if (!records.isInRange(user)) {
          await remove(user)
          await records.drop(user)
          isDone(user)
        } else if (found !== null) await settle(user, found)
      }
    },
    /** Until there are so many more; false when there are no numbers left. */
    add: async (count: number): Promise<boolean> => {
      if (busySince !== null) await sleep(50 + Math.random() * 100)
      const missing = count - behind.length
      if (missing > 0) behind = [...behind, ...(await records.add(missing))]
      if (behind.length === 0 || closed) return false
      await addAll()
      return !closed
    },
    close: () => {
      closed = true
    },
  }
}
