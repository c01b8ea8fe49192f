import { ProblemError, type Scope } from '@stackquay/contract'
import { freeUsername, roleByClaims, usernameFrom } from '@stackquay/domain'
import { type NewAuditEntry, newId, type Store, type Transaction, type UserRow } from '@stackquay/store'
import { isAdmin } from '../access/user-rights.ts'
import type { Arrival } from './arrivals.ts'
import type { Claims } from './provider.ts'
import type { StoredProvider } from './settings.ts'

export function signInFailed(detail: string, hint?: string): ProblemError {
  return new ProblemError('sign_in_failed', detail, hint === undefined ? {} : { hint })
}

/** The role that the provider gives now; null for who may not come in. */
export function roleOf(claims: Claims, { roles, defaultRole }: StoredProvider): Scope | null {
  return roleByClaims(claims, roles, defaultRole)
}

export function shownName({ preferred_username: preferred, email, name }: Claims): string | null {
  const found = [preferred, email, name].find((text): text is string => typeof text === 'string' && text !== '')
  return found?.replace(/\p{C}/gu, '').slice(0, 100) ?? null
}

export interface Resolving {
  readonly store: Store
  readonly settings: StoredProvider
  /** Who, whence and which request, for what is written down. */
  audit(entry: Pick<NewAuditEntry, 'action'> & Partial<Pick<NewAuditEntry, 'target' | 'changes'>>): NewAuditEntry
}

/**
 * The account of who has arrived, by issuer and subject and by nothing else: a name or an e-mail address that an account here has too leads
 * into none. Throws `sign_in_failed`.
 */
export async function personOf(
  tx: Transaction,
  { issuer, claims }: Pick<Arrival, 'issuer' | 'claims'>,
  deps: Resolving,
): Promise<UserRow> {
  const { store, settings } = deps
  const identity = await store.oidc.identity(issuer, claims.sub)
  const role = roleOf(claims, settings)
  const noRole = () =>
    signInFailed(
      'The provider gives you no role here.',
      'Ask who manages the provider, or an administrator of this service.',
    )
  if (identity === null) {
    if (!settings.createPeople)
      throw signInFailed(
        'No account here is linked to you at the provider.',
        'Log in with your password and link it, or ask an administrator.',
      )
    if (role === null) throw noRole()
    return makePerson(tx, { issuer, claims, role }, deps)
  }
  const user = await store.users.find(identity.user)
  if (user === null || user.disabled) throw signInFailed('The account is disabled.', 'Ask an administrator.')
  await tx.oidc.signedIn(issuer, claims.sub, shownName(claims))
  if (!identity.managed) return user
  if (role === null) throw noRole()
  return withRole(tx, user, role, deps)
}

async function makePerson(
  tx: Transaction,
  { issuer, claims, role }: { issuer: string; claims: Claims; role: Scope },
  { store, audit }: Resolving,
): Promise<UserRow> {
  const taken = new Set((await store.users.list()).map(({ username }) => username))
  const username = freeUsername(usernameFrom(claims), (name) => taken.has(name))
  const user = await tx.users.insert({ id: newId('usr'), username, role, passwordHash: null })
  await tx.oidc.link({ issuer, subject: claims.sub, user: user.id, managed: true, name: shownName(claims) })
  await tx.oidc.signedIn(issuer, claims.sub, shownName(claims))
  const after = { username, role, issuer, subject: claims.sub }
  await tx.audit.append({ ...audit({ action: 'user.create', target: username, changes: { after } }), actor: username })
  return user
}

/** The role follows the provider, but the last administrator stays one: nobody could mend the settings otherwise. */
export async function withRole(
  tx: Transaction,
  user: UserRow,
  role: Scope,
  { store, audit }: Pick<Resolving, 'store' | 'audit'>,
): Promise<UserRow> {
  // Who has no role but on projects was given that by an administrator; the provider does not widen it.
  if (user.role === null || user.role === role) return user
  const projectRoles = role === 'admin' && user.projects.length === 0 ? [] : user.projectRoles
  if (isAdmin(user) && !isAdmin({ ...user, role, projectRoles })) {
    const others = (await store.users.list()).filter((other) => other.id !== user.id && isAdmin(other))
    if (others.length === 0) return user
  }
  const changed = await tx.users.update(user.id, { role, projectRoles })
  const changes = { before: { role: user.role }, after: { role, by: 'provider' } }
  await tx.audit.append({ ...audit({ action: 'user.change', target: user.username, changes }) })
  return changed
}
