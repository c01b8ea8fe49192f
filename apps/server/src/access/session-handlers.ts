import { ProblemError, type SessionView } from '@stackquay/contract'
import type { SessionRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { sessionOf } from './session-of.ts'

/** One's own sessions: where one is logged in. Nobody sees those of others; an administrator ends them with a new password. */
export function sessionHandlers({ store }: { readonly store: Pick<Store, 'sessions' | 'transaction'> }) {
  return {
    async listSessions({ query }, context) {
      const { user, sessionId } = sessionOf(context)
      const { limit = 50, cursor = '' } = query
      const rows = (await store.sessions.of(user.id)).filter(({ id }) => id > cursor)
      const items = rows.slice(0, limit).map((row) => viewOf(row, sessionId))
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },

    async endSession({ params }, context) {
      const { user } = sessionOf(context)
      const session = (await store.sessions.of(user.id)).find(({ id }) => id === params.sid)
      if (session === undefined) throw new ProblemError('not_found', `You have no session "${params.sid}".`)
      await store.transaction(async (tx) => {
        await tx.sessions.delete(session.id)
        const { id, ip, userAgent, createdAt } = session
        await tx.audit.append(
          context.audit({ action: 'session.end', target: id, changes: { before: { ip, userAgent, createdAt } } }),
        )
      })
      return { status: 204 }
    },

    async endOtherSessions(_input, context) {
      const { user, sessionId } = sessionOf(context)
      const ended = (await store.sessions.of(user.id)).filter(({ id }) => id !== sessionId).map(({ id }) => id)
      await store.transaction(async (tx) => {
        await tx.sessions.deleteOfUser(user.id, sessionId)
        const devices = await tx.devices.deleteOfUser(user.id)
        await tx.audit.append(
          context.audit({
            action: 'session.end_others',
            target: user.name,
            changes: { before: { sessions: ended, devices } },
          }),
        )
      })
      return { status: 200, body: { ended: ended.length } }
    },
  } satisfies Partial<Handlers>
}

function viewOf({ id, createdAt, lastSeenAt, expiresAt, ip, userAgent }: SessionRow, current: string): SessionView {
  return { id, current: id === current, createdAt, lastSeenAt, expiresAt, ip, userAgent }
}
