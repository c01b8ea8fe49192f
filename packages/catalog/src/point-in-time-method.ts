import type { BackupProgram } from './backup-method.ts'

/**
 * How a database keeps its log of changes, so that it can be made again as it was at any moment: its server writes every finished piece of
 * the log into the archive, kept data of its own, and a base is a copy of its data that was taken while it ran. Names of pieces are
 * ordered as texts.
 */
export interface PointInTimeMethod<Input> {
  /** Why this version cannot, for people; null when it can. */
  blocker(version: string): string | null
  /**
   * Runs while the server does. Writes a transaction that is later than every one before, finishes the piece of the log that it is in, and
   * prints one line of JSON: `ArchiveMark`.
   */
  mark(input: ArchiveInput<Input>): BackupProgram
  /** Prints one line of JSON: `ArchiveLook`. Whether the server runs does not matter. */
  look(input: ArchiveInput<Input>): BackupProgram
  /** Removes the pieces before this one. */
  prune(input: ArchiveInput<Input>, before: string): BackupProgram
  /**
   * Runs on a copy of a base, before a server does. Brings it to the moment by what is in the archive and, where that is named, in the log
   * of the data that it is a copy of; `last` is the last piece that there is. Prints one line of JSON, `Recovered`. Fails where the log ends
   * before the moment. The password is that of the entry at its next start.
   */
  recover(input: ArchiveInput<Input>, moment: RecoveryMoment): BackupProgram
}

export interface ArchiveInput<Input> {
  /** Of the database whose data it is about. */
  readonly input: Input
  /** Name of the kept data that is the archive. */
  readonly archive: string
  /** Name of the kept data whose server writes it; null for an archive that no server writes any more. */
  readonly origin: string | null
}

export interface RecoveryMoment {
  /** RFC 3339. The last transaction that is in it was committed then or before. */
  readonly to: string
  readonly last: string
}

export interface ArchiveMark {
  /** The piece that the transaction is in. */
  readonly piece: string
}

export interface ArchiveLook {
  /** Pieces without a gap between them, oldest first; `endsAt` is when the last of them was finished. */
  readonly runs: readonly ArchiveRun[]
  /** The newest piece that the data itself has; null where that is not looked at. */
  readonly newest: string | null
  /** How many finished pieces are not in the archive yet, and since when the oldest is. */
  readonly waiting: number
  readonly waitingSince: string | null
}

export interface ArchiveRun {
  readonly first: string
  readonly last: string
  readonly endsAt: string
}

export interface Recovered {
  /** When the last transaction in it was committed; null: none since the base. */
  readonly lastTransactionAt: string | null
}
