import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'

/**
 * Ids of projects that a body names in `projects`, by id or slug. Refuses with every one that there is not; one that is closed to the caller is none.
 */
export async function projectIds(
  store: Pick<Store, 'projects'>,
  refs: readonly string[],
  isOpen: (id: string) => boolean = () => true,
  pointer: (index: number) => string = (index) => `/projects/${index}`,
): Promise<string[]> {
  const found = await Promise.all(refs.map((ref) => store.projects.find(ref)))
  const errors = found.flatMap((project, index) =>
    project && isOpen(project.id)
      ? []
      : [{ pointer: pointer(index), code: 'unknown_project', detail: `There is no project "${refs[index]}".` }],
  )
  if (errors.length > 0) throw new ProblemError('validation_failed', errors[0]!.detail, { errors })
  return [...new Set(found.map((project) => project!.id))]
}
