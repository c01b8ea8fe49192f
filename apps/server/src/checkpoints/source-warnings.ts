import type { ProjectRow, Store } from '@stackquay/store'
import type { FilesOf } from '../projects/files-of.ts'

export interface SourceWarningDeps {
  readonly store: Store
  readonly filesOf: FilesOf
}

/** What no stop of workloads holds, and what lies elsewhere. */
export async function sourceWarnings(row: ProjectRow, { store, filesOf }: SourceWarningDeps): Promise<string[]> {
  const { id, path } = row
  const going = (await store.runs.unfinished()).filter(({ project }) => project === id)
  const open = going.length + (await store.terminals.of(id)).filter(({ endedAt }) => endedAt === null).length
  const files = await filesOf(row)
  // In a working tree beside its repository, `.git` is a file that names that.
  const isWorktree = await files.read({ root: path, path: '.git', maxBytes: 4096 }).then(
    (text) => text.toString('utf8').startsWith('gitdir:'),
    () => false,
  )
  return [
    ...(open > 0 ? [`Runs and terminals go on (${open}): what they write in that moment may be there in part.`] : []),
    ...(isWorktree
      ? [
          'The folder is a working tree of git whose repository lies elsewhere: its branches and its index are left as they are.',
        ]
      : []),
  ]
}
