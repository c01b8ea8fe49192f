import { ProblemError } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'

/** Nothing is run in a project whose files are still coming, or that is going or gone. */
export function refuseUnready(project: Pick<ProjectRow, 'phase' | 'slug'> | null): void {
  if (project === null) throw new ProblemError('not_found', 'The project is gone.')
  if (project.phase === 'ready') return
  throw new ProblemError('busy', `The project "${project.slug}" is being ${phaseWords[project.phase]}.`, {
    hint: 'Wait until that has ended.',
  })
}

const phaseWords = { creating: 'created', deleting: 'deleted' } as const
