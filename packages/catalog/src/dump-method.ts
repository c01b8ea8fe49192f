import type { BackupProgram } from './backup-method.ts'

/** How a database goes out as a dump and comes in from one. Asked only when its program runs here. */
export interface DumpMethod<Input> {
  /** The usual one first. */
  readonly formats: readonly DumpFormat[]
  /** A load that fails, or is killed, leaves the data as it was; what it made beside that is gone after `clean`. */
  readonly isAtomic: boolean
  /** A command for the client programs, which are not beside every server. `line` is the release line of the server. */
  installClients(line: string): string
  /** Pure. Prints one line of JSON: `{"isEmpty":true}`, and in `missing` what keeps the database from being exported. */
  look(input: Input): DumpProgram
  /** Pure. Writes a dump to standard output. Whole only when it ends with 0. */
  write(input: Input, format: string): DumpProgram
  /** Pure. Reads a dump from standard input, with rights on this one database alone: the server sees to that. */
  load(input: Input, load: DumpLoad): DumpProgram
  /** Pure. Takes away what a load that failed or was killed left. Null: nothing is. `empties`: the database was empty before. */
  clean(input: Input, empties: boolean): DumpProgram | null
  /** Reads a dump of the format that is text. */
  reader(options: { readonly mode: DumpMode; readonly key: string }): DumpReader
}

export interface DumpFormat {
  /** `sql`, `custom`. */
  readonly name: string
  /** Of a file: `sql`. */
  readonly extension: string
  /** The bytes that a dump in it begins with; absent for text. */
  readonly magic?: string
}

/** `replace`: what is in the database goes. `append`: it stays, and the dump comes to it. */
export type DumpMode = 'replace' | 'append'

export interface DumpLoad {
  readonly format: string
  readonly mode: DumpMode
  /** Letters and digits that no dump can know; the reader ends the text with it, so that a text that was cut off is none. */
  readonly key: string
}

/** Runs beside the server. Where a client program is missing it ends with `clientMissing`, and says which on standard error. */
export type DumpProgram = Omit<BackupProgram, 'prefix'>

/** EX_UNAVAILABLE of sysexits.h. */
export const clientMissing = 69

/**
 * Reads a dump piece by piece, in memory that does not grow with it: what is no business of the database that it comes into is left
 * out and noted. That is for people, so that a dump of elsewhere comes in; what keeps a hostile one in its place is the server.
 */
export interface DumpReader {
  /** What goes on to the program. */
  read(chunk: Buffer): readonly Buffer[]
  /** The rest. Throws `DumpError` when the dump was cut off. */
  end(): readonly Buffer[]
  notes(): readonly DumpNote[]
}

export const dumpNoteKinds = ['database', 'role', 'owner', 'file', 'client', 'server', 'transaction'] as const

/** Something that was left out. */
export interface DumpNote {
  readonly kind: (typeof dumpNoteKinds)[number]
  /** As it stands there: `DROP DATABASE other`. */
  readonly text: string
  readonly count: number
  /** The first of them, from 1. */
  readonly lines: readonly number[]
}

/** The dump cannot come in as it is. The message is for people. */
export class DumpError extends Error {
  override readonly name = 'DumpError'
}
