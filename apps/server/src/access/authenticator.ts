import { ProblemError } from '@stackquay/contract'
import {
  highestRole,
  isSameEverywhere,
  type PersonRights,
  rightsWithEnvironments,
  weaker,
  withEnvironments,
} from '@stackquay/domain/access'
import type { KnownSession, KnownToken, Store, UserRow } from '@stackquay/store'
import { type Authenticator, anonymous, type SessionPrincipal } from '../http/authenticator.ts'
import type { Principal } from '../http/handler.ts'
import type { MustEnrol } from './complete-login.ts'
import { createLastUses } from './last-uses.ts'
import { createSessionCheck } from './session-check.ts'
import type { SessionCookie } from './session-cookie.ts'
import { hashOf, isTokenValue } from './token-value.ts'

export interface AuthenticatorDeps {
  readonly store: Pick<Store, 'tokens' | 'sessions' | 'tickets' | 'transaction'>
  readonly cookie: SessionCookie
  readonly now?: () => number
  /** Of branches, with the projects that they are of. */
  readonly environments?: () => Iterable<{ readonly project: string; readonly of: string }>
  /** Of sessions whose provider must be asked first whether the person is still there. */
  readonly due?: (session: string) => Promise<void> | null
  /** Whether a second factor is required of somebody who has none. */
  readonly mustEnrol?: MustEnrol
  readonly log: { warn(details: object, message: string): void }
}

export function createAuthenticator({
  store,
  cookie: ours,
  log,
  environments = () => [],
  mustEnrol = async () => false,
  now = Date.now,
  due = () => null,
}: AuthenticatorDeps): Authenticator {
  const sessions = createSessionCheck(store, now)
  const lastUses = createLastUses({ store, log, now })

  return {
    authenticate({ authorization, cookie, 'x-csrf-token': key }, { use = true, secure = false } = {}) {
      if (authorization !== undefined) return byToken(authorization, use)
      if (cookie === undefined || typeof key !== 'string') return anonymous
      return sessions
        .byHalves({ cookies: ours.secretsIn(cookie, secure), key })
        .then((known) => (known === null ? anonymous : stillHere(known, use)))
    },
    async authenticateTicket({ cookie }, { ticket, target, resumes, secure }) {
      const cookies = ours.secretsIn(cookie, secure)
      return await principalOf(await sessions.byTicket({ cookies, ticket, target, resumes }), true)
    },
    sessionAgain: async (session) => principalOf(await sessions.again(session), false),
    close: lastUses.close,
  }

  function stillHere(known: KnownSession, use: boolean): Principal | Promise<Principal> {
    const { id } = known.session
    const asked = due(id)
    return asked === null ? principalOf(known, use) : asked.then(async () => principalOf(await sessions.again(id), use))
  }

  /** In the same turn where the store has the token in memory, which is so for most requests. */
  function byToken(authorization: string, use: boolean): Principal | Promise<Principal> {
    const value = bearerOf(authorization)
    if (!isTokenValue(value))
      throw refused('The token is mistyped: its checksum does not match.', 'Copy the token again.')
    const hash = hashOf(value)
    const known = store.tokens.recall(hash)
    if (known !== undefined) return ownerOf(known, use)
    return store.tokens.authenticate(hash).then((found) => {
      if (found !== null) return ownerOf(found, use)
      throw refused('The token is not known here, or was revoked.', 'Create a new one in the web page.')
    })
  }

  function ownerOf({ token, owner }: KnownToken, use: boolean): Principal {
    const time = now()
    if (token.expiresAt !== null && Date.parse(token.expiresAt) <= time) {
      throw refused(`The token "${token.name}" expired at ${token.expiresAt}.`, 'Create a new one in the web page.')
    }
    if (owner.disabled) throw refused('The token’s owner is disabled.', 'Ask an administrator.')
    if (use) lastUses.token(token.id, time)
    return {
      kind: 'token',
      token: { id: token.id, name: token.name, scope: token.scope },
      user: { id: owner.id, name: owner.username },
      scope: weaker(token.scope, highestRole(owner)),
      ...held(owner, environments),
      projects: token.projects.length === 0 ? token.projects : withEnvironments(token.projects, environments()),
    }
  }

  async function principalOf({ session, user }: KnownSession, use: boolean): Promise<SessionPrincipal> {
    if (user.disabled) throw refused('The user is disabled.', 'Ask an administrator.')
    if (use) lastUses.session(session.id, Date.parse(session.lastSeenAt))
    return {
      kind: 'session',
      sessionId: session.id,
      user: { id: user.id, name: user.username },
      scope: highestRole(user),
      ...held(user, environments),
      ...((await mustEnrol(user)) ? { mustEnrol: true } : {}),
    }
  }
}

/** The rights of a person who is not the same everywhere; for all others the role says all. */
export function held(
  user: Pick<UserRow, keyof PersonRights>,
  environments: NonNullable<AuthenticatorDeps['environments']>,
): { readonly rights?: PersonRights } {
  if (isSameEverywhere(user)) return {}
  const { role, projects, projectRoles } = user
  return { rights: rightsWithEnvironments({ role, projects, projectRoles }, environments()) }
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
