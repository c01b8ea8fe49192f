import { localGit } from '../source/local-git.ts'
import { refused } from './refusals.ts'
import type { OpenRepository } from './repository.ts'

/** Filters are programs that the repository names. None runs here, so what they would make of a file is not made. */
export async function requireUnfiltered(
  repository: OpenRepository,
  paths: readonly string[],
  signal: AbortSignal,
  what: string,
): Promise<void> {
  if (paths.length === 0) return
  const input = `${paths.join('\0')}\0`
  const { stdout } = await localGit(repository, ['check-attr', '-z', '--stdin', 'filter'], { signal, input })
  const parts = stdout.toString('utf8').split('\0')
  const filtered: string[] = []
  for (let at = 0; at + 2 < parts.length; at += 3)
    if (!['unspecified', 'unset', 'set', ''].includes(parts[at + 2]!)) filtered.push(parts[at]!)
  if (filtered.length > 0)
    throw refused(
      `Files that go through a filter, such as those of Git LFS, cannot be ${what} here, where no program of a repository runs: ${filtered.slice(0, 10).join(', ')}.`,
      'Do it in a terminal of the project.',
      { filtered: filtered.slice(0, 200) },
    )
}

export async function tellLfs(
  repository: OpenRepository,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const args = ['ls-files', '-z', '--', ':(attr:filter=lfs)']
  const { stdout } = await localGit(repository, args, { signal, env: { GIT_LITERAL_PATHSPECS: '0' }, cuts: true })
  const count = stdout.toString('utf8').split('\0').length - 1
  if (count > 0)
    say(`Files of Git LFS: ${count}. Those that changed are pointers now; fetch them in a terminal: git lfs pull`)
}
