import { isSecondFactorRequired } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { MustEnrol } from '../complete-login.ts'
import type { FactorSettings } from './parts.ts'

/** By the setting and the role of this moment. Where nothing is required, nothing is looked up. */
export function enrolmentRule(
  store: Pick<Store, 'secondFactors'>,
  config: Pick<FactorSettings, 'requireSecondFactor'>,
): MustEnrol {
  return async ({ id, role }) =>
    isSecondFactorRequired(config.requireSecondFactor, role) && !(await store.secondFactors.has(id))
}
