import type { PersonRights } from '@stackquay/domain/access'
import { newId, type Transaction, type UserRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { NewDevice } from './login-guard.ts'
import { newSessionSecret, type SessionCookie } from './session-cookie.ts'
import { hashOf } from './token-value.ts'

export interface NewSession {
  readonly secret: string
  readonly key: string
  readonly ip: string
  readonly userAgent: string | null
  readonly expiresAt: string
}

export function newSession(
  { ip, userAgent }: RequestContext,
  now: number,
  cookie: Pick<SessionCookie, 'seconds'>,
): NewSession {
  return {
    secret: newSessionSecret(),
    key: newSessionSecret(),
    ip,
    userAgent,
    expiresAt: new Date(now + cookie.seconds() * 1000).toISOString(),
  }
}

export async function insertSession(
  tx: Transaction,
  user: UserRow,
  { secret, key, ...session }: NewSession,
): Promise<void> {
  const halves = { cookieHash: hashOf(secret), keyHash: hashOf(key) }
  await tx.sessions.insert({ id: newId('ses'), ...halves, user: user.id, ...session })
}

/** As who is logged in is told. */
export function personRights({ role, projects, projectRoles }: PersonRights) {
  return { role, projects: [...projects], projectRoles: projectRoles.map((one) => ({ ...one })) }
}

/** The one time that the keys of a session and of its device are told. */
export function loggedIn(user: UserRow, csrfToken: string, device: NewDevice | null) {
  const deviceKey = device === null ? {} : { deviceKey: device.key }
  return {
    kind: 'session' as const,
    user: user.username,
    userId: user.id,
    ...personRights(user),
    csrfToken,
    ...deviceKey,
  }
}
