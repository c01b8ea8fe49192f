import { ProblemError } from '@stackquay/contract'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { AccessDeps } from './handlers.ts'
import { kindOf, makeInvite, setPassword } from './invites.ts'
import { hashPassword } from './passwords.ts'
import { recordRefused } from './record-refused.ts'
import { createThrottle, networkOf, type ThrottleOptions } from './throttle.ts'
import { hashOf } from './token-value.ts'
import { findUser } from './user-handlers.ts'

/** Links with which people set their password: the first one, or another. */
export function inviteHandlers(
  { store, denied, publicUrl }: Pick<AccessDeps, 'store' | 'denied' | 'publicUrl'>,
  options: ThrottleOptions & { readonly now: () => number },
) {
  const { now } = options
  const throttle = createThrottle(options)

  /** A right code is never refused for what others tried; guessing one of its 256 bits is nothing to fear. */
  const lookUp = async (code: string, context: RequestContext) => {
    const hash = hashOf(code)
    const invite = await store.invites.find(hash)
    const user = invite === null ? null : await store.users.find(invite.user)
    if (invite !== null && user !== null) return { hash, invite, user }
    await throttle.attempt(networkOf(context.ip), context.signal)
    throw gone()
  }

  return {
    async inviteUser({ params }, context) {
      const made = await store.transaction(async (tx) => {
        const user = await findUser(params.uid, store)
        if (user.disabled)
          throw new ProblemError('conflict', `"${user.username}" is disabled.`, { hint: 'Enable the user first.' })
        const link = await makeInvite(tx, user, { publicUrl: publicUrl(), now: now() })
        const { kind, expiresAt } = link
        const changes = { after: { kind, expiresAt } }
        await tx.audit.append(context.audit({ action: 'user.invite', target: user.username, changes }))
        return link
      })
      return { status: 201, body: made }
    },

    async getInvite({ params }, context) {
      const { invite, user } = await lookUp(params.token, context)
      return { status: 200, body: { kind: kindOf(user), username: user.username, expiresAt: invite.expiresAt } }
    },

    async redeemInvite({ params, body }, context) {
      const { hash, user } = await lookUp(params.token, context).catch(async (error: unknown) => {
        await recordRefused(denied, context, 'user.redeem_invite', 'unknown')
        throw error
      })
      const passwordHash = await hashPassword(body.password)
      await store.transaction(async (tx) => {
        // Of two who come at once one sets the password. Read again: an administrator may have disabled the user meanwhile.
        const still = await store.users.find(user.id)
        if (!(await tx.invites.take(hash)) || still === null || still.disabled) throw gone()
        await setPassword(tx, user.id, passwordHash)
        await tx.audit.append({
          ...context.audit({ action: 'user.redeem_invite', target: user.username, changes: { kind: kindOf(still) } }),
          actor: user.username,
        })
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

/** One answer, whatever is wrong with it: used, replaced, too old, of somebody who is disabled or gone, or never one. */
function gone(): ProblemError {
  return new ProblemError('not_found', 'This link does not hold any more, or never did.', {
    hint: 'Ask an administrator for a new one.',
  })
}
