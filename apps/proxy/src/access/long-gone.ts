import { stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const dayMs = 24 * 60 * 60_000

/** Since when a project is in no table stands in a file, because the proxy may be restarted in between. */
export async function isLongGone(folder: string, isKept: boolean, now: number): Promise<boolean> {
  const mark = join(folder, 'gone')
  if (isKept) {
    await unlink(mark).catch(() => {})
    return false
  }
  const found = await stat(mark).catch(() => null)
  if (found !== null) return now - found.mtimeMs >= dayMs
  await writeFile(mark, '', { mode: 0o600 })
  await utimes(mark, now / 1000, now / 1000)
  return false
}
