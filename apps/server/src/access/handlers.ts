import type { Store } from '@stackquay/store'
import type { DeniedLog } from '../http/denied-log.ts'
import type { KeyPlace } from '../sealing-key.ts'
import { deviceHandlers } from './device-handlers.ts'
import { factorAccountHandlers } from './factors/account-handlers.ts'
import { enrolmentRule } from './factors/enrolment.ts'
import { createFactorParts, type FactorSettings, usualFactorSettings } from './factors/parts.ts'
import { factorResetHandlers } from './factors/reset-handlers.ts'
import { secondStepHandlers } from './factors/second-step-handlers.ts'
import { inviteHandlers } from './invite-handlers.ts'
import { loginHandlers } from './login-handlers.ts'
import { createPasswordAgain, type PasswordAgain } from './password-again.ts'
import { secretKeyHandlers } from './secret-key-handlers.ts'
import type { SessionCookie } from './session-cookie.ts'
import { sessionHandlers } from './session-handlers.ts'
import { setupHandlers } from './setup-handlers.ts'
import type { ThrottleOptions } from './throttle.ts'
import { ticketHandlers } from './ticket-handlers.ts'
import { tokenHandlers } from './token-handlers.ts'
import { userHandlers } from './user-handlers.ts'

export interface AccessDeps {
  readonly store: Pick<
    Store,
    | 'users'
    | 'sessions'
    | 'devices'
    | 'secondFactors'
    | 'invites'
    | 'tokens'
    | 'projects'
    | 'sealing'
    | 'transaction'
    | 'replaceKey'
  >
  /** Where the key that seals secrets is kept. */
  readonly keys: KeyPlace
  readonly cookie: SessionCookie
  /** After the key that seals secrets was replaced. */
  readonly keyReplaced?: () => Promise<void>
  /** The one-time code of the first start; null when there is none, and then nobody can use `POST /setup`. */
  readonly setupCode: () => string | null
  /** Where refused log-ins are recorded. */
  readonly denied: Pick<DeniedLog, 'record'>
  /** Counts wrong passwords with whoever else asks for them. */
  readonly passwordAgain?: PasswordAgain
  readonly config?: FactorSettings
  /** Where people open the page. */
  readonly publicUrl: () => string
  readonly now?: () => number
  readonly wait?: ThrottleOptions['wait']
}

/** Set-up, login, sessions and tokens. Every change is audited in its own transaction; a refused login is too. */
export function accessHandlers(deps: AccessDeps) {
  const { store, keys, now = Date.now, wait } = deps
  const options = { now, ...(wait === undefined ? {} : { wait }) }
  const { passwordAgain = createPasswordAgain(store, options), config = usualFactorSettings } = deps
  const mustEnrol = enrolmentRule(store, config)
  const factors = createFactorParts(store, config, options)
  return {
    ...setupHandlers(deps, options),
    ...loginHandlers({ ...deps, passwordAgain, factors, mustEnrol }, options),
    ...secondStepHandlers({ ...deps, factors, mustEnrol, now }),
    ...factorAccountHandlers({ store, factors, passwordAgain, now }),
    ...factorResetHandlers({ store, passwordAgain }),
    ...sessionHandlers({ store }),
    ...deviceHandlers({ store }),
    ...ticketHandlers({ store, now }),
    ...tokenHandlers({ store, now }),
    ...userHandlers({ store }),
    ...inviteHandlers(deps, options),
    ...secretKeyHandlers({ store, keys, passwordAgain, keyReplaced: deps.keyReplaced ?? (async () => {}) }),
  }
}
