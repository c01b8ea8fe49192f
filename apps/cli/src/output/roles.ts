import type { UserView } from '@stackquay/contract'

/** `operate`, `read; admin on shop`, `operate on shop, blog`. */
export function roleText(
  { role, projects, projectRoles }: Pick<UserView, 'role' | 'projects' | 'projectRoles'>,
  nameOf: (project: string) => string = (project) => project,
): string {
  const own = projectRoles.map((one) => `${one.role} on ${nameOf(one.project)}`)
  if (role === null) return own.join('; ')
  const where = projects.length === 0 ? role : `${role} on ${projects.map(nameOf).join(', ')}`
  return [where, ...own].join('; ')
}
