import type { ArchiveFolder, ArchiveFolderOptions } from './archive.ts'

export type {
  AddOptions,
  ArchiveFolder,
  ArchiveFolderOptions,
  ArchiveTar,
  ArchiveWriter,
  ManifestFields,
  NewPart,
  PartNotes,
  UploadOptions,
} from './archive.ts'
export { ArchiveError, type ArchiveErrorCode } from './error.ts'
export type { Manifest, PartContents, PartEntry } from './manifest.ts'

export declare function openArchiveFolder(root: string, options?: ArchiveFolderOptions): ArchiveFolder

/** A new key of a backup: the age identity (`AGE-SECRET-KEY-1…`), and the recipient that seals for it (`age1…`). */
export declare function newIdentity(): Promise<{ readonly identity: string; readonly recipient: string }>
/** The value as JSON, encrypted by age for these recipients. */
export declare function sealSettings(value: unknown, recipients: readonly string[]): Promise<Buffer>
/** `locked` when the identity does not open it, `damaged` when it is not whole. */
export declare function openSettings(sealed: Uint8Array, identity: string): Promise<unknown>
