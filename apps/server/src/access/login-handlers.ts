import { ProblemError, visibleText } from '@stackquay/contract'
import { reachOf } from '@stackquay/domain/access'
import type { Handlers, Principal, RequestContext } from '../http/handler.ts'
import { completeLogin, type MustEnrol } from './complete-login.ts'
import type { FactorParts } from './factors/parts.ts'
import { askSecondFactor, isAsBefore } from './factors/second-step-handlers.ts'
import type { AccessDeps } from './handlers.ts'
import { setPassword } from './invites.ts'
import { createLoginGuard } from './login-guard.ts'
import { personRights } from './new-session.ts'
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
    factors,
    mustEnrol,
  }: Pick<AccessDeps, 'store' | 'cookie' | 'denied'> & {
    readonly passwordAgain: PasswordAgain
    readonly factors: FactorParts
    readonly mustEnrol: MustEnrol
  },
  options: ThrottleOptions & { readonly now: () => number },
) {
  const completing = { store, cookie, mustEnrol, now: options.now }
  const logins = createLoginGuard(store, options)
  const refuse = async (username: string, context: RequestContext): Promise<never> => {
    await recordRefused(denied, context, 'auth.login', username)
    throw new ProblemError('login_failed', 'The user name or the password is wrong.')
  }
  return {
    async login({ body }, context) {
      const user = await store.users.byName(body.username)
      const attempt = await logins.begin({ ...body, user }, context)
      const holds = await passwordHolds(body.password, user?.passwordHash ?? null, attempt.urgency)
      if (user === null || !holds || user.disabled) return refuse(body.username, context)
      attempt.succeed()
      // Asked again inside: a factor that was set up in the meantime counts for this log-in too.
      const has = () => store.secondFactors.has(user.id)
      let isOther = false
      const take = async () => {
        isOther = !(await isAsBefore(user, store))
        return !isOther && !(await has())
      }
      const proven = { user, take, remember: attempt.remember }
      const reply = (await has()) ? null : await completeLogin(proven, completing, context)
      // The answer waits for whoever failed before, and a new password may have come in that time.
      if (isOther) await refuse(body.username, context)
      return reply ?? askSecondFactor(user, attempt, { store, factors }, context)
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
      const { user, scope, rights = { role: scope, projects: [], projectRoles: [] }, mustEnrol } = principal
      const due = mustEnrol === true ? { mustEnrol } : {}
      return { kind: 'session' as const, user: user.name, userId: user.id, ...personRights(rights), ...due }
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
