import { existsSync } from 'node:fs'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { type Account, makeGivenFolder, removeGivenFolder } from '@stackquay/engines'

/** The folder of a project that is being created. */
export interface NewFolder {
  /** The project's id. */
  readonly id: string
  readonly path: string
}

/**
 * New folders appear whole or not at all. A note beside them says that one is ours until the project stands, so that
 * a creation that is done again after a crash, or undone, never takes a folder that somebody else made for its own.
 *
 * Only the names in `projectsDir` are used here, and no project can change those. What is in a folder belongs to its project.
 */
export function createNewFolders(projectsDir: string) {
  const half = (folder: Pick<NewFolder, 'id'>) => join(projectsDir, `${making}${folder.id}`)
  const note = (folder: NewFolder) => join(projectsDir, `.made-${folder.id}`)

  return {
    /** `fill` gets a folder that the account owns and nobody else may read; with no account, the service does. */
    appear: async (
      folder: NewFolder,
      account: Account | null,
      fill: (path: string) => Promise<void>,
    ): Promise<void> => {
      if (existsSync(folder.path)) {
        if (existsSync(note(folder))) return
        throw new ProblemError('conflict', `The folder ${folder.path} was made by somebody else meanwhile.`, {
          hint: 'Try again: another name is taken for it.',
        })
      }
      const path = half(folder)
      await removeGivenFolder(path)
      try {
        await makeGivenFolder(path, account)
        await fill(path)
        await writeFile(note(folder), '')
        await rename(path, folder.path)
      } catch (error) {
        await removeGivenFolder(path).catch(() => undefined)
        if (!existsSync(folder.path)) await rm(note(folder), { force: true })
        throw error
      }
    },
    /** The name is free again at once. What cannot be removed now is swept by the next start. */
    undo: async (folder: NewFolder): Promise<void> => {
      await removeGivenFolder(half(folder)).catch(() => undefined)
      if (existsSync(note(folder))) {
        await rename(folder.path, half(folder)).catch(() => undefined)
        await removeGivenFolder(half(folder)).catch(() => undefined)
      }
      await rm(note(folder), { force: true })
    },
    keep: (folder: NewFolder): Promise<void> => rm(note(folder), { force: true }),
    /** Removes what creations left that nobody knows of any more; goes on with the next when one cannot be removed. */
    sweep: async (isKnown: (project: string) => boolean, signal: AbortSignal): Promise<void> => {
      for (const name of await readdir(projectsDir)) {
        const id = name.startsWith(making) ? name.slice(making.length) : null
        if (id !== null && !isKnown(id)) await removeGivenFolder(half({ id }), signal).catch(() => undefined)
      }
    },
  }
}

const making = '.making-'
