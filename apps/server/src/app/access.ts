import { createAuthenticator } from '../access/authenticator.ts'
import { enrolmentRule } from '../access/factors/enrolment.ts'
import { createFirstAdmin } from '../access/first-admin.ts'
import { accessHandlers } from '../access/handlers.ts'
import { createPasswordAgain, type PasswordAgain } from '../access/password-again.ts'
import { createSessionCookie } from '../access/session-cookie.ts'
import { endSessionsOfOtherOrigin, instanceId } from '../access/session-origin.ts'
import type { Authenticator } from '../http/authenticator.ts'
import { createDeniedLog, type DeniedLog } from '../http/denied-log.ts'
import { openOidc } from '../oidc/open-oidc.ts'
import type { Refresher } from '../oidc/refresher.ts'
import { addressText } from '../ports/held-addresses.ts'
import { environmentsOf } from '../projects/environments.ts'
import type { Model } from '../projects/model.ts'
import { type SetupCode, setupCode } from '../setup-code.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'

/** Who may come in. */
export interface Access {
  readonly setup: SetupCode
  readonly authenticator: Authenticator
  /** Where refusals are written down. Closed by the HTTP app. */
  readonly denied: DeniedLog
  /** Asks whoever sits at an open page for their password. */
  readonly passwordAgain: PasswordAgain
  readonly handlers: ReturnType<typeof accessHandlers> & Awaited<ReturnType<typeof openOidc>>['handlers']
  /** Closed before the store. */
  readonly refresher: Refresher
}

export async function openAccess(
  {
    store,
    keys,
    keyReplaced,
    model,
  }: Pick<Instance, 'store' | 'keys'> & { keyReplaced(): Promise<void>; readonly model: Pick<Model, 'all'> },
  { config, log, say, now }: Pick<AppContext, 'config' | 'log' | 'say' | 'now'>,
): Promise<Access> {
  const ended = await endSessionsOfOtherOrigin(store, `${config.publicUrl} at ${addressText(config.listen)}`)
  if (ended > 0) say(`The address of the service is another than before, so all browser sessions ended (${ended}).`)

  const setup = setupCode(config.home, (await store.users.count()) === 0)
  if (config.admin !== null && setup.value() !== null) {
    await createFirstAdmin(store, config.admin)
    setup.used()
  }

  const instance = await instanceId(store)
  const cookie = createSessionCookie(instance, () => Math.round(config.sessions.ageMs / 1000))
  const denied = createDeniedLog({ store, log })
  const passwordAgain = createPasswordAgain(store, { now: Date.now })
  const handlers = accessHandlers({
    ...{ store, setupCode: setup.value, keys, cookie, denied, keyReplaced, passwordAgain, config },
    publicUrl: () => config.publicUrl,
  })
  const at = () => now().getTime()
  const mustEnrol = enrolmentRule(store, config)
  const oidc = await openOidc({ store, config, instance, cookie, denied, passwordAgain, mustEnrol, now: at, log })
  const { refresher } = oidc
  const environments = () => environmentsOf(model)
  return {
    setup,
    refresher,
    authenticator: createAuthenticator({
      ...{ store, cookie, log, environments, due: refresher.due },
      mustEnrol,
    }),
    denied,
    passwordAgain,
    handlers: {
      ...handlers,
      ...oidc.handlers,
      completeSetup: async (input, context) => {
        const reply = await handlers.completeSetup(input, context)
        setup.used()
        return reply
      },
    },
  }
}
