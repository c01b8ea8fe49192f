import { type GitChange, ProblemError } from '@stackquay/contract'
import { dirtyIn, type StatusRead } from './read-status.ts'
import type { OpenRepository } from './repository.ts'
import { statusOf, underWay } from './state.ts'

export function refused(
  detail: string,
  hint: string,
  extensions: Readonly<Record<string, unknown>> = {},
): ProblemError {
  return new ProblemError('git_refused', detail, { hint, extensions })
}

/** For what replaces files: nothing of somebody may be among them, and nothing may be under way. Throws `git_refused`. */
export async function requireClean(repository: OpenRepository, signal: AbortSignal, what: string): Promise<StatusRead> {
  await requireNothingUnderWay(repository, signal)
  const status = await statusOf(repository, signal)
  const dirty = dirtyIn(status.changed)
  if (dirty.length > 0) throw isDirty(dirty, what)
  return status
}

export async function requireNothingUnderWay(repository: OpenRepository, signal: AbortSignal): Promise<void> {
  const doing = await underWay(repository, { signal })
  if (doing !== null)
    throw refused(
      `A ${doing} is under way in the repository.`,
      `Finish it in a terminal of the project, or give it up: git ${doing === 'bisect' ? 'bisect reset' : `${doing} --abort`}`,
    )
}

function isDirty(dirty: readonly GitChange[], what: string): ProblemError {
  const names = dirty.map(({ path }) => path)
  const more = names.length > 10 ? ` and ${names.length - 10} more` : ''
  return refused(
    `Files differ from the last commit, so ${what} could run over them: ${names.slice(0, 10).join(', ')}${more}.`,
    'Commit them, or discard what was changed.',
    { changed: names.slice(0, 200) },
  )
}

/** Names whose bytes are no text cannot be named in JSON. */
export function requireText(paths: readonly string[]): void {
  const hidden = paths.filter((path) => path.includes('\ufffd'))
  if (hidden.length > 0)
    throw refused(
      `The names of files are no text, so they cannot be named here: ${hidden.slice(0, 5).join(', ')}.`,
      'Do it in a terminal of the project.',
    )
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

export const noRemote = () =>
  refused(
    'The project has no address to fetch from or push to.',
    'Set one: PUT /projects/{id}/git with "url". What the repository itself calls origin is not followed.',
  )

export const detached = () =>
  refused('No branch is checked out: the head is detached.', 'Check a branch out first, or make one.')
