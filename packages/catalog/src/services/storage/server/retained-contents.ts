export interface RetainedContents {
  has(name: string): boolean
  /** Keeps contents until the answer is called. */
  retain(names: readonly string[]): () => void
  /** Unlinks each content now, or when its last reader lets go. */
  remove(names: readonly string[]): void
}

/** Counts the readers of contents, so that a removed one stays on disk until the last reader is done. */
export function createRetainedContents(unlink: (name: string) => void): RetainedContents {
  const retained = new Map<string, number>()
  const doomed = new Set<string>()

  function release(name: string): void {
    const readers = (retained.get(name) ?? 1) - 1
    if (readers > 0) retained.set(name, readers)
    else {
      retained.delete(name)
      if (doomed.delete(name)) unlink(name)
    }
  }

  return {
    has: (name) => retained.has(name),
    retain: (names) => {
      for (const name of names) retained.set(name, (retained.get(name) ?? 0) + 1)
      let held = true
      return () => {
        if (held) for (const name of names) release(name)
        held = false
      }
    },
    remove: (names) => {
      for (const name of names) {
        if (retained.has(name)) doomed.add(name)
        else unlink(name)
      }
    },
  }
}
