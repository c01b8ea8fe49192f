/**
 * What went wrong with an archive.
 *
 * - `damaged`: what is stored is not what the manifest says; `part` is the part, or null for the manifest itself
 * - `invalid`: what was uploaded is no archive of a backup
 * - `newer`: written in a later format than this version reads
 * - `exists`, `not_found`: a backup of that id is there already, or is not there
 * - `too_large`: larger than the caller allows
 * - `disk_full`: no room; nothing is left of what was written
 * - `compression_failed`: the program that compresses ended before its time
 * - `locked`: the key does not open the settings
 */
export type ArchiveErrorCode =
  | 'damaged'
  | 'invalid'
  | 'newer'
  | 'exists'
  | 'not_found'
  | 'too_large'
  | 'disk_full'
  | 'compression_failed'
  | 'locked'

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
  readonly code: ArchiveErrorCode
  /** Id of the part: `files`, `database:main`. Null when it is about the whole. */
  readonly part: string | null
  /** A sentence for people, without the part. */
  readonly detail: string

  constructor(code: ArchiveErrorCode, part: string | null, detail: string, options?: ErrorOptions) {
    super(part === null ? detail : `${part}: ${detail}`, options)
    this.code = code
    this.part = part
    this.detail = detail
  }
}
