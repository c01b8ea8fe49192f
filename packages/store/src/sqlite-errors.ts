import { StoreBusyError, StoreFullError, StoreUnusableError } from './errors.ts'

/** Result codes of https://www.sqlite.org/rescode.html; the low byte is the class, the rest is detail. */
const code = {
  perm: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  auth: 23,
  notADatabase: 26,
}
/** The index of the write-ahead log could not grow: the disk is full. */
const sharedMemorySize = 4874

export const isBusy = (error: unknown) => kindOf(error) === code.busy || kindOf(error) === code.locked

/** Errors of SQLite and the file system as errors of the store. Other errors stay as they are. */
export function explain(error: unknown, file: string): unknown {
  const options = { cause: error }
  if (isBusy(error)) {
    return new StoreBusyError(
      `The database "${file}" is locked by another process. Wait for it to end, or end it.`,
      options,
    )
  }
  switch (kindOf(error)) {
    case code.full:
      return new StoreFullError(
        `The disk that holds the database "${file}" is full. Nothing was written. Free some space and try again.`,
        options,
      )
    case code.corrupt:
      return new StoreUnusableError(damaged(file, message(error)), options)
    case code.notADatabase:
      return new StoreUnusableError(
        `"${file}" is not a database, or its beginning is damaged. It was left as it is. Restore the last backup, or move the file away to start empty.`,
        options,
      )
    case code.perm:
    case code.readOnly:
    case code.cantOpen:
    case code.auth:
      return new StoreUnusableError(forbidden(file, message(error)), options)
  }
  return error
}

/** The same for `mkdir`, `open` and `chmod` before SQLite sees the file. */
export function explainFileError(error: unknown, file: string): unknown {
  const options = { cause: error }
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new StoreUnusableError(forbidden(file, message(error)), options)
    case 'ENOSPC':
    case 'EDQUOT':
      return new StoreFullError(`The disk for the database "${file}" is full. Free some space and try again.`, options)
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ELOOP':
      return new StoreUnusableError(`"${file}" cannot be a database: ${message(error)}. Choose another path.`, options)
  }
  return error
}

export function damaged(file: string, problems: string): string {
  return `The database "${file}" is damaged: ${problems}. It was left as it is. Restore the last backup.`
}

function forbidden(file: string, reason: string): string {
  return `The database "${file}" cannot be read and written: ${reason}. Give this user the file and its folder.`
}

function kindOf(error: unknown): number | null {
  const number = (error as { errcode?: unknown } | null)?.errcode
  if (typeof number !== 'number') return null
  return number === sharedMemorySize ? code.full : number & 0xff
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
