import type { Manifest, PartContents, PartEntry } from './manifest.ts'
import type { Content } from './packer/packer.ts'

/** A part that is to be taken. */
export interface NewPart {
  /** `settings`, `files`, `database:main`, `service:redis`. */
  readonly id: string
  readonly title: string
  /** `settings`, `files`, `postgresql` … */
  readonly type: string
  readonly version: string | null
  readonly method: 'copy' | 'online'
  /** ISO 8601, UTC. */
  readonly takenAt: string
  readonly extension: 'tar' | 'json'
}

export interface AddOptions {
  /** Ends the compression; nothing is left of the part, and `add` rejects with the reason. */
  readonly signal: AbortSignal
  /** How much of the content was taken so far; told now and then, and at the end. */
  readonly onBytes?: (contentBytes: number) => void
  /** The content is the archive of a tree: what is counted of it becomes the contents of the part. */
  readonly countsTree?: boolean
  /** The content is an archive, all of which goes into a folder of this name. */
  readonly prefix?: string
  /** Looked at when the content has ended, so what is pushed while it is read counts. */
  readonly warnings?: readonly string[]
}

/** What is known of a part only after it was taken. */
export interface PartNotes {
  readonly takenAt?: string
  readonly warnings?: readonly string[]
  readonly contents?: PartContents
}

/** What the manifest says beside its parts. */
export type ManifestFields = Pick<
  Manifest,
  'createdAt' | 'note' | 'source' | 'engine' | 'project' | 'stackquayVersion' | 'architecture' | 'key'
>

/**
 * A backup while it is made. It is one when `finish` has resolved, and nothing before; killed at any moment, what is there is swept.
 * Parts are added one after the other.
 */
export interface ArchiveWriter extends AsyncDisposable {
  readonly id: string
  /** Compresses the content into a file, in a process of its own. Reads no faster than it writes; memory does not grow with the content. */
  add(part: NewPart, content: Content, options: AddOptions): Promise<PartEntry>
  /** Stores bytes as they are: they are encrypted already. */
  addSealed(part: NewPart, bytes: Uint8Array): Promise<PartEntry>
  /** Completes the entry of a part that was added. */
  describe(part: string, notes: PartNotes): PartEntry
  finish(fields: ManifestFields): Promise<Manifest>
  /** Removes what was written. Nothing happens after `finish`. Disposing does the same. */
  abandon(): Promise<void>
}

/** A backup as one tar archive, the same bytes every time. */
export interface ArchiveTar {
  readonly size: number
  /** From the byte `from` up to the byte before `to`. */
  read(from?: number, to?: number, signal?: AbortSignal): AsyncIterable<Buffer>
}

export interface UploadOptions {
  readonly signal: AbortSignal
  /** Of the whole archive, and so of the disk that it takes; `too_large` above. */
  readonly maxBytes?: number
}

/** The folder with all backups of an instance. Every method throws `ArchiveError` for what it cannot do. */
export interface ArchiveFolder {
  /** What a killed attempt of the same id left is removed. `exists` when there is a backup of this id. */
  create(id: string): Promise<ArchiveWriter>
  /** Newest first. Those that cannot be read are handed to `onUnreadable` and left out. */
  list(onUnreadable?: (id: string, error: Error) => void): Promise<readonly Manifest[]>
  /** Null when there is none of this id. */
  read(id: string): Promise<Manifest | null>
  /** Nothing happens when there is none. Killed at any moment, it is there whole or not at all. */
  remove(id: string): Promise<void>
  /** Removes what killed attempts left, and nothing that this process is writing. Answers the names. */
  sweep(): Promise<readonly string[]>
  /** Compares size and checksum of all parts, or of those named, with the manifest: `damaged` with the part. */
  check(id: string, parts?: readonly string[], signal?: AbortSignal): Promise<void>
  /**
   * The content of a part, decompressed; of a sealed part as it is stored. Throws `damaged` as soon as there is more than the
   * manifest says, and at its end when content or checksum differ: what was read before counts only when it ended without.
   */
  open(id: string, part: string, signal?: AbortSignal): AsyncIterable<Buffer>
  /** The bytes of a part as they are stored. */
  openStored(id: string, part: string, signal?: AbortSignal): AsyncIterable<Buffer>
  asTar(id: string): Promise<ArchiveTar>
  /** Another sealing of the same key in the manifest, and nothing else; all of it or nothing. Answers the manifest as it is then. */
  rekey(id: string, key: NonNullable<Manifest['key']>): Promise<Manifest>
  /** Takes back what `asTar` wrote. Its `source` becomes `upload`. All of it or nothing. */
  upload(bytes: AsyncIterable<Uint8Array>, options: UploadOptions): Promise<Manifest>
}

export interface ArchiveFolderOptions {
  /** The program that compresses; null for none. Without it `zstd` is looked for on the PATH. */
  readonly zstd?: string | null
}
