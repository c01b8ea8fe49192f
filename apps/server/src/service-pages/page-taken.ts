import { ProblemError } from '@stackquay/contract'
import { type ProjectSpec, pageLabel, servicePageOf, serviceTypesOf } from '@stackquay/domain'
import type { ProjectRow, Store } from '@stackquay/store'

/**
 * Throws when a service that is to be enabled has its page where an environment of a branch answers already. That one came first and keeps its
 * address; branches that come later get another.
 */
export async function refuseTakenPages(
  { slug, spec: before }: Pick<ProjectRow, 'slug' | 'spec'>,
  after: ProjectSpec,
  { store }: { readonly store: { readonly projects: Pick<Store['projects'], 'find'> } },
): Promise<void> {
  const isOn = (spec: ProjectSpec, name: string) => spec.services[name]?.enabled === true
  for (const type of serviceTypesOf(after)) {
    const { name, label } = type
    if (servicePageOf(type) === null || !isOn(after, name) || isOn(before, name)) continue
    const taken = pageLabel(name, slug)
    if ((await store.projects.find(taken)) === null) continue
    throw new ProblemError(
      'conflict',
      `The page of ${label} would be at "${taken}", which is the name of another project.`,
      {
        hint: 'It is the environment of a branch: delete that one, or rename it.',
      },
    )
  }
}
