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
  const here = access.kind === 'scope' && access.project ? onProject(caller, project ?? null) : caller
  return ownRefusalOf(caller, access, project ?? null) ?? raisedRefusalOf(here, access, parts)
}

/** The second half of the policy: whether what the request asks for needs more than its operation does by itself. `caller`: as on its project. */
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
  | ({
      readonly kind: 'session'
      /** A second factor is required of the person, who has none yet. */
      readonly mustEnrol?: boolean
    } & Holder)
  | ({
      readonly kind: 'token'
      /** Ids of the projects it is restricted to; empty for no restriction. */
      readonly projects: readonly string[]
    } & Holder)
  /** A person who came with a key over SSH. */
  | ({ readonly kind: 'key' } & Holder)

interface Holder {
  /** The most that holds where the request is: on its project (`onProject`), else wherever the caller comes. Of a token the weaker of its own and its owner's. */
  readonly scope: Scope
  /** Of the person, where they are not the same everywhere: the owner's of a token. */
  readonly rights?: PersonRights | undefined
}

/** What a person may do. */
export interface PersonRights {
  /** Wherever no role of a project says otherwise; null for nothing there. */
  readonly role: Scope | null
  /** Ids of the projects that the role ends at; empty for no limit. */
  readonly projects: readonly string[]
  /** On these the person has this role, whatever the other is. */
  readonly projectRoles: readonly ProjectRole[]
}

export interface ProjectRole {
  /** Id. */
  readonly project: string
  readonly role: Scope
}

export type Refusal =
  | { readonly reason: 'unauthorized' }
  | { readonly reason: 'session_required' }
  | { readonly reason: 'enrolment_required' }
  | { readonly reason: 'token_restricted'; readonly because: 'instance' | 'creation' }
  | { readonly reason: 'person_limited'; readonly because: 'instance' | 'creation' }
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
      return ofPerson(caller, access, project)
    case 'token':
      return ofToken(caller, access, project)
    case 'key':
      if (access.session) return { reason: 'session_required' }
      return ofPerson(caller, access, project)
    default:
      return caller satisfies never
  }
}

type Protected = Exclude<Access, { kind: 'public' }>
type Known = Exclude<Caller, { kind: 'anonymous' }>

function ofPerson(caller: Known, access: Protected, project: string | null): Refusal | null {
  if (access.kind === 'authenticated') return null
  return limitOf(caller, access, project) ?? tooLittle(caller, access, project)
}

/**
 * Restrictions come before scopes: the answer about a project that is not the token's own must be the same whether or
 * not it exists, and whatever the operation needs.
 */
function ofToken(caller: Known & { kind: 'token' }, access: Protected, project: string | null): Refusal | null {
  if (access.session) return { reason: 'session_required' }
  if (access.kind === 'authenticated') return null
  if (caller.projects.length > 0) {
    if (access.project && !mayEnter(caller, project)) return { reason: 'project_forbidden' }
    if (access.instance) return { reason: 'token_restricted', because: 'instance' }
    if (access.unrestricted) return { reason: 'token_restricted', because: 'creation' }
  }
  return limitOf(caller, access, project) ?? tooLittle(caller, access, project)
}

type Scoped = Extract<Access, { kind: 'scope' }>

/** What is closed to whoever does not come everywhere. */
function limitOf(caller: Known, access: Scoped, project: string | null): Refusal | null {
  if (access.project && !mayEnter(caller, project)) return { reason: 'project_forbidden' }
  if (caller.rights === undefined || !isLimited(caller.rights)) return null
  if (access.instance) return { reason: 'person_limited', because: 'instance' }
  if (access.unrestricted) return { reason: 'person_limited', because: 'creation' }
  return null
}

function tooLittle(caller: Known, access: Scoped, project: string | null): Refusal | null {
  const scope = scopeFor(caller, access, project)
  if (scope !== null && includes(scope, access.scope)) return null
  const has = scope ?? 'read'
  if (caller.kind === 'token') return { reason: 'scope_insufficient', tokenScope: has, requiredScope: access.scope }
  return { reason: 'role_insufficient', role: has, requiredScope: access.scope }
}

/** A role on one project reaches neither the instance nor a project that is to be made. */
function scopeFor(caller: Known, access: Scoped, project: string | null): Scope | null {
  const { rights, scope } = caller
  if (rights === undefined) return scope
  const here = access.project ? scopeOn(caller, project) : scope
  if (!access.instance && !access.unrestricted) return here
  return here === null || rights.role === null ? null : weaker(here, rights.role)
}

/** The most that a caller may do on a project, named by its id; null for one that is closed to it. */
export function scopeOn(caller: Caller, project: string | null): Scope | null {
  if (caller.kind === 'anonymous') return null
  const { rights, scope } = caller
  if (rights === undefined) return mayEnter(caller, project) ? scope : null
  const role = project === null ? null : roleOn(rights, project)
  if (role === null || !mayEnter(caller, project)) return null
  return caller.kind === 'token' ? weaker(scope, role) : role
}

/** The caller as it is on the project that a request is about: its scope is the one that holds there. */
export function onProject<C extends Caller>(caller: C, project: string | null): C {
  if (caller.kind === 'anonymous' || caller.rights === undefined) return caller
  const scope = scopeOn(caller, project)
  return scope === null ? caller : { ...caller, scope }
}

/** A person's role on a project; null where they do not come. */
export function roleOn({ role, projects, projectRoles }: PersonRights, project: string): Scope | null {
  const own = projectRoles.find((one) => one.project === project)
  if (own !== undefined) return own.role
  return projects.length === 0 || projects.includes(project) ? role : null
}

/** The most that a person has anywhere. */
export function highestRole({ role, projectRoles }: PersonRights): Scope {
  const all = [...(role === null ? [] : [role]), ...projectRoles.map((one) => one.role)]
  return all.reduce<Scope>((one, other) => (includes(one, other) ? one : other), 'read')
}

/** Whether a person comes only to some projects: the instance is closed to them, as to a restricted token. */
export function isLimited({ role, projects }: Pick<PersonRights, 'role' | 'projects'>): boolean {
  return role === null || projects.length > 0
}

/** Whether a person has the same role everywhere. */
export function isSameEverywhere(rights: PersonRights): boolean {
  return !isLimited(rights) && rights.projectRoles.length === 0
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
  if (caller.kind === 'anonymous') return true
  const { rights } = caller
  if (rights !== undefined && isLimited(rights) && (project === null || roleOn(rights, project) === null)) return false
  if (caller.kind !== 'token' || caller.projects.length === 0) return true
  return project !== null && caller.projects.includes(project)
}

/** Ids of the projects that a caller comes to; null for all. */
export function reachOf(caller: Caller): readonly string[] | null {
  if (caller.kind === 'anonymous') return null
  const { rights } = caller
  const own = caller.kind === 'token' && caller.projects.length > 0 ? caller.projects : null
  if (rights === undefined || !isLimited(rights)) return own
  const reached = own ?? [...new Set([...rights.projects, ...rights.projectRoles.map(({ project }) => project)])]
  return reached.filter((project) => roleOn(rights, project) !== null)
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

/** A person's rights with the environments of branches: on each the role is that of the project it is of, unless it has one of its own. */
export function rightsWithEnvironments(
  rights: PersonRights,
  environments: Iterable<{ readonly project: string; readonly of: string }>,
): PersonRights {
  if (isSameEverywhere(rights)) return rights
  const all = [...environments]
  const named = new Set(rights.projectRoles.map(({ project }) => project))
  const inherited = all.flatMap(({ project, of }) => {
    const role = rights.projectRoles.find((one) => one.project === of)?.role
    return role === undefined || named.has(project) ? [] : [{ project, role }]
  })
  return {
    role: rights.role,
    projects: withEnvironments(rights.projects, all),
    projectRoles: inherited.length === 0 ? rights.projectRoles : [...rights.projectRoles, ...inherited],
  }
}

/** Whether a caller manages the instance, whatever else it asks for. */
export function managesInstance(caller: Caller): boolean {
  return ownRefusalOf(caller, { kind: 'scope', scope: 'admin', instance: true }, null) === null
}

/** Each scope includes those before it. */
export function includes(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

export function weaker(one: Scope, other: Scope): Scope {
  return includes(one, other) ? other : one
}
