import { type FSWatcher, watch } from 'node:fs'

/** Where the system has no watch left to give, looking every so often does as well. */
const POLL_MS = 250

/**
 * Calls back soon after something in the directory changed: at most once in `quietMs`, and never before this returned.
 * It may call back without a change. Does not keep the process alive.
 */
export function watchDirectory(path: string, quietMs: number, changed: () => void): { close(): void } {
  let due: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined
  let watcher: FSWatcher | undefined
  const soon = () => {
    due ??= setTimeout(() => {
      due = undefined
      changed()
    }, quietMs)
  }
  const fallBack = () => {
    watcher?.close()
    watcher = undefined
    poll ??= setInterval(changed, POLL_MS).unref()
  }
  try {
    watcher = watch(path, { persistent: false }, soon)
    watcher.on('error', fallBack)
  } catch {
    fallBack()
  }
  return {
    close() {
      clearTimeout(due)
      clearInterval(poll)
      watcher?.close()
    },
  }
}
