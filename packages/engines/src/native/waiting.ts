import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RequiredFile } from '@stackquay/engine-api'
import { watchDirectory } from './directory-watch.ts'

/** The first required file of which no form exists; null when all are there. */
export async function missingFile(requires: readonly RequiredFile[]): Promise<RequiredFile | null> {
  for (const required of requires) {
    if (!(await anyExists(required.anyOf))) return required
  }
  return null
}

async function anyExists(paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if (await exists(path)) return true
  return false
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

export interface WaitMonitor {
  close(): void
}

/** Covers directories that do not exist yet, and file systems without change notices. */
const POLL_MS = 1000

/** Calls back once, when nothing is missing any more. */
export function watchRequired(requires: readonly RequiredFile[], complete: () => void): WaitMonitor {
  let closed = false
  const look = async () => {
    if (closed || (await missingFile(requires)) !== null || closed) return
    close()
    complete()
  }
  const directories = new Set(requires.flatMap((required) => required.anyOf.map((path) => dirname(path))))
  const watches = [...directories].map((directory) => watchDirectory(directory, 20, () => void look()))
  const poll = setInterval(() => void look(), POLL_MS).unref()
  const close = () => {
    closed = true
    clearInterval(poll)
    for (const watch of watches) watch.close()
  }
  void look()
  return { close }
}
