import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { removeTree } from './account.ts'

/** The folder of a project that is being created. */
export interface NewFolder {
  /** The project's id. */
  readonly id: string
  readonly path: string
}

/**
 * New folders appear whole or not at all. A note beside them says that one is ours until the project stands, so that
 * a creation that is done again after a crash, or undone, never takes a folder that somebody else made for its own.
 */
export function createNewFolders(projectsDir: string) {
  const half = (folder: NewFolder) => join(projectsDir, `.making-${folder.id}`)
  const note = (folder: NewFolder) => join(projectsDir, `.made-${folder.id}`)

  return {
    appear: async (folder: NewFolder, make: (path: string) => Promise<void>): Promise<void> => {
      if (existsSync(folder.path)) {
        if (existsSync(note(folder))) return
        throw new ProblemError('conflict', `The folder ${folder.path} was made by somebody else meanwhile.`, {
          hint: 'Try again: another name is taken for it.',
        })
      }
      const path = half(folder)
      await removeTree(path)
      try {
        await make(path)
        await writeFile(note(folder), '')
        await rename(path, folder.path)
      } catch (error) {
        await removeTree(path)
        if (!existsSync(folder.path)) await rm(note(folder), { force: true })
        throw error
      }
    },
    undo: async (folder: NewFolder): Promise<void> => {
      await removeTree(half(folder))
      if (existsSync(note(folder))) await removeTree(folder.path)
      await rm(note(folder), { force: true })
    },
    keep: (folder: NewFolder): Promise<void> => rm(note(folder), { force: true }),
  }
}
