import { randomBytes, timingSafeEqual } from 'node:crypto'
import { ProblemError, type TokenView } from '@stackquay/contract'
import { includes } from '@stackquay/domain/access'
import { newId, type Store, TakenError, type TokenRow, type Transaction, type UserRow } from '@stackquay/store'
import type { Handlers, Principal, RequestContext } from '../http/handler.ts'
import { roleInsufficient } from '../http/refusal-problem.ts'
import { projectIds } from '../projects/project-ids.ts'
import type { KeyPlace } from '../sealing-key.ts'
import { createFirstAdmin } from './first-admin.ts'
import { createPasswordAgain } from './password-again.ts'
import { hashPassword, passwordHolds } from './passwords.ts'
import { secretKeyHandlers } from './secret-key-handlers.ts'
import { clearingCookieLine, cookieLine, newSessionSecret, sessionSeconds } from './session-cookie.ts'
import { sessionHandlers } from './session-handlers.ts'
import { sessionOf } from './session-of.ts'
import { addressKey, createThrottle, pass } from './throttle.ts'
import { hashOf, newTokenValue, shownPrefix } from './token-value.ts'
import { userHandlers } from './user-handlers.ts'

export interface AccessDeps {
  readonly store: Pick<Store, 'users' | 'sessions' | 'tokens' | 'projects' | 'sealing' | 'transaction' | 'replaceKey'>
  /** Where the key that seals secrets is kept. */
  readonly keys: KeyPlace
  /** The one-time code of the first start; null when there is none, and then nobody can use `POST /setup`. */
  readonly setupCode: () => string | null
  readonly now?: () => number
}

/** Set-up, login, sessions and tokens. Every change is audited in its own transaction; a refused login is too. */
export function accessHandlers({ store, setupCode, keys, now = Date.now }: AccessDeps) {
  const throttle = createThrottle(now)
  const passwordAgain = createPasswordAgain(store, now)

  return {
    ...sessionHandlers({ store }),
    ...userHandlers({ store }),
    ...secretKeyHandlers({ store, keys, passwordAgain }),

    async getSetup() {
      return { status: 200, body: { needsSetup: (await store.users.count()) === 0 } }
    },

    async completeSetup({ body }, context) {
      const keys = [`setup ${addressKey(context.ip)}`]
      if ((await store.users.count()) > 0) throw new ProblemError('already_set_up', 'An administrator exists already.')
      pass(throttle.attempt(keys))
      if (!sameText(body.code, setupCode())) {
        await refuse(context, 'setup.complete', body.username)
        throw new ProblemError('setup_code_wrong', 'This is not the one-time code of this service.')
      }
      throttle.succeed(keys)
      const session = newSession(context)
      const user = await createFirstAdmin(
        store,
        { ...body, audit: { ...context.audit({ action: 'setup.complete' }), actor: body.username } },
        (tx, made) => insertSession(tx, made, session),
      )
      return { status: 201, body: sessionView(user, session.csrfToken), cookies: [cookieLine(session.secret)] }
    },

    async login({ body }, context) {
      const nameKey = `user ${body.username.toLowerCase()}`
      const keys = [nameKey, addressKey(context.ip)]
      pass(throttle.attempt(keys))
      const user = await store.users.byName(body.username)
      const holds = await passwordHolds(body.password, user?.passwordHash ?? null)
      if (user === null || !holds || user.disabled) {
        await refuse(context, 'auth.login', body.username)
        throw new ProblemError('login_failed', 'The user name or the password is wrong.')
      }
      throttle.succeed(keys)
      throttle.forgive(nameKey)
      const session = newSession(context)
      await store.transaction(async (tx) => {
        await insertSession(tx, user, session)
        await tx.audit.append({
          ...context.audit({ action: 'auth.login', target: user.username }),
          actor: user.username,
        })
      })
      return { status: 200, body: sessionView(user, session.csrfToken), cookies: [cookieLine(session.secret)] }
    },

    async logout(_input, context) {
      const { sessionId } = sessionOf(context)
      await store.transaction(async (tx) => {
        await tx.sessions.delete(sessionId)
        await tx.audit.append(context.audit({ action: 'auth.logout' }))
      })
      return { status: 204, cookies: [clearingCookieLine] }
    },

    async getMe(_input, { principal }) {
      return { status: 200, body: meOf(principal) }
    },

    async changePassword({ body }, context) {
      const { user, sessionId } = sessionOf(context)
      await passwordAgain.check(context, body.current, 'auth.password', 'current')
      const passwordHash = await hashPassword(body.new)
      await store.transaction(async (tx) => {
        await tx.users.update(user.id, { passwordHash })
        await tx.sessions.deleteOfUser(user.id, sessionId)
        await tx.audit.append(context.audit({ action: 'auth.password', target: user.name }))
      })
      return { status: 204 }
    },

    async listTokens({ query }, context) {
      const limit = query.limit ?? 50
      const rows = await store.tokens.of(sessionOf(context).user.id, {
        limit: limit + 1,
        ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
      })
      const items = rows.slice(0, limit)
      return {
        status: 200,
        body: { items: items.map(tokenView), nextCursor: rows.length > limit ? items.at(-1)!.id : null },
      }
    },

    async createToken({ body }, context) {
      const { user, scope: role } = sessionOf(context)
      if (!includes(role, body.scope)) throw roleInsufficient(role, body.scope)
      const projects = await projectIds(store, body.projects)
      checkExpiry(body.expiresAt, now())
      const value = newTokenValue()
      const { name, scope, expiresAt } = body
      const token = {
        id: newId('tok'),
        hash: hashOf(value),
        prefix: shownPrefix(value),
        name,
        owner: user.id,
        scope,
        projects,
        expiresAt,
      }
      const row = await store
        .transaction(async (tx) => {
          const inserted = await tx.tokens.insert(token)
          await tx.audit.append(
            context.audit({
              action: 'token.create',
              target: name,
              changes: { after: { name, scope, projects, expiresAt } },
            }),
          )
          return inserted
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', `You have a token "${name}" already.`, {
            hint: 'Choose another name, or revoke that one.',
          })
        })
      return { status: 201, body: { ...tokenView(row), value } }
    },

    async revokeToken({ params }, context) {
      const { user, scope } = sessionOf(context)
      const token = await store.tokens.find(params.tid)
      if (token === null || (token.owner !== user.id && scope !== 'admin')) {
        throw new ProblemError('not_found', `There is no token "${params.tid}".`)
      }
      await store.transaction(async (tx) => {
        await tx.tokens.delete(token.id)
        const { name, projects } = token
        await tx.audit.append(
          context.audit({
            action: 'token.revoke',
            target: name,
            changes: { before: { name, scope: token.scope, projects } },
          }),
        )
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>

  /** A wrong password changes nothing, so its entry stands alone. The throttle bounds how many there can be. */
  async function refuse(context: RequestContext, action: string, target: string): Promise<void> {
    await store.transaction((tx) => tx.audit.append(context.audit({ action, target, outcome: 'denied' })))
  }

  function newSession({ ip, userAgent }: RequestContext): NewSession {
    return {
      secret: newSessionSecret(),
      csrfToken: randomBytes(24).toString('base64url'),
      ip,
      userAgent,
      expiresAt: new Date(now() + sessionSeconds * 1000).toISOString(),
    }
  }
}

interface NewSession {
  readonly secret: string
  readonly csrfToken: string
  readonly ip: string
  readonly userAgent: string | null
  readonly expiresAt: string
}

async function insertSession(tx: Transaction, user: UserRow, { secret, ...session }: NewSession): Promise<void> {
  await tx.sessions.insert({ id: newId('ses'), hash: hashOf(secret), user: user.id, ...session })
}

/** Compares hashes, so that neither the place of the first difference nor the length shows in the time it takes. */
function sameText(given: string, wanted: string | null): boolean {
  return wanted !== null && timingSafeEqual(Buffer.from(hashOf(given)), Buffer.from(hashOf(wanted)))
}

function sessionView(user: UserRow, csrfToken: string) {
  return { kind: 'session' as const, user: user.username, userId: user.id, role: user.role, csrfToken }
}

function meOf(principal: Principal) {
  switch (principal.kind) {
    case 'session': {
      const { user, scope, csrfToken } = principal
      return { kind: 'session' as const, user: user.name, userId: user.id, role: scope, csrfToken }
    }
    case 'token': {
      const { token, user, scope, projects } = principal
      return { kind: 'token' as const, name: token.name, scope, projects: [...projects], user: user.name }
    }
    case 'anonymous':
      throw new ProblemError('unauthorized', 'Nobody is logged in.')
    default:
      return principal satisfies never
  }
}

function tokenView({ id, name, scope, projects, prefix, createdAt, expiresAt, lastUsedAt }: TokenRow): TokenView {
  return { id, name, scope, projects: [...projects], prefix, createdAt, expiresAt, lastUsedAt }
}

function checkExpiry(expiresAt: string | null, now: number): void {
  if (expiresAt === null || Date.parse(expiresAt) > now) return
  const detail = 'The time lies in the past.'
  throw new ProblemError('validation_failed', `"expiresAt": ${detail}`, {
    errors: [{ pointer: '/expiresAt', code: 'in_the_past', detail }],
  })
}
