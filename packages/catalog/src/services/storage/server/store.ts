import { join } from 'node:path'
import { type Contents, openContents, type Written } from './contents.ts'
import { CommitError, type Database, openDatabase } from './database.ts'

/** Rows and bytes together. */
export interface Store {
  readonly database: Pick<Database, 'all' | 'get' | 'run'>
  readonly contents: Contents
  /**
   * Carries out `act` and makes it last. `written` are new contents that it gives to rows; they go when it throws. Contents
   * that it calls `gone` are removed once it is on disk.
   */
  change<T>(written: readonly Written[], act: (gone: (content: string) => void) => T): Promise<T>
  /** Keeps all contents that rows name now or later, also when the rows go, until the answer is called. */
  holdRemovals(): () => void
  copyTo(file: string): Promise<void>
  /** Removes what a crash left over. */
  tidy(): Promise<void>
  close(): void
}

export function openStore(data: string): Store {
  const database = openDatabase(join(data, 'storage.sqlite'))
  const contents = openContents(data, nextRun(database))
  const isKnown = (content: string) =>
    database.get(
      'SELECT 1 FROM piece WHERE content = ? UNION ALL SELECT 1 FROM part WHERE content = ?',
      content,
      content,
    ) !== undefined
  /** Contents without a row that wait until nobody holds removals. */
  const held = new Set<string>()
  let holders = 0
  const removeUnknown = (names: readonly string[]) => {
    const unknown = names.filter((name) => !isKnown(name))
    if (holders === 0) contents.remove(unknown)
    else for (const name of unknown) held.add(name)
  }
  /** Contents whose transaction failed: a power cut now could still bring their rows back. */
  let doubtful: readonly string[] = []
  return {
    database,
    contents,
    change: async (written, act) => {
      const names = written.map(({ content }) => content)
      const gone: string[] = []
      try {
        await contents.settle(names)
        const answer = await database.commit(() => {
          gone.length = 0
          return act((content) => gone.push(content))
        })
        // This transaction was written over what is left of a failed one. A copy of an object may still be made of what is gone.
        removeUnknown([...gone, ...doubtful])
        doubtful = []
        return answer
      } catch (error) {
        if (error instanceof CommitError) doubtful = [...doubtful, ...names]
        else contents.remove(names)
        throw error
      }
    },
    holdRemovals: () => {
      holders += 1
      return () => {
        holders -= 1
        if (holders > 0) return
        removeUnknown([...held])
        held.clear()
      }
    },
    copyTo: database.copyTo,
    tidy: async () => {
      const removed = await contents.sweep((content) => held.has(content) || isKnown(content))
      if (removed > 0) console.log(`Removed ${removed} contents that an earlier run left over.`)
    },
    close: () => database.close(),
  }
}

function nextRun(database: Database): number {
  const last = database.get('SELECT number FROM run')?.number
  const number = Number(last ?? 0) + 1
  database.run(last === undefined ? 'INSERT INTO run VALUES (?)' : 'UPDATE run SET number = ?', number)
  return number
}
