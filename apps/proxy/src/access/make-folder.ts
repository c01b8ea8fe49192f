import { mkdir } from 'node:fs/promises'

/** One level each: a home that was deleted while the proxy ran must not come back as a skeleton of folders. */
export async function makeFolders(...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await mkdir(path, { mode: 0o700 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
