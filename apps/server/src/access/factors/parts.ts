import type { SecondFactorRule } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import { createThrottle, type Throttle, type ThrottleOptions } from '../throttle.ts'
import { createLoginChallenges, type LoginChallenges } from './login-challenges.ts'
import { createPasskeys, type Passkeys } from './passkeys.ts'
import type { OwnAddresses } from './relying-party.ts'
import { createSignedChallenges, type SignedChallenges } from './signed-challenges.ts'

/** What the instance is set to, read anew each time. */
export interface FactorSettings extends OwnAddresses {
  readonly requireSecondFactor: SecondFactorRule
}

/** What logging in and the account share of second factors. */
export interface FactorParts {
  readonly config: FactorSettings
  readonly signed: SignedChallenges
  readonly logins: LoginChallenges
  readonly passkeys: Passkeys
  /** Of codes, apart from that of passwords, by known browser or else by user: wherever they come from. */
  readonly codes: Throttle
}

export function createFactorParts(
  store: Pick<Store, 'secondFactors'>,
  config: FactorSettings,
  options: ThrottleOptions & { readonly now: () => number },
): FactorParts {
  const signed = createSignedChallenges(options.now)
  const codes = createThrottle(options)
  return {
    config,
    signed,
    logins: createLoginChallenges(options.now),
    passkeys: createPasskeys(store, signed),
    codes,
  }
}

/** Of tests and of programs that need no page. */
export const usualFactorSettings: FactorSettings = {
  publicUrl: 'http://localhost:8700',
  listen: { port: 8700 },
  requireSecondFactor: 'off',
}
