import { stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** The absolute path of a program, found as a shell finds it; null when it is not installed. */
export async function programOnPath(name: string, path: string): Promise<string | null> {
  // A part that is empty or relative means the folder that one is in, which is nobody's wish here.
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const info = await stat(join(folder, name)).catch(() => null)
    if (info?.isFile() === true && (info.mode & 0o111) !== 0) return join(folder, name)
  }
  return null
}
