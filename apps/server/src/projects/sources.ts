import { existsSync } from 'node:fs'
import { cp, lstat, mkdir, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { templateOf } from '@stackquay/catalog'
import { templateFolder } from '@stackquay/catalog/folders'
import { ProblemError } from '@stackquay/contract'
import type { NetworkEnvironment } from '@stackquay/engines'
import type { StepContext } from '@stackquay/orchestrator'
import type { Config } from '../config.ts'
import { type Account, copyAs, giveTo, obstacleFor } from './account.ts'
import { masked, runGit, withoutCredentials } from './git.ts'
import { createNewFolders, type NewFolder } from './new-folder.ts'

/** Where a project's files come from. Everything is made under another name first and appears whole or not at all. */
export interface Sources {
  /** A folder for a new project that does not exist yet: the slug, or the slug with a number. */
  freeFolder(slug: string): Promise<string>
  fromTemplate(template: string, to: NewFolder): Promise<void>
  fromGit(git: { url: string; branch: string | null }, to: NewFolder, context: StepContext): Promise<void>
  fromFolder(source: string, to: NewFolder, signal: AbortSignal): Promise<void>
  empty(to: NewFolder): Promise<void>
  /** Checks a git URL by asking the other side for its branches. Throws `source_failed` with git's own words. */
  checkGit(git: { url: string; branch: string | null }, signal: AbortSignal): Promise<void>
  /** The folder as it may be used, or throws `path_forbidden`. */
  checkFolder(path: string): Promise<string>
  /** Removes what a failed creation made, whole or half; never a folder that was there before. */
  undo(folder: NewFolder): Promise<void>
  /** The project is there: from now on its folder is a person's, and `undo` leaves it alone. */
  keep(folder: NewFolder): Promise<void>
}

export function createSources(config: Config, account: Account | null, network: NetworkEnvironment): Sources {
  const { appear, undo, keep } = createNewFolders(config.projectsDir)

  return {
    freeFolder: async (slug) => {
      for (let count = 1; ; count += 1) {
        const folder = join(config.projectsDir, count === 1 ? slug : `${slug}-${count}`)
        if (!existsSync(folder)) return folder
      }
    },
    fromTemplate: (name, to) =>
      appear(to, async (folder) => {
        const template = templateOf(name)
        if (template === undefined) throw new ProblemError('not_found', `There is no template "${name}".`)
        const source = templateFolder(template)
        // Ours: nobody changes it meanwhile, and the account may not be able to read it where it lies.
        await cp(source, folder, { recursive: true, filter: (path) => basename(path) !== 'node_modules' })
        await giveTo(account, folder)
      }),
    empty: (to) =>
      appear(to, async (folder) => {
        await mkdir(folder)
        await giveTo(account, folder)
      }),
    fromFolder: (source, to, signal) =>
      appear(to, async (folder) => {
        await mkdir(folder)
        await giveTo(account, folder)
        await copyAs(account, source, folder, signal)
      }),
    fromGit: (git, to, context) =>
      appear(to, async (folder) => {
        // The account that owns the projects runs git, so the folder must be its own from the beginning.
        await mkdir(folder)
        await giveTo(account, folder)
        const branch = git.branch === null ? [] : ['--branch', git.branch]
        await runGit(['clone', '--progress', ...branch, '--', withoutCredentials(git.url), '.'], {
          cwd: folder,
          account,
          network,
          url: git.url,
          signal: context.signal,
          output: context.output,
        })
      }),
    undo,
    keep,
    checkGit: async (git, signal) => {
      const what = git.branch === null ? ['HEAD'] : [`refs/heads/${git.branch}`, `refs/tags/${git.branch}`]
      const answer = await runGit(['ls-remote', '--', withoutCredentials(git.url), ...what], {
        cwd: config.projectsDir,
        account,
        network,
        url: git.url,
        signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
      })
      if (git.branch !== null && answer.trim() === '') {
        throw new ProblemError(
          'source_failed',
          `The repository ${masked(git.url)} has no branch or tag "${git.branch}".`,
          { hint: 'Check the branch’s name.' },
        )
      }
    },
    checkFolder: async (path) => {
      if (!isAbsolute(path))
        throw forbidden(`"${path}" is not an absolute path.`, 'Give the whole path, from the root.')
      const wanted = resolve(path)
      const info = await lstat(wanted).catch(() => null)
      if (info === null) throw forbidden(`There is no folder ${wanted} on the service’s machine.`, 'Check the path.')
      const real = await realpath(wanted)
      if (real !== wanted)
        throw forbidden(`${wanted} leads through a symbolic link to ${real}.`, `Use ${real} itself, if that is meant.`)
      if (!(await stat(real)).isDirectory())
        throw forbidden(`${wanted} is not a folder.`, 'Choose the folder that holds the source code.')
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
      const obstacle = await obstacleFor(account, real)
      if (obstacle !== null) {
        const who = account === null ? 'You' : `The user of projects (uid ${account.uid})`
        const fix = account === null ? `chmod u+rwx ${real}` : `chown -R ${account.uid}:${account.gid} ${real}`
        throw forbidden(
          `${who} may not ${obstacle} ${wanted}.`,
          `Allow it: ${fix} (and every folder above must be open to enter).`,
        )
      }
      return real
    },
  }
}

function forbidden(detail: string, hint: string): ProblemError {
  return new ProblemError('path_forbidden', detail, { hint })
}
