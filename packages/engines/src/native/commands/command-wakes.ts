import { type FSWatcher, watch } from 'node:fs'
import type { CommandRef } from '@stackquay/engine-api'
import { commandDir, type Home } from '../home.ts'

/** Also how the end of a killed shim is seen, which no file shows. */
const LOOK_MS = 500
/** Where the system has no watch left to give. */
const POLL_MS = 50

export interface CommandWakes {
  /** Resolves when something about the command may have changed after the call of `listen`. */
  listen(ref: CommandRef): { changed(signal: AbortSignal): Promise<void>; close(): void }
}

/** One watch for each command, however many read it. */
export function createCommandWakes(home: Home): CommandWakes {
  const watches = new Map<string, { readonly listeners: Set<() => void>; readonly watcher: FSWatcher | null }>()

  function watchOf(path: string) {
    const known = watches.get(path)
    if (known !== undefined) return known
    const listeners = new Set<() => void>()
    const made = {
      listeners,
      watcher: watcherOf(path, () => {
        for (const wake of listeners) wake()
      }),
    }
    watches.set(path, made)
    return made
  }

  return {
    listen(ref) {
      const path = commandDir(home, ref)
      const { listeners, watcher } = watchOf(path)
      let stirred = false
      let resume: (() => void) | null = null
      const wake = () => {
        stirred = true
        resume?.()
      }
      listeners.add(wake)
      return {
        async changed(signal) {
          if (!stirred) await wakeOrTime(watcher === null ? POLL_MS : LOOK_MS, signal, (resolve) => (resume = resolve))
          stirred = false
        },
        close() {
          listeners.delete(wake)
          if (listeners.size > 0 || watches.get(path)?.listeners !== listeners) return
          watcher?.close()
          watches.delete(path)
        },
      }
    },
  }
}

function wakeOrTime(milliseconds: number, signal: AbortSignal, onWake: (resolve: () => void) => void): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done, { once: true })
    onWake(done)
  })
}

function watcherOf(path: string, changed: () => void): FSWatcher | null {
  try {
    const watcher = watch(path, { persistent: false }, changed)
    watcher.on('error', () => {})
    return watcher
  } catch {
    return null
  }
}
