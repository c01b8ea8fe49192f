/** Secrets that were shown and not confirmed: one for each session, in memory. */
export interface PendingTotp {
  /** Answers until when it may be confirmed. */
  begin(session: string, secret: string): number
  /** Null when there is none, or it was tried too often. */
  attempt(session: string): string | null
  end(session: string): void
}

export function createPendingTotp(now: () => number): PendingTotp {
  const open = new Map<string, { readonly secret: string; readonly expiresAt: number; tries: number }>()
  return {
    begin(session, secret) {
      const expiresAt = now() + pendingMs
      open.delete(session)
      open.set(session, { secret, expiresAt, tries: 0 })
      for (const id of open.keys()) {
        if (open.size <= mostPending) break
        open.delete(id)
      }
      return expiresAt
    },
    attempt(session) {
      const found = open.get(session)
      if (found === undefined || found.expiresAt <= now() || ++found.tries > mostTries) return null
      return found.secret
    },
    end: (session) => void open.delete(session),
  }
}

/** Long enough to find and install an app. */
const pendingMs = 15 * 60_000
const mostTries = 20
const mostPending = 1_000
