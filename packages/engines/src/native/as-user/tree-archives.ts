import { checkedArchive, EngineError, type PipedBytes } from '@stackquay/engine-api'
import type { Account } from '../account.ts'
import { makeDatabaseCopies } from './database-copies.ts'
import { FilesError } from './files-error.ts'
import { packTree, unpackTree, withoutNames } from './tar.ts'

/** An archive while it is made. */
export interface TreeArchive {
  /** Ends when the archive is whole, and throws otherwise. */
  readonly bytes: PipedBytes
  /** Files that changed, went away or could not be read meanwhile, each with what happened. Complete when `bytes` has ended. */
  warnings(): readonly string[]
}

const mostWarnings = 1000

/**
 * A source folder as a tar archive, read by the project's user. Entries named in `without` are left out at any depth, paths in it (`a/b`) at
 * their place; so are pipes, sockets and devices. A SQLite database is in it as SQLite copies it, consistent also while a program writes, without its `-wal`, `-shm`
 * and `-journal`; the copies need room in /var/tmp until the archive is made.
 */
export function readTree(
  account: Account | null,
  path: string,
  { without = [], signal }: { readonly without?: readonly string[]; readonly signal: AbortSignal },
): TreeArchive {
  const said: string[] = []
  let more = 0
  const warn = (text: string): void => {
    if (said.length < mostWarnings) said.push(text)
    else more += 1
  }
  return {
    bytes: packWithDatabases(account, path, without, signal, warn),
    warnings: () => (more === 0 ? [...said] : [...said, `and ${more} more`]),
  }
}

function packWithDatabases(
  account: Account | null,
  path: string,
  without: readonly string[],
  signal: AbortSignal,
  warn: (text: string) => void,
): PipedBytes {
  const begin = async () => {
    const databases = await makeDatabaseCopies(account, { root: path, without }, signal)
    for (const text of databases.warnings) warn(text)
    const bytes = packTree(account, path, {
      excluding: [...withoutNames(without), ...databases.excluding],
      adding: databases.adding,
      signal,
      complain: (complaint) => {
        // Of the folder itself that says only that something came or went: a database's journal, for instance.
        if (complaint.what !== 'nothing' && !complaint.text.startsWith('.: ')) warn(complaint.text)
      },
    })
    return { bytes, [Symbol.asyncDispose]: () => databases.end() }
  }
  return {
    async *[Symbol.asyncIterator]() {
      await using begun = await begin()
      yield* begun.bytes
    },
    async into(pipe, stopped) {
      await using begun = await begin()
      return await begun.bytes.into(pipe, stopped)
    },
  }
}

/**
 * Unpacks such an archive into a folder that is there, as the project's user. What is there by the same name is replaced, but a folder that
 * is not empty is not replaced by a file: that fails. Nothing is written outside, nor through a symbolic link. Throws `invalid_archive`
 * for one that would; what came before that entry is there then.
 */
export async function writeTree(
  account: Account | null,
  path: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  await unpackTree(account, path, checkedArchive(archive, { parents: true }), signal).catch((error: unknown) => {
    if (error instanceof EngineError && error.code === 'invalid_archive')
      throw new FilesError('invalid_archive', error.message, { cause: error })
    throw error
  })
}
