import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../../http/handler.ts'
import type { PasswordAgain } from '../password-again.ts'
import { sessionOf } from '../session-of.ts'
import { removeFactors } from './remove-factors.ts'

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
        const kinds = await removeFactors(tx, user.id, store)
        await tx.sessions.deleteOfUser(user.id, sessionId)
        await tx.devices.deleteOfUser(user.id)
        await tx.audit.append(
          context.audit({
            action: 'user.second_factor.reset',
            target: user.username,
            changes: { before: { secondFactors: kinds } },
          }),
        )
        return kinds
      })
      return { status: 200, body: { removed: [...removed] } }
    },
  } satisfies Partial<Handlers>
}
