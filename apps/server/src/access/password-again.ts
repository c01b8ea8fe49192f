import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { passwordHolds } from './passwords.ts'
import { sessionOf } from './session-of.ts'
import { createThrottle, pass } from './throttle.ts'

/**
 * Whoever sits at somebody's open page is not that person yet: what matters most asks for the password again. Wrong ones
 * are throttled per user, over all operations that ask, and recorded.
 */
export interface PasswordAgain {
  check(context: RequestContext, password: string, action: string, field: string): Promise<void>
}

export function createPasswordAgain(
  store: Pick<Store, 'users' | 'transaction'>,
  now: () => number = Date.now,
): PasswordAgain {
  const throttle = createThrottle(now)
  return {
    async check(context, password, action, field) {
      const { user } = sessionOf(context)
      const keys = [user.id]
      pass(throttle.attempt(keys))
      const stored = await store.users.find(user.id)
      if (!(await passwordHolds(password, stored?.passwordHash ?? null))) {
        await store.transaction((tx) =>
          tx.audit.append(
            context.audit({ action, target: user.name, outcome: 'denied', changes: { reason: 'login_failed' } }),
          ),
        )
        throw new ProblemError('login_failed', 'The current password is wrong.', {
          hint: `Check "${field}" and try again.`,
        })
      }
      throttle.succeed(keys)
    },
  }
}
