import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** A lock of the operating system, which ends with the process however that ends: no dead owner is taken for a living one. */
export interface HeldFile {
  /** Twice is the same as once. */
  release(): void
}

/**
 * Null where another process, or another holder in this one, holds it. Only this user can hold the file, or keep it from being held.
 * Nothing else in this process may open it: to POSIX, closing it anywhere in the process lets go of it.
 */
export function holdFile(path: string): HeldFile | null {
  closeSync(openSync(path, 'a', 0o600))
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    // Nothing is written, so it is held on a full disk too, and nothing is there to be rolled back by whoever opens it next.
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return {
      release: () => {
        if (file.isOpen) file.close()
      },
    }
  } catch (error) {
    file.close()
    if ((error as { readonly errcode?: unknown }).errcode === busy) return null
    throw error
  }
}

/** SQLITE_BUSY */
const busy = 5
