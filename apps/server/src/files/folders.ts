import { type Account, openSftpFiles, type SftpFiles } from '@stackquay/engines'
import type { ProjectRow } from '@stackquay/store'
import type { SftpPlaces } from '../ssh/sftp-places.ts'

export type FolderOf = Pick<ProjectRow, 'id' | 'path'>

/** The folders of projects, each used as the project’s user, by a process that reaches nothing outside (decision 58). */
export interface ProjectFolders {
  use<T>(project: FolderOf, work: (files: SftpFiles) => Promise<T>): Promise<T>
  /** Held until the iteration ends. */
  stream(project: FolderOf, read: (files: SftpFiles) => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
  /** Ends every process of a project that goes. */
  endOf(project: string): void
  close(): Promise<void>
}

interface Held {
  readonly project: string
  readonly key: string
  readonly files: SftpFiles
  idle: NodeJS.Timeout | null
}

/** A start costs a tenth of a second, so one that has nothing to do waits a little for the next. */
const idleMs = 10_000

export function createProjectFolders(
  places: SftpPlaces,
  accountOf: (project: string) => Promise<Account | null>,
): ProjectFolders {
  const held = new Set<Held>()
  const end = (one: Held) => {
    if (one.idle !== null) clearTimeout(one.idle)
    held.delete(one)
    one.files.end()
  }
  const take = async ({ id, path }: FolderOf): Promise<Held> => {
    const account = await accountOf(id)
    const key = `${account?.uid ?? '-'}:${path}`
    for (const one of held) {
      if (one.idle === null || one.project !== id || one.key !== key) continue
      clearTimeout(one.idle)
      one.idle = null
      if (one.files.isOpen) return one
      end(one)
    }
    const child = await places.start({ account, root: path, linkFirst: false, ahead: false })
    const one: Held = { project: id, key, files: openSftpFiles(child), idle: null }
    held.add(one)
    return one
  }
  const giveBack = (one: Held) => {
    if (!held.has(one)) return
    if (!one.files.isOpen) return end(one)
    one.idle = setTimeout(() => end(one), idleMs)
    one.idle.unref()
  }
  return {
    async use(project, work) {
      const one = await take(project)
      try {
        return await work(one.files)
      } finally {
        giveBack(one)
      }
    },
    async *stream(project, read) {
      const one = await take(project)
      try {
        yield* read(one.files)
      } finally {
        giveBack(one)
      }
    },
    endOf(project) {
      for (const one of held) if (one.project === project) end(one)
    },
    async close() {
      for (const one of held) end(one)
      await places.close()
    },
  }
}
