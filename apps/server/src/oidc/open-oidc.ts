import type { Store } from '@stackquay/store'
import type { MustEnrol } from '../access/complete-login.ts'
import type { PasswordAgain } from '../access/password-again.ts'
import type { SessionCookie } from '../access/session-cookie.ts'
import type { Config } from '../config.ts'
import type { DeniedLog } from '../http/denied-log.ts'
import { createArrivals } from './arrivals.ts'
import { createProviderClient } from './provider.ts'
import { createRefresher, type Refresher } from './refresher.ts'
import { createRoundCookies } from './round-cookie.ts'
import { oidcSettingsHandlers } from './settings-handlers.ts'
import { signInHandlers } from './sign-in-handlers.ts'

export interface OidcDeps {
  readonly store: Store
  readonly config: Pick<Config, 'publicUrl'>
  readonly instance: string
  readonly cookie: SessionCookie
  readonly denied: Pick<DeniedLog, 'record'>
  readonly passwordAgain: PasswordAgain
  readonly mustEnrol: MustEnrol
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
}

export interface Oidc {
  readonly refresher: Refresher
  readonly handlers: ReturnType<typeof oidcSettingsHandlers> & ReturnType<typeof signInHandlers>
}

/** Sign-in by a provider of OpenID Connect. Loads nothing of it until somebody signs in. */
export async function openOidc(deps: OidcDeps): Promise<Oidc> {
  const { store, instance, now, log } = deps
  const provider = createProviderClient({ now })
  const refresher = await createRefresher({ store, provider, now, log })
  const all = { ...deps, provider, refresher, rounds: createRoundCookies(instance), arrivals: createArrivals(now) }
  return { refresher, handlers: { ...oidcSettingsHandlers(all), ...signInHandlers(all) } }
}
