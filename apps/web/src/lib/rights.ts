import type { Scope, UserView } from '@stackquay/contract'

export type Rights = Pick<UserView, 'role' | 'projects' | 'projectRoles'>

/** What somebody may do on a project, by its id; null stands for the whole instance, and as an answer for nothing. */
export function roleAt({ role, projects, projectRoles }: Rights, project: string | null): Scope | null {
  const own = projectRoles.find((one) => one.project === project)
  if (own !== undefined) return own.role
  return projects.length === 0 || (project !== null && projects.includes(project)) ? role : null
}

export interface RightsDraft {
  readonly role: Scope | 'none'
  readonly extent: 'all' | 'some'
  readonly projects: readonly string[]
  readonly projectRoles: readonly { readonly project: string; readonly role: Scope }[]
}

export function draftOf({ role, projects, projectRoles }: Rights): RightsDraft {
  return { role: role ?? 'none', extent: projects.length === 0 ? 'all' : 'some', projects, projectRoles }
}

/** As it is sent. What the choice above leaves without a meaning is left out. */
export function rightsOf({ role, extent, projects, projectRoles }: RightsDraft) {
  const limit = role === 'none' || extent === 'all' ? [] : [...projects]
  const isAdminOfAll = role === 'admin' && limit.length === 0
  return {
    role: role === 'none' ? null : role,
    projects: limit,
    projectRoles: isAdminOfAll ? [] : projectRoles.filter(({ project }) => project !== ''),
  }
}

/** Whether a draft can be sent; a choice of some projects without one would mean all of them. */
export function isWhole(draft: RightsDraft): boolean {
  const { role, projects, projectRoles } = rightsOf(draft)
  if (role === null) return projectRoles.length > 0
  return draft.extent === 'all' || projects.length > 0
}
