import { ProblemError, type Scope } from '@stackquay/contract'
import { isLimited, type PersonRights } from '@stackquay/domain/access'
import type { Store } from '@stackquay/store'
import { projectIds } from '../projects/project-ids.ts'

/** Rights as a request names them: what it leaves out stays. */
export interface RightsInput {
  readonly role?: Scope | null | undefined
  readonly projects?: readonly string[] | undefined
  readonly projectRoles?: PersonRights['projectRoles'] | undefined
}

const nothing: PersonRights = { role: null, projects: [], projectRoles: [] }

/** The rights that a person gets. Projects are named by id or slug; one that is gone may be sent back as it was read. */
export async function readRights(
  store: Pick<Store, 'projects'>,
  input: RightsInput,
  before: PersonRights = nothing,
): Promise<PersonRights> {
  const role = input.role === undefined ? before.role : input.role
  const projects = await idsOf(
    store,
    input.projects ?? before.projects,
    before.projects,
    (index) => `/projects/${index}`,
  )
  const given = input.projectRoles ?? before.projectRoles
  const known = before.projectRoles.map(({ project }) => project)
  const named = given.map(({ project }) => project)
  const ids = await idsOf(store, named, known, (index) => `/projectRoles/${index}/project`)
  const projectRoles = ids.map((project, index) => ({ project, role: given[index]!.role }))
  refuseTwice(ids)
  return checked({ role, projects: [...new Set(projects)], projectRoles }, input)
}

async function idsOf(
  store: Pick<Store, 'projects'>,
  refs: readonly string[],
  known: readonly string[],
  pointer: (index: number) => string,
): Promise<readonly string[]> {
  const ids: string[] = []
  for (const [index, ref] of refs.entries()) {
    const [id] = known.includes(ref) ? [ref] : await projectIds(store, [ref], undefined, () => pointer(index))
    ids.push(id!)
  }
  return ids
}

function refuseTwice(ids: readonly string[]): void {
  const index = ids.findIndex((id, at) => ids.indexOf(id) !== at)
  if (index !== -1)
    throw refused(`/projectRoles/${index}/project`, 'twice', 'The project has a role in this list already.')
}

/** What was not named goes where it would mean nothing. */
function checked(rights: PersonRights, input: RightsInput): PersonRights {
  const { role, projectRoles } = rights
  if (role === null && projectRoles.length === 0)
    throw refused('/role', 'no_role', 'A person needs a role, or one on a project.')
  if (role === null) {
    if ((input.projects ?? []).length > 0)
      throw refused('/projects', 'no_role', 'These limit the role, and there is none: name them in projectRoles.')
    return { ...rights, projects: [] }
  }
  if (role !== 'admin' || isLimited(rights) || projectRoles.length === 0) return rights
  if ((input.projectRoles ?? []).length > 0)
    throw refused(
      '/projectRoles',
      'admin_everywhere',
      'An administrator of the whole instance is one on every project.',
    )
  return { ...rights, projectRoles: [] }
}

function refused(pointer: string, code: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', `"${pointer.slice(1)}": ${detail}`, {
    errors: [{ pointer, code, detail }],
  })
}

/** Whether somebody manages the instance and can log in. */
export function isAdmin(
  user: PersonRights & { readonly disabled: boolean; readonly passwordHash: string | null },
): boolean {
  return user.role === 'admin' && !isLimited(user) && !user.disabled && user.passwordHash !== null
}
