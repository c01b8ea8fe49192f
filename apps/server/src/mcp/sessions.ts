import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

export interface Session {
  readonly token: string
  readonly transport: WebStandardStreamableHTTPServerTransport
}

/** Conversations of clients that begin with `initialize`. Each belongs to the token that began it. */
export interface Sessions {
  add(id: string, session: Session): void
  /** Null for none, and for one of another token: nobody learns the difference. */
  of(id: string, token: string): Session | null
  /** While a stream is open, a session is in use. Answers the function that says it is closed. */
  hold(id: string): () => void
  end(id: string): void
  close(): void
}

const mostOfToken = 10
const mostInAll = 100
/** Without a request and without an open stream. */
const idleMs = 30 * 60_000

export function createSessions(now: () => number = Date.now): Sessions {
  const sessions = new Map<string, Session & { usedAt: number; streams: number }>()
  let timer: NodeJS.Timeout | undefined

  const end = (id: string) => {
    const session = sessions.get(id)
    if (session === undefined || !sessions.delete(id)) return
    void session.transport.close().catch(() => undefined)
  }
  const endOldest = (of: (session: Session) => boolean) => {
    const found = [...sessions].filter(([, session]) => of(session)).sort(([, a], [, b]) => a.usedAt - b.usedAt)[0]
    if (found !== undefined) end(found[0])
  }
  const endIdle = () => {
    for (const [id, { usedAt, streams }] of sessions) if (streams === 0 && usedAt + idleMs <= now()) end(id)
    timer = sessions.size === 0 ? undefined : setTimeout(endIdle, idleMs / 10).unref()
  }

  return {
    add(id, session) {
      const own = [...sessions.values()].filter(({ token }) => token === session.token).length
      // A client that begins again and again has forgotten its earlier ones.
      if (own >= mostOfToken) endOldest(({ token }) => token === session.token)
      if (sessions.size >= mostInAll) endOldest(() => true)
      sessions.set(id, { ...session, usedAt: now(), streams: 0 })
      timer ??= setTimeout(endIdle, idleMs / 10).unref()
    },
    of(id, token) {
      const session = sessions.get(id)
      if (session === undefined || session.token !== token) return null
      session.usedAt = now()
      return session
    },
    hold(id) {
      const session = sessions.get(id)
      if (session === undefined) return () => undefined
      session.streams += 1
      return () => {
        session.streams -= 1
        session.usedAt = now()
      }
    },
    end,
    close() {
      clearTimeout(timer)
      for (const id of [...sessions.keys()]) end(id)
    },
  }
}
