import { highestRole, isSecondFactorRequired } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { MustEnrol } from '../complete-login.ts'
import type { FactorSettings } from './parts.ts'

/**
 * By the setting and the highest role of this moment. Where nothing is required, nothing is looked up. Who has no password signs in by a
 * provider, whose second factor is its own.
 */
export function enrolmentRule(
  store: Pick<Store, 'secondFactors'>,
  config: Pick<FactorSettings, 'requireSecondFactor'>,
): MustEnrol {
  return async (user) =>
    user.passwordHash !== null &&
    isSecondFactorRequired(config.requireSecondFactor, highestRole(user)) &&
    !(await store.secondFactors.has(user.id))
}
