import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'

/** Ids of projects that a body names in `projects`, by id or slug. Refuses with every one that there is not. */
export async function projectIds(store: Pick<Store, 'projects'>, refs: readonly string[]): Promise<string[]> {
  const found = await Promise.all(refs.map((ref) => store.projects.find(ref)))
  const errors = found.flatMap((project, index) =>
    project
      ? []
      : [{ pointer: `/projects/${index}`, code: 'unknown_project', detail: `There is no project "${refs[index]}".` }],
  )
  if (errors.length > 0) throw new ProblemError('validation_failed', errors[0]!.detail, { errors })
  return [...new Set(found.map((project) => project!.id))]
}
