import { timingSafeEqual } from 'node:crypto'
import { ProblemError, type TokenView, visibleText } from '@stackquay/contract'
import { newId, type Store, TakenError, type TokenRow, type Transaction, type UserRow } from '@stackquay/store'
import type { DeniedLog } from '../http/denied-log.ts'
import type { Handlers, Principal, RequestContext } from '../http/handler.ts'
import { projectIds } from '../projects/project-ids.ts'
import type { KeyPlace } from '../sealing-key.ts'
import { deviceHandlers } from './device-handlers.ts'
import { createFirstAdmin } from './first-admin.ts'
import { createLoginGuard, type NewDevice, rememberDevice } from './login-guard.ts'
import { createPasswordAgain } from './password-again.ts'
import { hashPassword, passwordHolds } from './passwords.ts'
import { secretKeyHandlers } from './secret-key-handlers.ts'
import { newSessionSecret, type SessionCookie, sessionSeconds } from './session-cookie.ts'
import { sessionHandlers } from './session-handlers.ts'
import { sessionOf } from './session-of.ts'
import { createThrottle, networkOf, type ThrottleOptions } from './throttle.ts'
import { ticketHandlers } from './ticket-handlers.ts'
import { hashOf, newTokenValue, shownPrefix } from './token-value.ts'
import { userHandlers } from './user-handlers.ts'

export interface AccessDeps {
  readonly store: Pick<
    Store,
    'users' | 'sessions' | 'devices' | 'tokens' | 'projects' | 'sealing' | 'transaction' | 'replaceKey'
  >
  /** Where the key that seals secrets is kept. */
  readonly keys: KeyPlace
  readonly cookie: SessionCookie
  /** The one-time code of the first start; null when there is none, and then nobody can use `POST /setup`. */
  readonly setupCode: () => string | null
  /** Where refused log-ins are recorded. */
  readonly denied: Pick<DeniedLog, 'record'>
  readonly now?: () => number
  readonly wait?: ThrottleOptions['wait']
}

/** Set-up, login, sessions and tokens. Every change is audited in its own transaction; a refused login is too. */
export function accessHandlers({ store, setupCode, keys, cookie, denied, now = Date.now, wait }: AccessDeps) {
  const options = { now, ...(wait === undefined ? {} : { wait }) }
  const setupThrottle = createThrottle(options)
  const logins = createLoginGuard(store, options)
  const passwordAgain = createPasswordAgain(store, options)

  return {
    ...sessionHandlers({ store }),
    ...deviceHandlers({ store }),
    ...ticketHandlers({ store, now }),
    ...userHandlers({ store }),
    ...secretKeyHandlers({ store, keys, passwordAgain }),

    async getSetup() {
      return { status: 200, body: { needsSetup: (await store.users.count()) === 0 } }
    },

    async completeSetup({ body }, context) {
      if ((await store.users.count()) > 0) throw new ProblemError('already_set_up', 'An administrator exists already.')
      // The right code is never refused for what others tried; guessing one of its 59 bits is nothing to fear.
      if (!sameText(body.code, setupCode())) {
        await setupThrottle.attempt(networkOf(context.ip), context.signal)
        await refuse(context, 'setup.complete', body.username)
        throw new ProblemError('setup_code_wrong', 'This is not the one-time code of this service.')
      }
      let device: NewDevice | null = null
      const session = newSession(context)
      const user = await createFirstAdmin(
        store,
        { ...body, audit: { ...context.audit({ action: 'setup.complete' }), actor: body.username } },
        async (tx, made) => {
          await insertSession(tx, made, session)
          device = await rememberDevice(tx, made, null, context)
        },
      )
      const view = { ...loggedIn(user, session.key), ...deviceKeyOf(device) }
      return { status: 201, body: view, cookies: [cookie.line(session.secret)] }
    },

    async login({ body }, context) {
      const user = await store.users.byName(body.username)
      const attempt = await logins.begin({ ...body, user }, context)
      const holds = await passwordHolds(body.password, user?.passwordHash ?? null, attempt.urgency)
      if (user === null || !holds || user.disabled) {
        await refuse(context, 'auth.login', body.username)
        throw new ProblemError('login_failed', 'The user name or the password is wrong.')
      }
      attempt.succeed()
      const session = newSession(context)
      const device = await store.transaction(async (tx) => {
        await insertSession(tx, user, session)
        const made = await attempt.remember(tx, user, context)
        const changes = made === null ? null : { after: { device: made.id } }
        await tx.audit.append({
          ...context.audit({ action: 'auth.login', target: user.username, changes }),
          actor: user.username,
        })
        return made
      })
      const view = { ...loggedIn(user, session.key), ...deviceKeyOf(device) }
      return { status: 200, body: view, cookies: [cookie.line(session.secret)] }
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
        await tx.users.update(user.id, { passwordHash })
        await tx.sessions.deleteOfUser(user.id, sessionId)
        await tx.devices.deleteOfUser(user.id)
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
      const { user } = sessionOf(context)
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

  /** A wrong password changes nothing, so its entry stands alone. Names without end must not fill the log: they are counted. */
  async function refuse(context: RequestContext, action: string, target: string): Promise<void> {
    await denied.record(context.audit({ action, target: visibleText(target), outcome: 'denied' }))
  }

  function newSession({ ip, userAgent }: RequestContext): NewSession {
    return {
      secret: newSessionSecret(),
      key: newSessionSecret(),
      ip,
      userAgent,
      expiresAt: new Date(now() + sessionSeconds * 1000).toISOString(),
    }
  }
}

interface NewSession {
  readonly secret: string
  readonly key: string
  readonly ip: string
  readonly userAgent: string | null
  readonly expiresAt: string
}

async function insertSession(tx: Transaction, user: UserRow, { secret, key, ...session }: NewSession): Promise<void> {
  const halves = { cookieHash: hashOf(secret), keyHash: hashOf(key) }
  await tx.sessions.insert({ id: newId('ses'), ...halves, user: user.id, ...session })
}

function deviceKeyOf(device: NewDevice | null): { readonly deviceKey?: string } {
  return device === null ? {} : { deviceKey: device.key }
}

/** Compares hashes, so that neither the place of the first difference nor the length shows in the time it takes. */
function sameText(given: string, wanted: string | null): boolean {
  return wanted !== null && timingSafeEqual(Buffer.from(hashOf(given)), Buffer.from(hashOf(wanted)))
}

/** The one time that a session's key is told. */
function loggedIn(user: UserRow, csrfToken: string) {
  return { kind: 'session' as const, user: user.username, userId: user.id, role: user.role, csrfToken }
}

function meOf(principal: Principal) {
  switch (principal.kind) {
    case 'session': {
      const { user, scope } = principal
      return { kind: 'session' as const, user: user.name, userId: user.id, role: scope }
    }
    case 'token': {
      const { token, user, scope, projects } = principal
      return { kind: 'token' as const, name: visibleText(token.name), scope, projects: [...projects], user: user.name }
    }
    case 'anonymous':
      throw new ProblemError('unauthorized', 'Nobody is logged in.')
    default:
      return principal satisfies never
  }
}

function tokenView({ id, name, scope, projects, prefix, createdAt, expiresAt, lastUsedAt }: TokenRow): TokenView {
  return { id, name: visibleText(name), scope, projects: [...projects], prefix, createdAt, expiresAt, lastUsedAt }
}

function checkExpiry(expiresAt: string | null, now: number): void {
  if (expiresAt === null || Date.parse(expiresAt) > now) return
  const detail = 'The time lies in the past.'
  throw new ProblemError('validation_failed', `"expiresAt": ${detail}`, {
    errors: [{ pointer: '/expiresAt', code: 'in_the_past', detail }],
  })
}
