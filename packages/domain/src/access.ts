import { type Access, type Raise, type Scope, scopes } from '@stackquay/contract'

/**
 * The one policy of who may call what: caller × operation × project × parts of the request → null when allowed, else why not.
 * The server asks it before the body is read, without `parts`, and again every second for streams that stay open. What the
 * parsed parts raise it asks then, of whoever was let in, by `raisedRefusalOf`.
 */
export function refusalOf(
  caller: Caller,
  access: Access,
  project?: string | null,
  parts: RequestParts = {},
): Refusal | null {
  return ownRefusalOf(caller, access, project ?? null) ?? raisedRefusalOf(caller, access, parts)
}

/** The second half of the policy: whether what the request asks for needs more than its operation does by itself. */
export function raisedRefusalOf(caller: Caller, access: Access, parts: RequestParts): Refusal | null {
  const raised = raisedScope(access, parts)
  return raised === null ? null : ownRefusalOf(caller, { kind: 'scope', scope: raised }, null)
}

/** The highest scope that something in the request asks for; null when nothing in it raises the operation's own. */
export function raisedScope(access: Access, parts: RequestParts): Scope | null {
  const raises = access.kind === 'public' ? [] : (access.raised ?? [])
  const asked = raises.filter((raise) => holds(raise, parts)).map(({ to }) => to)
  return asked.reduce<Scope | null>((one, other) => (one !== null && includes(one, other) ? one : other), null)
}

/**
 * The last look, at the proposed change itself: what deletes kept data is for administrators, whatever request it came from and
 * whatever that declares.
 */
export function removalRefusalOf(caller: Caller, deletesData: readonly string[]): Refusal | null {
  return deletesData.length === 0 ? null : ownRefusalOf(caller, { kind: 'scope', scope: 'admin' }, null)
}

/** Parts of a request as they were parsed, never their text. */
export type RequestParts = { readonly [Part in Raise['when']['part']]?: unknown }

export type Caller =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'session'
      readonly scope: Scope
      /** A second factor is required of the person, who has none yet. */
      readonly mustEnrol?: boolean
    }
  | {
      readonly kind: 'token'
      /** What holds now: the weaker of the token's scope and its owner's role. */
      readonly scope: Scope
      /** Ids of the projects it is restricted to; empty for no restriction. */
      readonly projects: readonly string[]
    }
  /** A person who came with a key over SSH. */
  | { readonly kind: 'key'; readonly scope: Scope }

export type Refusal =
  | { readonly reason: 'unauthorized' }
  | { readonly reason: 'session_required' }
  | { readonly reason: 'enrolment_required' }
  | { readonly reason: 'token_restricted'; readonly because: 'instance' | 'creation' }
  | { readonly reason: 'project_forbidden' }
  | { readonly reason: 'scope_insufficient'; readonly tokenScope: Scope; readonly requiredScope: Scope }
  | { readonly reason: 'role_insufficient'; readonly role: Scope; readonly requiredScope: Scope }

function ownRefusalOf(caller: Caller, access: Access, project: string | null): Refusal | null {
  if (access.kind === 'public') return null
  switch (caller.kind) {
    case 'anonymous':
      return { reason: 'unauthorized' }
    case 'session':
      if (caller.mustEnrol && !(access.kind === 'authenticated' && access.enrolling))
        return { reason: 'enrolment_required' }
      return ofPerson(caller.scope, access)
    case 'token':
      return ofToken(caller, access, project)
    case 'key':
      if (access.session) return { reason: 'session_required' }
      return ofPerson(caller.scope, access)
    default:
      return caller satisfies never
  }
}

type Protected = Exclude<Access, { kind: 'public' }>

function ofPerson(role: Scope, access: Protected): Refusal | null {
  if (access.kind === 'authenticated' || includes(role, access.scope)) return null
  return { reason: 'role_insufficient', role, requiredScope: access.scope }
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

function holds({ when: { part, pointers, equals } }: Raise, parts: RequestParts): boolean {
  return pointers.some((pointer) => valuesAt(parts[part], pointer).includes(equals))
}

/** RFC 6901, with `*` for any name; none where nothing stands. */
function valuesAt(value: unknown, pointer: string): readonly unknown[] {
  const names = pointer.split('/').slice(1)
  return names.reduce<readonly unknown[]>(
    (found, name) =>
      found.flatMap((inner) => {
        if (typeof inner !== 'object' || inner === null) return []
        if (name === '*') return Object.values(inner)
        const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
        return Object.hasOwn(inner, key) ? [(inner as Readonly<Record<string, unknown>>)[key]] : []
      }),
    [value],
  )
}

/** Whether a caller's restriction lets it see a project; `null` stands for one that does not exist. */
export function mayEnter(caller: Caller, project: string | null): boolean {
  if (caller.kind !== 'token' || caller.projects.length === 0) return true
  return project !== null && caller.projects.includes(project)
}

/**
 * What a restriction to projects reaches: each with the environments of its branches, and never the other way round. `environments`: of
 * all projects, with the one that each is of.
 */
export function withEnvironments(
  projects: readonly string[],
  environments: Iterable<{ readonly project: string; readonly of: string }>,
): readonly string[] {
  if (projects.length === 0) return projects
  const reached = [...environments].filter(({ of, project }) => projects.includes(of) && !projects.includes(project))
  return reached.length === 0 ? projects : [...projects, ...reached.map(({ project }) => project)]
}

/** Each scope includes those before it. */
export function includes(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

export function weaker(one: Scope, other: Scope): Scope {
  return includes(one, other) ? other : one
}
