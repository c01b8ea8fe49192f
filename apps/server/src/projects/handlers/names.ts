import { ProblemError } from '@stackquay/contract'
import { branchSeparator } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'

/** Host names below the base domain that projects cannot have. */
const reservedSlugs = new Set(['stackquay', 'api', 'www', 'share'])

/** `<slug>-dev` is where the dev server of another project would answer, and `<…>--<slug>` belongs to the project after it. */
export function isReserved(slug: string): boolean {
  return reservedSlugs.has(slug) || slug.endsWith('-dev') || slug.includes(branchSeparator)
}

/** Of a slug that a person chose, or that was made of a name. */
export function refuseReserved(slug: string): void {
  if (isReserved(slug))
    throw new ProblemError(
      'conflict',
      `The name "${slug}" is kept: names of the service itself and names that end in "-dev" or have "--" in them cannot be projects.`,
    )
}

export function nameTaken(slug: string, holder: ProjectRow | null, pointer = '/name'): ProblemError {
  const isFormer = holder !== null && holder.slug !== slug
  const whose = holder === null ? '' : ` by the project "${holder.spec.name}"${isFormer ? ', which was called so' : ''}`
  return new ProblemError('conflict', `The name "${slug}" is taken${whose}.`, {
    hint: isFormer
      ? `Choose another name, or remove that one from the project's names (DELETE /projects/${holder.slug}/domains/…).`
      : 'Choose another name, or send a slug of its own.',
    errors: [{ pointer, code: 'taken', detail: `"${slug}" is taken.` }],
  })
}
