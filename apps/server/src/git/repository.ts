import { ProblemError } from '@stackquay/contract'
import type { Account, Accounts, UserFiles } from '@stackquay/engines'
import { FilesError } from '@stackquay/engines'
import { readerOf, type SourcePlace } from '../projects/files-of.ts'
import { localGit, quietFilters, type Repository } from '../source/local-git.ts'

/** The repository of a project, opened for a moment. */
export interface OpenRepository extends Repository {
  /** Filters that its configuration names, such as `lfs`. None of them runs. */
  readonly filters: readonly string[]
}

export type Opened =
  | { readonly repository: OpenRepository; readonly reason: null }
  | { readonly repository: null; readonly reason: string }

export interface RepositoriesDeps {
  readonly accounts: Pick<Accounts, 'known'>
  readonly files: Pick<UserFiles, 'of'>
}

export interface Repositories {
  /** Says why where there is none. */
  look(place: SourcePlace, signal: AbortSignal): Promise<Opened>
  /** Throws `not_found` where there is none. */
  open(place: SourcePlace, signal: AbortSignal): Promise<OpenRepository>
}

/**
 * A repository is the folder `.git` in the folder of the project, nothing else: a link, or a file that names a folder elsewhere
 * (a submodule, a worktree), is left to a terminal. All is read as the project’s user.
 */
export function createRepositories({ accounts, files }: RepositoriesDeps): Repositories {
  const look = async (place: SourcePlace, signal: AbortSignal): Promise<Opened> => {
    const account = await readerOf(accounts, place)
    const reason = await noFolder(place.path, account, files, signal)
    if (reason !== null) return { repository: null, reason }
    const plain: Repository = { path: place.path, account, settings: [] }
    const answer = await localGit(plain, ['rev-parse', '--git-dir'], { signal, timeoutMs: 10_000 })
    if (answer.code !== 0)
      return { repository: null, reason: `git cannot read the repository: ${answer.words.reason() || 'it failed'}` }
    return { repository: { ...plain, ...(await quietFilters(plain, signal)) }, reason: null }
  }
  return {
    look,
    open: async (place, signal) => {
      const { repository, reason } = await look(place, signal)
      if (repository !== null) return repository
      throw new ProblemError('not_found', reason, { hint: 'Make one in a terminal of the project: git init' })
    },
  }
}

async function noFolder(
  path: string,
  account: Account | null,
  files: Pick<UserFiles, 'of'>,
  signal: AbortSignal,
): Promise<string | null> {
  const none = 'The folder of the project is no git repository.'
  try {
    const entries = await files.of(account).list({ root: path, path: '.', maxEntries: 100_000, signal })
    const kind = entries.find(({ name }) => name === '.git')?.kind
    if (kind === undefined) return none
    if (kind === 'folder') return null
    return `The \`.git\` of the project is ${kind === 'link' ? 'a link' : 'a file'} that leads elsewhere, which nothing here follows.`
  } catch (error) {
    if (!(error instanceof FilesError)) throw error
    return error.code === 'missing' ? none : `The folder of the project cannot be read: ${error.message}`
  }
}
