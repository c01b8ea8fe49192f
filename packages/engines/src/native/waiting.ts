import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RequiredFile } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { watchDirectory } from './directory-watch.ts'
import { existFor } from './isolation/as-user.ts'

/** The first required file of which no form is there for the project's user; null when all are. */
export async function missingFile(
  account: Account | null,
  requires: readonly RequiredFile[],
): Promise<RequiredFile | null> {
  const paths = requires.flatMap(({ anyOf }) => anyOf)
  const there = await existFor(account, paths)
  const found = new Set(paths.filter((_, at) => there[at]))
  return requires.find(({ anyOf }) => !anyOf.some((path) => found.has(path))) ?? null
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
export function watchRequired(
  account: Account | null,
  requires: readonly RequiredFile[],
  complete: () => void,
): WaitMonitor {
  let closed = false
  const look = async () => {
    if (closed || (await missingFile(account, requires)) !== null || closed) return
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
