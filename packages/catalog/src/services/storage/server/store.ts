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
        // A copy of the object may still be made of it.
        contents.remove(gone.filter((content) => !isKnown(content)))
        return answer
      } catch (error) {
        // Whether rows name them, the next start finds out.
        if (!(error instanceof CommitError)) contents.remove(names)
        throw error
      }
    },
    tidy: async () => {
      const removed = await contents.sweep(isKnown)
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
