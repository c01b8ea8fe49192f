import { timingSafeEqual } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import { createFirstAdmin } from './first-admin.ts'
import type { AccessDeps } from './handlers.ts'
import { type NewDevice, rememberDevice } from './login-guard.ts'
import { insertSession, loggedIn, newSession } from './new-session.ts'
import { recordRefused } from './record-refused.ts'
import { createThrottle, networkOf, type ThrottleOptions } from './throttle.ts'
import { hashOf } from './token-value.ts'

/** The first administrator, by whoever knows the one-time code. */
export function setupHandlers(
  { store, setupCode, cookie, denied }: Pick<AccessDeps, 'store' | 'setupCode' | 'cookie' | 'denied'>,
  options: ThrottleOptions & { readonly now: () => number },
) {
  const { now } = options
  const setupThrottle = createThrottle(options)
  return {
    async getSetup() {
      return { status: 200, body: { needsSetup: (await store.users.count()) === 0 } }
    },

    async completeSetup({ body: given }, context) {
      if ((await store.users.count()) > 0) throw new ProblemError('already_set_up', 'An administrator exists already.')
      // The right code is never refused for what others tried; guessing one of its 59 bits is nothing to fear.
      if (!sameText(given.code, setupCode())) {
        await setupThrottle.attempt(networkOf(context.ip), context.signal)
        await recordRefused(denied, context, 'setup.complete', given.username)
        throw new ProblemError('setup_code_wrong', 'This is not the one-time code of this service.')
      }
      let device: NewDevice | null = null
      const session = newSession(context, now(), cookie)
      const user = await createFirstAdmin(
        store,
        { ...given, audit: { ...context.audit({ action: 'setup.complete' }), actor: given.username } },
        async (tx, made) => {
          await insertSession(tx, made, session)
          device = await rememberDevice(tx, made, null, context)
        },
      )
      const body = loggedIn(user, session.key, device)
      return { status: 201, body, cookies: [cookie.line(session.secret)] }
    },
  } satisfies Partial<Handlers>
}

/** Compares hashes, so that neither the place of the first difference nor the length shows in the time it takes. */
function sameText(given: string, wanted: string | null): boolean {
  return wanted !== null && timingSafeEqual(Buffer.from(hashOf(given)), Buffer.from(hashOf(wanted)))
}
