import type { Value } from '@stackquay/engine-api'

/** How the kept data of a type is backed up, beyond a copy of its folder while it is stopped. Asked only when its program runs here. */
export interface BackupMethod<Input> {
  /**
   * Pure. A program that writes a tar of the kept data to standard output while the workload runs and others write: unpacked
   * into an empty data folder, a server starts on it and has every write that was acknowledged before the program began. Whole
   * only when the program ends with 0; what it says on standard error is for people. Null: not with this toolchain.
   */
  online?(input: Input): BackupProgram | null
  /**
   * Pure. A program that makes a copy of the files whole that is taken while the workload runs and others write. It prints `ready` when
   * the files may be copied; after a line on its standard input one line of JSON, an object of files that belong into the copy
   * (path → text); and ends with 0 after its input has ended. Whenever it is killed, the workload goes on as before. Null: the
   * workload is stopped for a copy.
   */
  live?(input: Input): LiveCopyProgram | null
  /**
   * Pure. A program that prints one line of JSON, an object with what is in the data: counts and checksums. Equal lines: the
   * same data, when the same release line printed both. What it leaves uncounted, for time or rights, it names. Null: not with
   * this toolchain.
   */
  contents?(input: Input): BackupProgram | null
}

/** Paths are relative to the kept data. */
export interface LiveCopyProgram extends BackupProgram {
  /** Files that stay out of the copy; of a folder, what is in it. */
  readonly leftOut: readonly string[]
  /** Folders whose files are copied after the second line was printed. */
  readonly later: readonly string[]
}

/** Runs while the workload does, with its kept data; on an engine of images in its own container. Killed at any time, it leaves the data as usable as before. */
export interface BackupProgram {
  /** The first word is absolute. Words may name the workload's kept data: `{data:redis}`. */
  readonly argv: readonly [string, ...string[]]
  /** Complete. Secrets stand here alone. */
  readonly env: Readonly<Record<string, Value>>
  readonly cwd: string
  /** The workload in whose container it runs: its own. */
  readonly beside: string
  /** The folder of the kept data that the tar is the content of; `withPrefix` makes it one of the whole. Absent: it is one of the whole. */
  readonly prefix?: string
}
