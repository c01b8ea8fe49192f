import type { DumpProgram } from './dump-method.ts'

/**
 * How data that one release line wrote becomes data of a later one. Every program runs while no server of the database does. Killed at any
 * moment, and run again from the first one, they come to the same end. Where a program of the type is missing they end with `clientMissing`.
 */
export type UpgradeMethod<Input> = UpgradeAnew<Input> | UpgradeInPlace<Input>

interface UpgradeCommon {
  /** Why data of the line `from` never becomes data of the later line `to`; null when it can. */
  blocker(from: string, to: string): string | null
  /** A command for programs that are not beside every server. */
  installClients(line: string): string
}

/** Both are of the same data: `old` with the program of the line that wrote it. */
export interface UpgradePair<Input> {
  readonly old: Input
  readonly next: Input
}

/** The later line writes all of it anew beside the old data, which stays as it is until `finish`. */
export interface UpgradeAnew<Input> extends UpgradeCommon {
  readonly manner: 'anew'
  /** Whether the programs are here. The only one that may run while a server does. */
  check(pair: UpgradePair<Input>): DumpProgram
  /** Prints one line of JSON, `UpgradeLook`. */
  look(pair: UpgradePair<Input>): DumpProgram
  /** One after the other, each from what `read` writes to what `write` reads. */
  transfers(pair: UpgradePair<Input>, names: readonly string[]): readonly UpgradeTransfer[]
  /** Each prints one line with what is in the data, for `compare`. */
  count(pair: UpgradePair<Input>): { readonly before: DumpProgram; readonly after: DumpProgram }
  /** Pure. */
  compare(before: string, after: string): UpgradeComparison
  /** The new data takes the place of the old, which is kept. */
  swap(pair: UpgradePair<Input>): DumpProgram
  /** The old data is in its place, and nothing of the new is left. */
  undo(pair: UpgradePair<Input>): DumpProgram
  /** The old data goes. */
  finish(pair: UpgradePair<Input>): DumpProgram
}

/** The later line changes the data itself, so that the way back is a copy from before. */
export interface UpgradeInPlace<Input> extends UpgradeCommon {
  readonly manner: 'in-place'
  convert(pair: UpgradePair<Input>): DumpProgram
}

export interface UpgradeLook {
  /** What is carried over one by one. */
  readonly names: readonly string[]
  /** What would be lost or cannot be carried over, each with what to do. */
  readonly blockers: readonly string[]
}

export interface UpgradeTransfer {
  /** For people: `Carry the database "shop" over`. */
  readonly title: string
  readonly read: DumpProgram
  readonly write: DumpProgram
}

export interface UpgradeComparison {
  /** The first thing that is not the same, for people; null where all is. */
  readonly difference: string | null
  /** `3 databases, 12 tables with 5,000 rows`. */
  readonly compared: string
  /** What would have taken too long to compare. */
  readonly uncounted: readonly string[]
}
