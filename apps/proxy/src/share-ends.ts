import type { RoutePass, RouteShare, RouteTable } from './route-table.ts'

/** Closes what is open over a share, or by the pass of somebody who is signed in, at the moment it ends: by the clock, or because the table no longer has it. */
export interface ShareEnds {
  /** Answers the function that forgets it again. */
  add(share: RouteShare | RoutePass, close: () => void): () => void
  /** A new table is in use. */
  enforce(table: RouteTable): void
  stop(): void
}

/** Timers cannot be set for longer. */
const longestTimer = 2 ** 31 - 1

export function createShareEnds(now: () => number = Date.now): ShareEnds {
  const open = new Map<string, Set<() => void>>()
  const ends = new Map<string, number>()
  /** The shares of the table in use; null before there was one. */
  let kept: ReadonlyMap<string, number> | null = null
  let timer: NodeJS.Timeout | undefined

  const close = (id: string) => {
    const all = open.get(id)
    open.delete(id)
    ends.delete(id)
    for (const one of all ?? []) one()
  }
  const schedule = () => {
    clearTimeout(timer)
    const next = Math.min(...ends.values())
    if (!Number.isFinite(next)) return
    timer = setTimeout(
      () => {
        for (const [id, at] of ends) if (at <= now()) close(id)
        schedule()
      },
      Math.min(Math.max(0, next - now()), longestTimer),
    ).unref()
  }

  return {
    add(share, closeOne) {
      const { id } = share
      // The table before let it in, and its password took until now: too late.
      if (kept !== null && !kept.has(id)) {
        closeOne()
        return () => {}
      }
      const expiresAt = kept?.get(id) ?? share.expiresAt
      const all = open.get(id) ?? new Set()
      open.set(id, all.add(closeOne))
      if (ends.get(id) !== expiresAt) {
        ends.set(id, expiresAt)
        schedule()
      }
      return () => {
        all.delete(closeOne)
        if (all.size > 0 || open.get(id) !== all) return
        open.delete(id)
        ends.delete(id)
      }
    },
    enforce(table) {
      const now = new Map(
        table.routes.flatMap(({ share, signIn }) =>
          [...(share === undefined ? [] : [share]), ...(signIn?.passes ?? [])].map(({ id, expiresAt }) => [
            id,
            expiresAt,
          ]),
        ),
      )
      kept = now
      for (const id of [...open.keys()]) {
        const expiresAt = now.get(id)
        if (expiresAt === undefined) close(id)
        else ends.set(id, expiresAt)
      }
      schedule()
    },
    stop: () => clearTimeout(timer),
  }
}
