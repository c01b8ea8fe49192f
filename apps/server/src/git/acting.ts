import type { GitPullManner } from '@stackquay/contract'
import type { UserFiles } from '@stackquay/engines'
import type { NetworkHalf } from '../source/git-home.ts'
import type { LocalOptions } from '../source/local-git.ts'
import type { OpenRepository } from './repository.ts'
import type { Remote } from './sealed-remote.ts'

/** What is done to a repository, as an operation carries it. */
export type GitAct =
  | { readonly act: 'fetch' }
  | { readonly act: 'pull'; readonly manner: GitPullManner }
  | { readonly act: 'checkout'; readonly branch: string; readonly create: boolean }
  | {
      readonly act: 'commit'
      readonly message: string
      readonly paths: readonly string[] | null
      readonly author: Person
    }
  | { readonly act: 'push'; readonly branch: string | null; readonly force: boolean }
  | { readonly act: 'discard'; readonly paths: readonly string[] }

export interface Person {
  readonly name: string
  readonly email: string
}

/** What an act works with. */
export interface Acting {
  readonly repository: OpenRepository
  readonly files: Pick<UserFiles, 'of'>
  readonly half: NetworkHalf
  /** Who asked: the committer. */
  readonly by: Person
  /** When it was asked for: an act that is done again after a crash knows what it made by it. */
  readonly askedAt: Date
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  /** Throws where the project has no other side. */
  remote(): Promise<Remote>
}

/** What git writes into commits and reflogs. */
export function identity(by: Person, author: Person = by): Readonly<Record<string, string>> {
  return {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: by.name,
    GIT_COMMITTER_EMAIL: by.email,
  }
}

/** An act that changes files, from which nobody takes it away in the middle. */
export function writing({ signal, by, say }: Pick<Acting, 'signal' | 'by' | 'say'>, author?: Person): LocalOptions {
  return { signal, writes: true, env: identity(by, author), onLine: say }
}
