import { randomBytes } from 'node:crypto'
import type { SftpFiles } from '@stackquay/engines'
import { sftpPath } from './paths.ts'

/** Files while they are written, beside those that they are to be. */
export interface PartFiles {
  /** The path is of a file that is not there yet. What lies there when the work fails is removed. */
  use<T>(files: SftpFiles, place: PartPlace, work: (path: string) => Promise<T>): Promise<T>
}

interface PartPlace {
  readonly project: string
  readonly folder: readonly string[]
}

const isPart = /^\.stackquay-[0-9a-f]{12}\.part$/
const mostListed = 50_000
const mostSwept = 10_000

/** The first write into a folder since the service began removes what writes left there that were killed. */
export function createPartFiles(): PartFiles {
  const swept = new Set<string>()
  const live = new Set<string>()
  const sweep = async (files: SftpFiles, folder: string, key: string) => {
    if (swept.has(key)) return
    if (swept.size >= mostSwept) swept.clear()
    swept.add(key)
    const { entries } = await files.list(folder, mostListed)
    for (const { name, kind } of entries)
      if (kind === 'file' && isPart.test(name) && !live.has(`${key}/${name}`))
        await files.removeFile(`${folder}/${name}`).catch(() => undefined)
  }
  return {
    async use(files, { project, folder }, work) {
      const [at, key] = [sftpPath(folder), [project, ...folder].join('/')]
      // A folder that may not be listed may still be written to.
      await sweep(files, at, key).catch(() => undefined)
      const name = `.stackquay-${randomBytes(6).toString('hex')}.part`
      live.add(`${key}/${name}`)
      try {
        return await work(`${at}/${name}`)
      } catch (error) {
        await files.removeFile(`${at}/${name}`).catch(() => swept.delete(key))
        throw error
      } finally {
        live.delete(`${key}/${name}`)
      }
    },
  }
}
