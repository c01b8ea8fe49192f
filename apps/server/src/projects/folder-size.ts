import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Size on disk of a folder without what is linked from elsewhere; null when it cannot be read. */
export async function folderSize(path: string): Promise<number | null> {
  try {
    let total = 0
    for (const entry of await readdir(path, { withFileTypes: true })) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) total += (await folderSize(inner)) ?? 0
      else if (entry.isFile()) total += (await lstat(inner)).blocks * 512
    }
    return total
  } catch {
    return null
  }
}
