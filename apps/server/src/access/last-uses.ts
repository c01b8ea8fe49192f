import type { Store } from '@stackquay/store'

/** When tokens and sessions were last used. Nobody waits for these writes, and their failure costs a time stamp, not a request. */
export interface LastUses {
  /** Written twice a minute, all together. */
  token(id: string, time: number): void
  /** May lag a minute: a write for every click would cost more than it tells. */
  session(id: string, lastSeen: number): void
  /** Writes the uses that are still in memory. */
  close(): Promise<void>
}

export interface LastUsesDeps {
  readonly store: Pick<Store, 'transaction'>
  readonly log: { warn(details: object, message: string): void }
  readonly now: () => number
}

export function createLastUses({ store, log, now }: LastUsesDeps): LastUses {
  const tokens = new Map<string, number>()
  const sessions = new Map<string, number>()
  const pending = new Set<Promise<void>>()
  const flushing = setInterval(flush, 30_000)
  flushing.unref()

  return {
    token: (id, time) => void tokens.set(id, time),
    session: (id, lastSeen) => {
      const time = now()
      if (time - Math.max(lastSeen, sessions.get(id) ?? 0) < 60_000) return
      sessions.set(id, time)
      if (sessions.size > 10_000) sessions.clear()
      write(
        'session',
        store.transaction((tx) => tx.sessions.touch(id)),
      )
    },
    close: async () => {
      clearInterval(flushing)
      flush()
      await Promise.all(pending)
    },
  }

  function flush(): void {
    if (tokens.size === 0) return
    const uses = new Map([...tokens].map(([token, time]) => [token, new Date(time).toISOString()]))
    tokens.clear()
    write(
      'token',
      store.transaction((tx) => tx.tokens.touch(uses)),
    )
  }

  function write(what: string, work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => log.warn({ err: error }, `The last use of a ${what} was not recorded.`))
      .finally(() => pending.delete(settled))
    pending.add(settled)
  }
}
