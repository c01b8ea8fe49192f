import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { passwordHolds } from './passwords.ts'
import { sessionOf } from './session-of.ts'
import { createThrottle, type ThrottleOptions } from './throttle.ts'

/**
 * Whoever sits at somebody's open page is not that person yet: what matters most asks for the password again. Wrong ones
 * are throttled per session, over all operations that ask, and recorded: who has taken a session can spoil that one alone.
 */
export interface PasswordAgain {
  check(context: RequestContext, password: string, action: string, field: string): Promise<void>
}

export function createPasswordAgain(
  store: Pick<Store, 'users' | 'transaction'>,
  options: ThrottleOptions = {},
): PasswordAgain {
  const throttle = createThrottle(options)
  return {
    async check(context, password, action, field) {
      const { user, sessionId } = sessionOf(context)
      await throttle.attempt(sessionId, context.signal)
      const stored = await store.users.find(user.id)
      if (!(await passwordHolds(password, stored?.passwordHash ?? null, 'known'))) {
        await store.transaction((tx) =>
          tx.audit.append(
            context.audit({ action, target: user.name, outcome: 'denied', changes: { reason: 'login_failed' } }),
          ),
        )
        throw new ProblemError('login_failed', 'The current password is wrong.', {
          hint: `Check "${field}" and try again.`,
        })
      }
      throttle.succeed(sessionId)
    },
  }
}
