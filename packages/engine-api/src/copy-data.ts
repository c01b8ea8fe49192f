/** Kept data of a project. */
export interface DataRef {
  readonly project: string
  readonly name: string
}

export interface CopyDataOptions {
  /** It is copied while workloads use it. Absent: that is refused. */
  readonly live?: LiveCopy
  /** Bytes so far. */
  onBytes?(bytes: number): void
}

/** What makes a copy of files that are written meanwhile whole. Paths are relative to the data. */
export interface LiveCopy {
  /** Files that stay out; of a folder, what is in it. */
  readonly leftOut: readonly string[]
  /** Folders whose files are copied after `between`. */
  readonly later: readonly string[]
  /** Called once, when all but `later` is copied. Answers files that are written into the copy, with their texts. */
  between(): Promise<Readonly<Record<string, string>>>
}

/** `copy-on-write`: the file system shares the blocks of both, so it took no room and hardly any time. */
export type CopyMethod = 'copy-on-write' | 'copy'

export interface DataCopied {
  readonly method: CopyMethod
  /** Bytes that its files have on disk, shared ones too. */
  readonly bytes: number
}
