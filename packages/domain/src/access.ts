import { type Access, type Scope, scopes } from '@stackquay/contract'

/**
 * The one policy of who may call what: caller × operation × project → null when allowed, else why not.
 * The server asks it before the body is read, and again every second for streams that stay open.
 */
export function refusalOf(caller: Caller, access: Access, project?: string | null): Refusal | null {
  if (access.kind === 'public') return null
  switch (caller.kind) {
    case 'anonymous':
      return { reason: 'unauthorized' }
    case 'session':
      return ofSession(caller, access)
    case 'token':
      return ofToken(caller, access, project ?? null)
    default:
      return caller satisfies never
  }
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'session'; readonly scope: Scope }
  | {
      readonly kind: 'token'
      /** What holds now: the weaker of the token's scope and its owner's role. */
      readonly scope: Scope
      /** Ids of the projects it is restricted to; empty for no restriction. */
      readonly projects: readonly string[]
    }

export type Refusal =
  | { readonly reason: 'unauthorized' }
  | { readonly reason: 'session_required' }
  | { readonly reason: 'token_restricted'; readonly because: 'instance' | 'creation' }
  | { readonly reason: 'project_forbidden' }
  | { readonly reason: 'scope_insufficient'; readonly tokenScope: Scope; readonly requiredScope: Scope }
  | { readonly reason: 'role_insufficient'; readonly role: Scope; readonly requiredScope: Scope }

type Protected = Exclude<Access, { kind: 'public' }>

function ofSession(caller: Caller & { kind: 'session' }, access: Protected): Refusal | null {
  if (access.kind === 'authenticated' || includes(caller.scope, access.scope)) return null
  return { reason: 'role_insufficient', role: caller.scope, requiredScope: access.scope }
}

/**
 * Restrictions come before scopes: the answer about a project that is not the token's own must be the same whether or
 * not it exists, and whatever the operation needs.
 */
function ofToken(caller: Caller & { kind: 'token' }, access: Protected, project: string | null): Refusal | null {
  if (access.session) return { reason: 'session_required' }
  if (access.kind === 'authenticated') return null
  if (caller.projects.length > 0) {
    if (access.project && !mayEnter(caller, project)) return { reason: 'project_forbidden' }
    if (access.instance) return { reason: 'token_restricted', because: 'instance' }
    if (access.unrestricted) return { reason: 'token_restricted', because: 'creation' }
  }
  if (includes(caller.scope, access.scope)) return null
  return { reason: 'scope_insufficient', tokenScope: caller.scope, requiredScope: access.scope }
}

/** Whether a caller's restriction lets it see a project; `null` stands for one that does not exist. */
export function mayEnter(caller: Caller, project: string | null): boolean {
  if (caller.kind !== 'token' || caller.projects.length === 0) return true
  return project !== null && caller.projects.includes(project)
}

/** Each scope includes those before it. */
export function includes(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

export function weaker(one: Scope, other: Scope): Scope {
  return includes(one, other) ? other : one
}
