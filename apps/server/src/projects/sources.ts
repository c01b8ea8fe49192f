import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { templateOf } from '@stackquay/catalog'
import { templateFolder } from '@stackquay/catalog/folders'
import { ProblemError } from '@stackquay/contract'
import { localFolders } from '@stackquay/domain'
import {
  type Account,
  type Accounts,
  copyBetween,
  copyToGive,
  FilesError,
  type FilesErrorCode,
  type UserFiles,
  writeTree,
} from '@stackquay/engines'
import type { StepContext } from '@stackquay/orchestrator'
import type { Config } from '../config.ts'
import { createCloning } from '../source/clone.ts'
import type { NetworkHalf } from '../source/git-home.ts'
import { readerOf, type SourcePlace } from './files-of.ts'
import { createNewFolders, type NewFolder } from './new-folder.ts'

/** Where a project's files come from. Everything is made under another name first and appears whole or not at all. */
export interface Sources {
  /** A folder for a new project that does not exist yet: the slug, or the slug with a number. */
  freeFolder(slug: string): Promise<string>
  fromTemplate(template: string, to: NewFolder, signal: AbortSignal): Promise<void>
  fromGit(git: { url: string; branch: string | null }, to: NewFolder, context: StepContext): Promise<void>
  fromFolder(source: SourcePlace, to: NewFolder, signal: AbortSignal): Promise<void>
  /** Made by who is called, in an empty folder of the account. */
  fromMaker(to: NewFolder, make: (folder: string, account: Account | null) => Promise<void>): Promise<void>
  /** Of a tar archive, such as a backup has. */
  fromArchive(archive: AsyncIterable<Uint8Array>, to: NewFolder, signal: AbortSignal): Promise<void>
  empty(to: NewFolder): Promise<void>
  /** Checks a git URL by asking the other side for its branches. Throws `source_failed` with git's own words. */
  checkGit(git: { url: string; branch: string | null }, signal: AbortSignal): Promise<void>
  /**
   * The folder as it may be used, or throws `path_forbidden`. Whether the project's user can work there is known when the project
   * has one.
   */
  checkFolder(place: SourcePlace): Promise<string>
  /** Removes what a failed creation made, whole or half; never a folder that was there before. */
  undo(folder: NewFolder): Promise<void>
  /** The project is there: from now on its folder is a person's, and `undo` leaves it alone. */
  keep(folder: NewFolder): Promise<void>
  /** Removes what creations left that were cut off and belong to no project. */
  sweep(isKnown: (project: string) => boolean, signal: AbortSignal): Promise<void>
}

export interface SourcesOptions {
  readonly config: Pick<Config, 'projectsDir' | 'allowedRoots' | 'home'>
  readonly accounts: Accounts
  readonly files: Pick<UserFiles, 'of'>
  readonly gitHalf: NetworkHalf
}

export function createSources({ config, accounts, files, gitHalf }: SourcesOptions): Sources {
  const { appear, undo, keep, sweep } = createNewFolders(config.projectsDir)
  const cloning = createCloning(config.home, gitHalf.network, gitHalf.gitHome)

  return {
    freeFolder: async (slug) => {
      for (let count = 1; ; count += 1) {
        const folder = join(config.projectsDir, count === 1 ? slug : `${slug}-${count}`)
        if (!existsSync(folder)) return folder
      }
    },
    fromTemplate: async (name, to, signal) => {
      const account = await accounts.of(to.id)
      const template = templateOf(name)
      if (template === undefined) throw new ProblemError('not_found', `There is no template "${name}".`)
      const source = { path: templateFolder(template), without: ['node_modules'] }
      await appear(to, null, (path) => copyToGive(source, { account, path }, signal))
    },
    empty: async (to) => appear(to, await accounts.of(to.id), async () => {}),
    fromFolder: async (source, to, signal) => {
      const account = await accounts.of(to.id)
      const reader = await readerOf(accounts, source)
      await appear(to, account, (path) =>
        copyBetween({ account: reader, path: source.path, without: localFolders }, { account, path }, signal),
      )
    },
    fromArchive: async (archive, to, signal) => {
      const account = await accounts.of(to.id)
      await appear(to, account, (path) => writeTree(account, path, archive, signal))
    },
    fromMaker: async (to, make) => {
      const account = await accounts.of(to.id)
      await appear(to, account, (folder) => make(folder, account))
    },
    fromGit: async (git, to, context) => {
      const account = await accounts.of(to.id)
      await appear(to, account, (folder) => cloning.clone(git, folder, account, context))
    },
    undo,
    keep,
    sweep,
    checkGit: (git, signal) => cloning.check(git, signal),
    checkFolder: async ({ id, path }) => {
      if (!isAbsolute(path))
        throw forbidden(`"${path}" is not an absolute path.`, 'Give the whole path, from the root.')
      const wanted = resolve(path)
      const account = await readerOf(accounts, { id, path: wanted })
      const who = account === null ? 'You' : `The user of projects (uid ${account.uid})`
      const own = account === null ? `chmod u+rwx ${wanted}` : `chown -R ${account.uid}:${account.gid} ${wanted}`
      const lacking = (what: string) =>
        forbidden(
          `${who} may not ${what} ${wanted}.`,
          `Allow it: ${own} (and every folder above must be open to enter).`,
        )
      const { real, lacks } = await files
        .of(account)
        .folder(wanted)
        .catch((error: unknown) => {
          if (!(error instanceof FilesError)) throw error
          throw refusals[error.code]?.(wanted) ?? (error.code === 'denied' ? lacking('enter') : error)
        })
      if (real !== wanted)
        throw forbidden(`${wanted} leads through a symbolic link to ${real}.`, `Use ${real} itself, if that is meant.`)
      const roots = await Promise.all(config.allowedRoots.map((root) => realpath(root).catch(() => root)))
      if (!roots.some((root) => real.startsWith(root + sep))) {
        throw forbidden(
          `${wanted} is outside the folders from which projects may be taken: ${roots.join(', ')}.`,
          'Move it there, or set STACKQUAY_ALLOWED_ROOTS.',
        )
      }
      const home = await realpath(config.home).catch(() => config.home)
      if (real === home || (real.startsWith(home + sep) && relative(config.projectsDir, real).startsWith('..'))) {
        throw forbidden(`${wanted} belongs to the service itself.`, 'Choose another folder.')
      }
      // Before it has a user nobody can tell; then it is looked at again.
      if (lacks !== null && accounts.known(id) !== undefined) throw lacking(lacks)
      return real
    },
  }
}

const refusals: Readonly<Partial<Record<FilesErrorCode, (path: string) => ProblemError>>> = {
  missing: (path) => forbidden(`There is no folder ${path} on the service’s machine.`, 'Check the path.'),
  not_a_folder: (path) => forbidden(`${path} is not a folder.`, 'Choose the folder that holds the source code.'),
  outside: (path) => forbidden(`${path} leads through too many symbolic links.`, 'Use the folder itself.'),
}

function forbidden(detail: string, hint: string): ProblemError {
  return new ProblemError('path_forbidden', detail, { hint })
}
