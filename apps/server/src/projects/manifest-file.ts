import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The project file's name, at the top of a source tree. */
export const manifestName = 'stackquay.yml'

/** Its text, or null when there is none. A link is not followed: it may lead out of the source. */
export async function readManifest(folder: string): Promise<string | null> {
  const file = join(folder, manifestName)
  const info = await lstat(file).catch(() => null)
  if (info === null || !info.isFile() || info.size > 200_000) return null
  return readFile(file, 'utf8')
}
