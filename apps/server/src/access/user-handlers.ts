import { ProblemError, type UserView } from '@stackquay/contract'
import { isSameEverywhere, type PersonRights } from '@stackquay/domain/access'
import { type FactorKind, newId, type Store, TakenError, type UserRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { hashPassword } from './passwords.ts'
import { sessionOf } from './session-of.ts'
import { isAdmin, readRights } from './user-rights.ts'

export interface UserDeps {
  readonly store: Pick<
    Store,
    'users' | 'tokens' | 'sessions' | 'secondFactors' | 'invites' | 'projects' | 'transaction'
  >
}

/**
 * The people. Rights are asked anew at every request, so a lower role, a disabling or a deletion holds from the next one on,
 * for tokens too. There is always an administrator who can log in.
 */
export function userHandlers({ store }: UserDeps) {
  return {
    ...changeHandler({ store }),

    async listUsers({ query }) {
      const { limit = 50, cursor = '' } = query
      const rows = (await store.users.list()).filter(({ username }) => username > cursor)
      const view = await viewer(store)
      const items = rows.slice(0, limit).map(view)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.username : null } }
    },

    async createUser({ body }, context) {
      const { username } = body
      const rights = await readRights(store, body)
      const passwordHash = body.password === undefined ? null : await hashPassword(body.password, 'known')
      const user = await store
        .transaction(async (tx) => {
          const made = await tx.users.insert({ id: newId('usr'), username, ...rights, passwordHash })
          await tx.audit.append(
            context.audit({
              action: 'user.create',
              target: username,
              changes: { after: { username, ...shown(rights) } },
            }),
          )
          return made
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', `There is a user "${username}" already.`, { hint: 'Choose another name.' })
        })
      return { status: 201, body: viewOf(user, null) }
    },

    async getUser({ params }) {
      return { status: 200, body: (await viewer(store))(await findUser(params.uid, store)) }
    },

    async deleteUser({ params }, context) {
      await store.transaction(async (tx) => {
        const user = await findUser(params.uid, store)
        await keepAnAdmin(user, context, store)
        const tokens = await store.tokens.of(user.id, { limit: 1000 })
        await tx.users.delete(user.id)
        const { username, disabled } = user
        await tx.audit.append(
          context.audit({
            action: 'user.delete',
            target: username,
            changes: { before: { username, ...shown(user), disabled, tokens: tokens.map(({ name }) => name) } },
          }),
        )
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function changeHandler({ store }: UserDeps) {
  return {
    async changeUser({ params, body }, context) {
      const { sessionId, user: own } = sessionOf(context)
      await findUser(params.uid, store)
      if (body.password !== undefined && params.uid === own.id)
        throw new ProblemError('conflict', 'Your own password is changed with the one before it.', {
          hint: 'Change it in your account, or with POST /auth/password.',
        })
      const passwordHash = body.password === undefined ? undefined : await hashPassword(body.password, 'known')
      const changed = await store.transaction(async (tx) => {
        // Transactions come one at a time, so what is read here is what the change is made to.
        const before = await findUser(params.uid, store)
        const { disabled = before.disabled } = body
        const rights = await readRights(store, body, before)
        if (!isAdmin({ ...before, ...rights, disabled })) await keepAnAdmin(before, context, store)
        const isSame = JSON.stringify(rights) === JSON.stringify(rightsOf(before))
        if (isSame && disabled === before.disabled && passwordHash === undefined) return before
        const after = await tx.users.update(before.id, {
          ...rights,
          disabled,
          ...(passwordHash === undefined ? {} : { passwordHash }),
        })
        if (passwordHash !== undefined || disabled) {
          await tx.sessions.deleteOfUser(before.id, sessionId)
          await tx.devices.deleteOfUser(before.id)
          await tx.invites.deleteOfUser(before.id)
        }
        const password = passwordHash === undefined ? {} : { password: '[secret]' }
        await tx.audit.append(
          context.audit({
            action: 'user.change',
            target: before.username,
            changes: {
              before: { ...shown(before), disabled: before.disabled, ...password },
              after: { ...shown(rights), disabled, ...password },
            },
          }),
        )
        return after
      })
      return { status: 200, body: (await viewer(store))(changed) }
    },
  } satisfies Partial<Handlers>
}

export async function findUser(id: string, store: Pick<Store, 'users'>): Promise<UserRow> {
  const user = await store.users.find(id)
  if (user === null) throw new ProblemError('not_found', `There is no user "${id}".`)
  return user
}

/** Throws when nobody could manage the service afterwards. */
async function keepAnAdmin(user: UserRow, context: RequestContext, store: UserDeps['store']): Promise<void> {
  if (!isAdmin(user)) return
  const others = (await store.users.list()).filter((other) => other.id !== user.id && isAdmin(other))
  if (others.length > 0) return
  const self = user.id === sessionOf(context).user.id
  throw new ProblemError('last_admin', `${self ? 'You are' : `"${user.username}" is`} the last administrator.`)
}

function rightsOf({ role, projects, projectRoles }: PersonRights): PersonRights {
  return { role, projects, projectRoles }
}

/** As the audit log tells it: of most people the role is all. */
function shown(rights: PersonRights): Partial<PersonRights> {
  return isSameEverywhere(rights) ? { role: rights.role } : rightsOf(rights)
}

async function viewer(store: Pick<Store, 'invites' | 'secondFactors'>): Promise<(user: UserRow) => UserView> {
  const [links, factors] = await Promise.all([store.invites.live(), store.secondFactors.kinds()])
  const until = new Map(links.map(({ user, expiresAt }) => [user, expiresAt]))
  return (user) => viewOf(user, until.get(user.id) ?? null, factors.get(user.id))
}

function viewOf(user: UserRow, invitedUntil: string | null, factors: readonly FactorKind[] = []): UserView {
  const { id, username, role, disabled, createdAt } = user
  const [projects, projectRoles] = [[...user.projects], user.projectRoles.map((one) => ({ ...one }))]
  return {
    ...{ id, username, role, projects, projectRoles, disabled, createdAt },
    ...{ hasPassword: user.passwordHash !== null, invitedUntil },
    ...(factors.length === 0 ? {} : { secondFactors: [...factors] }),
  }
}
