import { ProblemError } from '@stackquay/contract'
import { weaker } from '@stackquay/domain/access'
import type { KnownSession, Store } from '@stackquay/store'
import type { Principal } from '../http/handler.ts'
import { createSessionCheck, type SessionPrincipal } from './session-check.ts'
import type { SessionCookie } from './session-cookie.ts'
import { hashOf, isTokenValue } from './token-value.ts'

/** Tells who calls, by what is committed now: a revocation, an expiry or a demotion holds for the very next request. */
export interface Authenticator {
  /**
   * Anonymous without credentials; throws `unauthorized` for credentials that are not valid. A request with an
   * Authorization header is judged by that alone, never by its cookie. A cookie without the session's key is nobody.
   */
  authenticate(credentials: Credentials, options?: AuthenticateOptions): Principal | Promise<Principal>
  /** The session that made the ticket, when its cookie came too. Throws `ticket_invalid`. */
  authenticateTicket(credentials: Credentials, use: TicketedRequest): Promise<SessionPrincipal>
  /** For streams that are open, whatever began them: the session as it is now. Throws `unauthorized`. */
  sessionAgain(session: string): Promise<SessionPrincipal>
  /** Writes the last uses that are still in memory. */
  close(): Promise<void>
}

export interface Credentials {
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  readonly 'x-csrf-token'?: string | readonly string[] | undefined
}

export interface TicketedRequest {
  readonly ticket: string
  readonly target: string
  readonly resumes: boolean
  readonly secure: boolean
}

export interface AuthenticateOptions {
  /** Whether the request came over TLS: the cookie has another name then. */
  readonly secure?: boolean
  /** False for the watch over open streams: waiting is no use, and must not keep an idle session alive. */
  readonly use?: boolean
}

export interface AuthenticatorDeps {
  readonly store: Pick<Store, 'tokens' | 'sessions' | 'tickets' | 'transaction'>
  readonly cookie: SessionCookie
  readonly now?: () => number
  readonly log: { warn(details: object, message: string): void }
}

export const anonymous: Principal = Object.freeze({ kind: 'anonymous' })

export function createAuthenticator({ store, cookie: ours, log, now = Date.now }: AuthenticatorDeps): Authenticator {
  const sessions = createSessionCheck(store, now)
  const lastUses = new Map<string, number>()
  const lastTouches = new Map<string, number>()
  const pending = new Set<Promise<void>>()
  const flushing = setInterval(flush, 30_000)
  flushing.unref()

  return {
    authenticate({ authorization, cookie, 'x-csrf-token': key }, { use = true, secure = false } = {}) {
      if (authorization !== undefined) return byToken(authorization, use)
      if (cookie === undefined || typeof key !== 'string') return anonymous
      return sessions
        .byHalves({ cookies: ours.secretsIn(cookie, secure), key })
        .then((known) => (known === null ? anonymous : principalOf(known, use)))
    },
    async authenticateTicket({ cookie }, { ticket, target, resumes, secure }) {
      const cookies = ours.secretsIn(cookie, secure)
      return principalOf(await sessions.byTicket({ cookies, ticket, target, resumes }), true)
    },
    sessionAgain: async (session) => principalOf(await sessions.again(session), false),
    async close() {
      clearInterval(flushing)
      flush()
      await Promise.all(pending)
    },
  }

  function byToken(authorization: string, use: boolean): Principal {
    const value = bearerOf(authorization)
    if (!isTokenValue(value))
      throw refused('The token is mistyped: its checksum does not match.', 'Copy the token again.')
    const known = store.tokens.authenticate(hashOf(value))
    if (known === null)
      throw refused('The token is not known here, or was revoked.', 'Create a new one in the web page.')
    const { token, owner } = known
    const time = now()
    if (token.expiresAt !== null && Date.parse(token.expiresAt) <= time) {
      throw refused(`The token "${token.name}" expired at ${token.expiresAt}.`, 'Create a new one in the web page.')
    }
    if (owner.disabled) throw refused('The token’s owner is disabled.', 'Ask an administrator.')
    if (use) lastUses.set(token.id, time)
    return {
      kind: 'token',
      token: { id: token.id, name: token.name, scope: token.scope },
      user: { id: owner.id, name: owner.username },
      scope: weaker(token.scope, owner.role),
      projects: token.projects,
    }
  }

  function principalOf({ session, user }: KnownSession, use: boolean): SessionPrincipal {
    if (user.disabled) throw refused('The user is disabled.', 'Ask an administrator.')
    if (use) touch(session.id, Date.parse(session.lastSeenAt))
    return {
      kind: 'session',
      sessionId: session.id,
      user: { id: user.id, name: user.username },
      scope: user.role,
    }
  }

  /** A session's last use may lag a minute: a write for every click would cost more than it tells. */
  function touch(session: string, lastSeen: number): void {
    const time = now()
    if (time - Math.max(lastSeen, lastTouches.get(session) ?? 0) < 60_000) return
    lastTouches.set(session, time)
    if (lastTouches.size > 10_000) lastTouches.clear()
    write(
      'session',
      store.transaction((tx) => tx.sessions.touch(session)),
    )
  }

  function flush(): void {
    if (lastUses.size === 0) return
    const uses = new Map([...lastUses].map(([token, time]) => [token, new Date(time).toISOString()]))
    lastUses.clear()
    write(
      'token',
      store.transaction((tx) => tx.tokens.touch(uses)),
    )
  }

  /** Nobody waits for these writes, and their failure costs a time stamp, not a request. */
  function write(what: string, work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => log.warn({ err: error }, `The last use of a ${what} was not recorded.`))
      .finally(() => pending.delete(settled))
    pending.add(settled)
  }
}

function bearerOf(authorization: string): string {
  const match = /^Bearer +(\S+) *$/i.exec(authorization)
  if (match) return match[1]!
  throw refused('The Authorization header is malformed.', 'Send "Authorization: Bearer <token>".')
}

function refused(detail: string, hint: string): ProblemError {
  return new ProblemError('unauthorized', detail, {
    hint,
    headers: { 'www-authenticate': 'Bearer realm="stackquay", error="invalid_token"' },
  })
}
