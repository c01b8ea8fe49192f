import { highestRole, mayEnter, readSshUser, refusalOf, type SshUser } from '@stackquay/domain'
import type { ProjectRow, SshKeyRow, Store } from '@stackquay/store'
import { held } from '../access/authenticator.ts'
import type { Authenticator } from '../http/authenticator.ts'
import type { Principal } from '../http/handler.ts'

/** Somebody who proved who it is, by a key or by a token. */
export type SshPrincipal = Principal & { readonly kind: 'key' | 'token' }

/** By what somebody came, to be looked at again. */
export type Credential =
  | { readonly kind: 'key'; readonly id: string }
  | { readonly kind: 'token'; readonly value: string }

export interface Callers {
  /** Null: nobody, or nobody any more. Throws nothing. `use` notes that a token was used. */
  principalOf(credential: Credential, use: boolean): Promise<SshPrincipal | null>
  /** The key of an enabled user; null for any other. */
  keyOf(fingerprint: string): Promise<SshKeyRow | null>
  /** The project that the user name means, when this caller may work in it; null without a difference when there is none. */
  projectFor(
    principal: SshPrincipal,
    name: string,
  ): Promise<{ readonly project: ProjectRow; readonly user: SshUser } | null>
  /** Whether somebody who came in may still be there. */
  stillMay(credential: Credential, project: string): Promise<boolean>
}

const access = { kind: 'scope', scope: 'operate', project: true } as const

export function createCallers(
  store: Pick<Store, 'sshKeys' | 'users' | 'projects'>,
  authenticator: Pick<Authenticator, 'authenticate'>,
  environments: () => Iterable<{ readonly project: string; readonly of: string }> = () => [],
): Callers {
  const byKey = async (id: string): Promise<SshPrincipal | null> => {
    const key = await store.sshKeys.find(id)
    const user = key === null ? null : await store.users.find(key.user)
    if (key === null || user === null || user.disabled) return null
    return {
      kind: 'key',
      key: { id: key.id, name: key.name },
      user: { id: user.id, name: user.username },
      scope: highestRole(user),
      ...held(user, environments),
    }
  }
  const byToken = async (value: string, use: boolean): Promise<SshPrincipal | null> => {
    // One word, so that a password is never a header of another kind.
    if (!/^[\x21-\x7e]{1,200}$/.test(value)) return null
    const principal = await Promise.resolve()
      .then(() => authenticator.authenticate({ authorization: `Bearer ${value}` }, { use }))
      .catch(() => null)
    return principal?.kind === 'token' ? principal : null
  }
  const principalOf: Callers['principalOf'] = (credential, use) =>
    credential.kind === 'key' ? byKey(credential.id) : byToken(credential.value, use)
  const mayWork = (principal: SshPrincipal, project: string | null) =>
    project !== null && mayEnter(principal, project) && refusalOf(principal, access, project) === null

  return {
    principalOf,
    keyOf: async (fingerprint) => {
      const key = await store.sshKeys.byFingerprint(fingerprint)
      const user = key === null ? null : await store.users.find(key.user)
      return user === null || user.disabled ? null : key
    },
    projectFor: async (principal, name) => {
      const user = readSshUser(name)
      const project = user === null ? null : await store.projects.find(user.slug)
      if (user === null || project === null || project.slug !== user.slug) return null
      return mayWork(principal, project.id) && project.phase !== 'deleting' ? { project, user } : null
    },
    stillMay: async (credential, id) => {
      const principal = await principalOf(credential, false)
      if (principal === null || !mayWork(principal, id)) return false
      const project = await store.projects.find(id)
      return project !== null && project.phase !== 'deleting'
    },
  }
}
