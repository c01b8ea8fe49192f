import { ProblemError, type UserView } from '@stackquay/contract'
import { type FactorKind, newId, type Store, TakenError, type UserRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { hashPassword } from './passwords.ts'
import { sessionOf } from './session-of.ts'

export interface UserDeps {
  readonly store: Pick<Store, 'users' | 'tokens' | 'sessions' | 'secondFactors' | 'transaction'>
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
      const factors = await store.secondFactors.kinds()
      const items = rows.slice(0, limit).map((row) => viewOf(row, factors.get(row.id)))
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.username : null } }
    },

    async createUser({ body }, context) {
      const { username, role } = body
      const passwordHash = await hashPassword(body.password, 'known')
      const user = await store
        .transaction(async (tx) => {
          const made = await tx.users.insert({ id: newId('usr'), username, role, passwordHash })
          await tx.audit.append(
            context.audit({ action: 'user.create', target: username, changes: { after: { username, role } } }),
          )
          return made
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', `There is a user "${username}" already.`, { hint: 'Choose another name.' })
        })
      return { status: 201, body: viewOf(user) }
    },

    async getUser({ params }) {
      return { status: 200, body: await viewNow(await findUser(params.uid, store), store) }
    },

    async deleteUser({ params }, context) {
      await store.transaction(async (tx) => {
        const user = await findUser(params.uid, store)
        await keepAnAdmin(user, context, store)
        const tokens = await store.tokens.of(user.id, { limit: 1000 })
        await tx.users.delete(user.id)
        const { username, role, disabled } = user
        await tx.audit.append(
          context.audit({
            action: 'user.delete',
            target: username,
            changes: { before: { username, role, disabled, tokens: tokens.map(({ name }) => name) } },
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
      const { sessionId } = sessionOf(context)
      await findUser(params.uid, store)
      const passwordHash = body.password === undefined ? undefined : await hashPassword(body.password, 'known')
      const changed = await store.transaction(async (tx) => {
        // Transactions come one at a time, so what is read here is what the change is made to.
        const before = await findUser(params.uid, store)
        const { role = before.role, disabled = before.disabled } = body
        if (role !== 'admin' || disabled) await keepAnAdmin(before, context, store)
        if (role === before.role && disabled === before.disabled && passwordHash === undefined) return before
        const after = await tx.users.update(before.id, {
          role,
          disabled,
          ...(passwordHash === undefined ? {} : { passwordHash }),
        })
        if (passwordHash !== undefined || disabled) {
          await tx.sessions.deleteOfUser(before.id, sessionId)
          await tx.devices.deleteOfUser(before.id)
        }
        const password = passwordHash === undefined ? {} : { password: '[secret]' }
        await tx.audit.append(
          context.audit({
            action: 'user.change',
            target: before.username,
            changes: {
              before: { role: before.role, disabled: before.disabled, ...password },
              after: { role, disabled, ...password },
            },
          }),
        )
        return after
      })
      return { status: 200, body: await viewNow(changed, store) }
    },
  } satisfies Partial<Handlers>
}

async function findUser(id: string, store: UserDeps['store']): Promise<UserRow> {
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

function isAdmin({ role, disabled }: UserRow): boolean {
  return role === 'admin' && !disabled
}

async function viewNow(user: UserRow, store: UserDeps['store']): Promise<UserView> {
  return viewOf(user, (await store.secondFactors.kinds()).get(user.id))
}

function viewOf({ id, username, role, disabled, createdAt }: UserRow, factors: readonly FactorKind[] = []): UserView {
  const secondFactors = factors.length === 0 ? {} : { secondFactors: [...factors] }
  return { id, username, role, disabled, createdAt, ...secondFactors }
}
