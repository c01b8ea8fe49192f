import type { Store, Transaction, UserRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { NewDevice } from './login-guard.ts'
import { insertSession, loggedIn, newSession } from './new-session.ts'
import type { SessionCookie } from './session-cookie.ts'

export interface CompleteLoginDeps {
  readonly store: Pick<Store, 'transaction'>
  readonly cookie: SessionCookie
  readonly now: () => number
  readonly mustEnrol: MustEnrol
}

/** Whether a second factor is required of the person, who has none. */
export type MustEnrol = (user: UserRow) => Promise<boolean>

/** What a log-in ends with, however the person proved itself. */
export interface ProvenLogin {
  readonly user: UserRow
  /** How, for the audit log: the password alone goes without saying. */
  readonly by?: string
  /** In the same transaction, before all else: what counts once is taken here. False: there is no session. */
  take?(tx: Transaction): Promise<boolean>
  remember(tx: Transaction, user: UserRow, context: RequestContext): Promise<NewDevice | null>
}

/** Rolls back, so that what opened nothing is not spent. */
class NotTaken extends Error {}

/** Opens the session and answers its two halves; null when `take` refused. */
export async function completeLogin(
  { user, by, take, remember }: ProvenLogin,
  { store, cookie, now, mustEnrol }: CompleteLoginDeps,
  context: RequestContext,
) {
  // Made here, at the end: nothing that was there before the proof becomes a session.
  const session = newSession(context, now(), cookie)
  const opened = store.transaction(async (tx) => {
    if (take !== undefined && !(await take(tx))) throw new NotTaken()
    await insertSession(tx, user, session)
    const device = await remember(tx, user, context)
    const after = { ...(device === null ? {} : { device: device.id }), ...(by === undefined ? {} : { by }) }
    const changes = Object.keys(after).length === 0 ? null : { after }
    await tx.audit.append({
      ...context.audit({ action: 'auth.login', target: user.username, changes }),
      actor: user.username,
    })
    if (device !== null) {
      const data = { device: device.id, user: user.id }
      await tx.events.append({ type: 'device.added', project: null, data })
    }
    return { device }
  })
  const done = await opened.catch((error: unknown) => {
    if (error instanceof NotTaken) return null
    throw error
  })
  if (done === null) return null
  const due = (await mustEnrol(user)) ? { mustEnrol: true as const } : {}
  const body = { ...loggedIn(user, session.key, done.device), ...due }
  return { status: 200 as const, body, cookies: [cookie.line(session.secret)] }
}
