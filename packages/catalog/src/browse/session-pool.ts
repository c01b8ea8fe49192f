/** A connection as far as it is used again. */
export interface PooledSession {
  within<Value>(signal: AbortSignal, limitMs: number, act: () => Promise<Value>): Promise<Value>
  isEnded(): boolean
  end(): Promise<void>
}

/** Connections of the reader. One that has answered is used again, when what was asked over it was ours alone. */
export interface SessionPool<Session extends PooledSession> {
  take(): Promise<Session>
  give(session: Session, isWell: boolean): Promise<void>
  /** Asks over one of them. */
  reading<Value>(read: (session: Session) => Promise<Value>, signal: AbortSignal): Promise<Value>
  close(): Promise<void>
}

const mostIdle = 3
const limitMs = 30_000

export function sessionPool<Session extends PooledSession>(open: () => Promise<Session>): SessionPool<Session> {
  const idle: Session[] = []
  const take = async () => {
    for (let session = idle.pop(); session !== undefined; session = idle.pop()) if (!session.isEnded()) return session
    return open()
  }
  const give = async (session: Session, isWell: boolean) => {
    if (isWell && idle.length < mostIdle && !session.isEnded()) idle.push(session)
    else await session.end()
  }
  return {
    take,
    give,
    reading: async (read, signal) => {
      const session = await take()
      let isWell = false
      try {
        const value = await session.within(signal, limitMs, () => read(session))
        isWell = true
        return value
      } finally {
        await give(session, isWell)
      }
    },
    close: async () => {
      await Promise.all(idle.splice(0).map((session) => session.end()))
    },
  }
}
