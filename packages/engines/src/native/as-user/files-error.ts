/**
 * Errors with a file of a project. The message says what is true and never holds what was read.
 * - `missing`: it is not there.
 * - `outside`: its path leads out of the folder, or through a symbolic link where none is allowed.
 * - `not_a_file`, `not_a_folder`: there is something else in its place: a pipe, a device, a socket, a link.
 * - `denied`: the project's user may not.
 * - `exists`: it is there already.
 * - `too_large`, `too_many`: more bytes or entries than were asked for.
 * - `changed`: it was replaced at this moment.
 * - `disk_full`
 * - `invalid_archive`: it is not whole, or leads out of its folder.
 * - `timeout`: it took longer than allowed.
 * - `broken`: the process that acts as the project's user ended or answered nonsense, twice.
 * - `failed`: anything else; the message names the system's own code.
 */
export type FilesErrorCode = (typeof codes)[number]

const codes = [
  'missing',
  'outside',
  'not_a_file',
  'not_a_folder',
  'denied',
  'exists',
  'too_large',
  'too_many',
  'changed',
  'disk_full',
  'invalid_archive',
  'timeout',
  'broken',
  'failed',
] as const

export class FilesError extends Error {
  override readonly name = 'FilesError'
  readonly code: FilesErrorCode

  constructor(code: FilesErrorCode, message: string = sentences[code], options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

const sentences: Readonly<Record<FilesErrorCode, string>> = {
  missing: 'It is not there.',
  outside: 'Its path leads out of the folder.',
  not_a_file: 'There is no ordinary file in its place.',
  not_a_folder: 'There is no folder in its place.',
  denied: 'The user of the project may not do that.',
  exists: 'It is there already.',
  too_large: 'It is larger than allowed.',
  too_many: 'It holds more entries than allowed.',
  changed: 'It was replaced while it was used.',
  disk_full: 'The disk is full.',
  invalid_archive: 'The archive is not whole, or leads out of its folder.',
  timeout: 'It took longer than allowed.',
  broken: 'The process that acts as the user of the project ended before it answered.',
  failed: 'The system refused it.',
}

/** The system's error, as one of the codes above. */
export function asFilesError(error: unknown): FilesError {
  if (error instanceof FilesError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
  const known = codeOf[code]
  return known === undefined
    ? new FilesError('failed', `The system refused it (${code.replace(/[^A-Z0-9_]/gi, '').slice(0, 40)}).`)
    : new FilesError(known)
}

const codeOf: Readonly<Record<string, FilesErrorCode>> = {
  ENOENT: 'missing',
  ENOTDIR: 'not_a_folder',
  ELOOP: 'outside',
  EISDIR: 'not_a_file',
  ENXIO: 'not_a_file',
  EACCES: 'denied',
  EPERM: 'denied',
  EEXIST: 'exists',
  ENAMETOOLONG: 'missing',
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  ESTALE: 'changed',
}

/** An error from a process that is not trusted. */
export function filesErrorOf(code: unknown): FilesError {
  return codes.includes(code as FilesErrorCode) ? new FilesError(code as FilesErrorCode) : new FilesError('broken')
}
