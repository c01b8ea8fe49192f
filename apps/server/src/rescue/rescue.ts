import { byTheService, type NewAuditEntry, type Store, type Transaction, type UserRow } from '@stackquay/store'
import { removeFactors } from '../access/factors/remove-factors.ts'
import { makeInvite, setPassword } from '../access/invites.ts'
import { hashPassword } from '../access/passwords.ts'
import type { RescueRequest, RescueResult, RescueUser } from './request.ts'

/** It cannot be done as it was asked for; the message says why and what to do. */
export class RescueError extends Error {
  override readonly name = 'RescueError'
}

export interface RescueDeps {
  readonly store: Pick<Store, 'users' | 'sessions' | 'tokens' | 'secondFactors' | 'transaction'>
  readonly publicUrl: () => string
  readonly now: () => number
}

/**
 * What whoever has the host can do about people, whether or not anybody can log in. Every change is one transaction with its entry, in the one
 * process that has the store open: the running service, or this program in its place.
 */
export async function rescue(request: RescueRequest, deps: RescueDeps): Promise<RescueResult> {
  switch (request.command) {
    case 'users':
      return { command: 'users', users: await listUsers(deps) }
    case 'reset-password':
      return await resetPassword(request, deps)
    case 'end-sessions':
      return { command: 'end-sessions', ended: await endSessions(request.user, deps) }
    case 'revoke-tokens':
      return { command: 'revoke-tokens', ended: await revokeTokens(request.user, deps) }
    default:
      return request satisfies never
  }
}

async function listUsers({ store }: RescueDeps): Promise<readonly RescueUser[]> {
  const rows = await store.users.list()
  return Promise.all(
    rows.map(async ({ id, username, role, projects, projectRoles, disabled, passwordHash }) => ({
      ...{ username, role, projects, projectRoles, disabled, hasPassword: passwordHash !== null },
      sessions: (await store.sessions.of(id)).length,
      tokens: (await tokensOf(store, id)).length,
    })),
  )
}

async function resetPassword(
  { user: name, password, enable, withoutSecondFactor }: RescueRequest & { command: 'reset-password' },
  { store, publicUrl, now }: RescueDeps,
): Promise<RescueResult> {
  const passwordHash = password === undefined ? null : await hashPassword(password, 'known')
  return store.transaction(async (tx) => {
    const user = await find(name, store)
    if (user.disabled && !enable) throw new RescueError(`"${name}" is disabled. Add --enable to let them in again.`)
    const enabled = user.disabled
    if (enabled) await tx.users.update(user.id, { disabled: false })
    const link = passwordHash === null ? await makeInvite(tx, user, { publicUrl: publicUrl(), now: now() }) : null
    if (passwordHash !== null) await setPassword(tx, user.id, passwordHash)
    const factors = withoutSecondFactor ? await removeFactors(tx, user.id, store) : []
    const by = link === null ? { password: '[secret]' } : { link: link.expiresAt }
    await tx.audit.append(
      byTheHost({
        action: 'rescue.reset_password',
        target: name,
        changes: { before: { factors }, after: { ...by, enabled } },
      }),
    )
    return {
      ...{ command: 'reset-password', user: name, enabled, factors },
      link: link === null ? null : { url: link.url, expiresAt: link.expiresAt },
    }
  })
}

/** Known browsers go too: whoever has one would be let in before strangers. */
async function endSessions(name: string | undefined, { store }: RescueDeps): Promise<number> {
  return store.transaction(async (tx) => {
    const users = await chosen(name, store)
    let ended = 0
    for (const { id } of users) {
      ended += (await store.sessions.of(id)).length
      await tx.sessions.deleteOfUser(id)
      await tx.devices.deleteOfUser(id)
    }
    await note(tx, 'rescue.end_sessions', name, { sessions: ended })
    return ended
  })
}

async function revokeTokens(name: string | undefined, { store }: RescueDeps): Promise<number> {
  return store.transaction(async (tx) => {
    const users = await chosen(name, store)
    const names: string[] = []
    for (const { id, username } of users) {
      for (const token of await tokensOf(store, id)) {
        await tx.tokens.delete(token.id)
        names.push(name === undefined ? `${username}: ${token.name}` : token.name)
      }
    }
    // As many as are worth reading; the number says the rest.
    await note(tx, 'rescue.revoke_tokens', name, { count: names.length, tokens: names.slice(0, 100) })
    return names.length
  })
}

async function chosen(name: string | undefined, store: RescueDeps['store']): Promise<readonly UserRow[]> {
  return name === undefined ? store.users.list() : [await find(name, store)]
}

/** Whoever has the host may know the names. */
async function find(name: string, store: RescueDeps['store']): Promise<UserRow> {
  const user = await store.users.byName(name)
  if (user !== null) return user
  const names = (await store.users.list()).map(({ username }) => username)
  const there = names.length === 0 ? 'Nobody has set it up yet.' : `There is ${names.join(', ')}.`
  throw new RescueError(`There is no user "${name}". ${there}`)
}

async function tokensOf(store: RescueDeps['store'], user: string) {
  const all: Awaited<ReturnType<Store['tokens']['of']>>[number][] = []
  for (;;) {
    const page = await store.tokens.of(user, { limit: 200, cursor: all.at(-1)?.id ?? '' })
    all.push(...page)
    if (page.length < 200) return all
  }
}

async function note(tx: Transaction, action: string, name: string | undefined, before: object): Promise<void> {
  await tx.audit.append(byTheHost({ action, target: name ?? null, changes: { before: { ...before } } }))
}

/** No person did it that the service knows: somebody who has the machine. */
function byTheHost(entry: Parameters<typeof byTheService>[0]): NewAuditEntry {
  return { ...byTheService(entry), actor: 'host' }
}
