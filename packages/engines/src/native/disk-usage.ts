import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { orNull, throwIfAborted } from './errors.ts'

/** Bytes on disk below a path; links are not followed, and what vanishes meanwhile counts nothing. */
export async function diskUsage(path: string, signal: AbortSignal): Promise<number> {
  throwIfAborted(signal)
  const found = await orNull(lstat(path))
  if (found === null) return 0
  const own = found.blocks * 512
  if (!found.isDirectory()) return own
  const directory = await orNull(opendir(path))
  if (directory === null) return own
  let total = own
  for await (const entry of directory) total += await diskUsage(join(path, entry.name), signal)
  return total
}
