import { ProblemError, visibleText } from '@stackquay/contract'
import { reachOf } from '@stackquay/domain/access'
import type { Handlers, Principal } from '../http/handler.ts'
import type { AccessDeps } from './handlers.ts'
import { setPassword } from './invites.ts'
import { createLoginGuard } from './login-guard.ts'
import { insertSession, loggedIn, newSession, personRights } from './new-session.ts'
import type { PasswordAgain } from './password-again.ts'
import { hashPassword, passwordHolds } from './passwords.ts'
import { recordRefused } from './record-refused.ts'
import { sessionOf } from './session-of.ts'
import type { ThrottleOptions } from './throttle.ts'

/** Log-in, log-out, and who one is. */
export function loginHandlers(
  {
    store,
    cookie,
    denied,
    passwordAgain,
  }: Pick<AccessDeps, 'store' | 'cookie' | 'denied'> & { readonly passwordAgain: PasswordAgain },
  options: ThrottleOptions & { readonly now: () => number },
) {
  const { now } = options
  const logins = createLoginGuard(store, options)
  return {
    async login({ body }, context) {
      const user = await store.users.byName(body.username)
      const attempt = await logins.begin({ ...body, user }, context)
      const holds = await passwordHolds(body.password, user?.passwordHash ?? null, attempt.urgency)
      if (user === null || !holds || user.disabled) {
        await recordRefused(denied, context, 'auth.login', body.username)
        throw new ProblemError('login_failed', 'The user name or the password is wrong.')
      }
      attempt.succeed()
      const session = newSession(context, now(), cookie)
      const device = await store.transaction(async (tx) => {
        await insertSession(tx, user, session)
        const made = await attempt.remember(tx, user, context)
        const changes = made === null ? null : { after: { device: made.id } }
        await tx.audit.append({
          ...context.audit({ action: 'auth.login', target: user.username, changes }),
          actor: user.username,
        })
        if (made !== null) {
          const data = { device: made.id, user: user.id }
          await tx.events.append({ type: 'device.added', project: null, data })
        }
        return made
      })
      return { status: 200, body: loggedIn(user, session.key, device), cookies: [cookie.line(session.secret)] }
    },

    async logout(_input, context) {
      const { sessionId } = sessionOf(context)
      await store.transaction(async (tx) => {
        await tx.sessions.delete(sessionId)
        await tx.audit.append(context.audit({ action: 'auth.logout' }))
      })
      return { status: 204, cookies: [cookie.clearing] }
    },

    async getMe(_input, { principal }) {
      return { status: 200, body: meOf(principal) }
    },

    async changePassword({ body }, context) {
      const { user, sessionId } = sessionOf(context)
      await passwordAgain.check(context, body.current, 'auth.password', 'current')
      const passwordHash = await hashPassword(body.new, 'known')
      await store.transaction(async (tx) => {
        await setPassword(tx, user.id, passwordHash, sessionId)
        await tx.audit.append(context.audit({ action: 'auth.password', target: user.name }))
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function meOf(principal: Principal) {
  switch (principal.kind) {
    case 'session': {
      const { user, scope, rights = { role: scope, projects: [], projectRoles: [] } } = principal
      return { kind: 'session' as const, user: user.name, userId: user.id, ...personRights(rights) }
    }
    case 'token': {
      const { token, user, scope } = principal
      // Empty says that it comes everywhere: one whose owner left it nothing still names its own.
      const reach = reachOf(principal) ?? []
      const projects = [...(reach.length === 0 ? principal.projects : reach)]
      return { kind: 'token' as const, name: visibleText(token.name), scope, projects, user: user.name }
    }
    case 'key':
    case 'anonymous':
      throw new ProblemError('unauthorized', 'Nobody is logged in.')
    default:
      return principal satisfies never
  }
}
