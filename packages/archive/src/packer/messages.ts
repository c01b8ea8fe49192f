import type { StoredBytes } from '../files.ts'
import type { TreeContents } from '../tree-contents.ts'

/** What a packer is for; its only argument, as JSON. The content is its standard input, the file its descriptor 4. */
export interface Purpose {
  /** The program that compresses; null: it does that itself. */
  readonly zstd: string | null
  /** The content is the archive of a tree, which is counted. */
  readonly countsTree: boolean
  /** The content is an archive, all of which goes into a folder of this name. */
  readonly prefix?: string
}

export interface Packed extends StoredBytes {
  readonly contentBytes: number
  /** Null where it was not counted. */
  readonly tree: TreeContents | null
}

/** After `failed` it waits to be ended: its input stays open, so what writes into that does not fail of it. */
export type FromPacker =
  | { readonly is: 'bytes'; readonly contentBytes: number }
  | { readonly is: 'packed'; readonly packed: Packed }
  | { readonly is: 'failed'; readonly code: string; readonly message: string }

/** The program zstd ended before its time. */
export const compressionFailed = 'compression_failed'
