import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../../http/handler.ts'
import type { PasswordAgain } from '../password-again.ts'
import { sessionOf } from '../session-of.ts'

/** For people who lost all of theirs. The way of last resort, so it asks the administrator again and leaves its trace. */
export function factorResetHandlers({
  store,
  passwordAgain,
}: {
  readonly store: Pick<Store, 'users' | 'secondFactors' | 'transaction'>
  readonly passwordAgain: PasswordAgain
}) {
  return {
    async resetSecondFactor({ params, body }, context) {
      const { sessionId } = sessionOf(context)
      await passwordAgain.check(context, body.password, 'user.second_factor.reset', 'password')
      const removed = await store.transaction(async (tx) => {
        const user = await store.users.find(params.uid)
        if (user === null) throw new ProblemError('not_found', `There is no user "${params.uid}".`)
        const { totp, passkeys } = await store.secondFactors.of(user.id)
        const kinds = [
          ...(totp === null ? [] : ['totp' as const]),
          ...(passkeys.length === 0 ? [] : ['passkey' as const]),
        ]
        await tx.secondFactors.removeAll(user.id)
        await tx.sessions.deleteOfUser(user.id, sessionId)
        await tx.devices.deleteOfUser(user.id)
        await tx.audit.append(
          context.audit({
            action: 'user.second_factor.reset',
            target: user.username,
            changes: { before: { secondFactors: kinds } },
          }),
        )
        for (const kind of kinds) {
          const data = { user: user.id, kind, added: false }
          await tx.events.append({ type: 'second-factor.changed', project: null, data })
        }
        return kinds
      })
      return { status: 200, body: { removed } }
    },
  } satisfies Partial<Handlers>
}
