import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'

/** An archive while it is made. */
export interface TreeArchive {
  /** Ends when the archive is whole, and throws otherwise. */
  readonly bytes: AsyncIterable<Buffer>
  /** Files that changed, went away or could not be read meanwhile, each with what happened. Complete when `bytes` has ended. */
  warnings(): readonly string[]
}

/**
 * A source folder as a tar archive, read by the project's user. Entries named in `without` are left out at any depth. A SQLite database is
 * consistent in it, also while a program writes to it.
 */
export function readTree(
  account: Account | null,
  path: string,
  options: { readonly without?: readonly string[]; readonly signal: AbortSignal },
): TreeArchive {
  throw new FilesError('failed', `${path} ${account?.uid ?? ''} ${options.without?.join() ?? ''}`)
}

/**
 * Unpacks such an archive into a folder that is there, as the project's user. What is there by the same name is replaced; a folder that is
 * not empty is not replaced by a file.
 */
export async function writeTree(
  account: Account | null,
  path: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  throw new FilesError('failed', `${path} ${account?.uid ?? ''} ${archive !== undefined} ${signal.aborted}`)
}

/** Removes everything in a folder but entries of these names at any depth, and the folders above them. */
export async function clearTree(
  account: Account | null,
  path: string,
  options: { readonly except: readonly string[]; readonly signal?: AbortSignal },
): Promise<void> {
  throw new FilesError('failed', `${path} ${account?.uid ?? ''} ${options.except.join()}`)
}
