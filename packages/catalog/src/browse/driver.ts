import type { SqlDialect } from './dialect.ts'

/** How a server is reached: as the database’s own user, and as one who may only read. */
export interface BrowseConnection {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly username: string
  readonly password: string
  readonly reader: { readonly username: string; readonly password: string }
}

export const valueKinds = ['text', 'number', 'boolean', 'json', 'binary'] as const
export type ValueKind = (typeof valueKinds)[number]

export interface ResultColumn {
  readonly name: string
  /** As the server calls it. */
  readonly type: string
  readonly kind: ValueKind
}

/** A value as JSON: numbers that JSON can hold, else the text that the server prints. What is long or binary is cut, and says so. */
export type Cell = string | number | boolean | null | LongCell
export type LongCell =
  | { readonly cut: string; readonly bytes: number }
  | { readonly base64: string; readonly bytes: number }

/** What comes from a driver, uncut. */
export type RawCell = string | number | boolean | null | Buffer

export interface ColumnFacts {
  readonly name: string
  readonly type: string
  readonly kind: ValueKind
  readonly nullable: boolean
  readonly default: string | null
  /** The server makes the value. */
  readonly generated: boolean
  /** Equal values can be told by "="; else their texts are compared. */
  readonly comparable: boolean
}

export interface ForeignKey {
  readonly name: string
  readonly columns: readonly string[]
  readonly references: { readonly schema: string; readonly table: string; readonly columns: readonly string[] }
}

export interface IndexFacts {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
}

export const tableKinds = ['table', 'view', 'materialized-view', 'foreign-table'] as const

export interface TableFacts {
  readonly schema: string
  readonly name: string
  readonly kind: (typeof tableKinds)[number]
  /** As the server guesses; null when it does not. */
  readonly rowEstimate: number | null
  readonly columns: readonly ColumnFacts[]
  /** Empty: its rows cannot be told apart, so they cannot be changed. */
  readonly primaryKey: readonly string[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly indexes: readonly IndexFacts[]
}

export interface SchemaTree {
  readonly defaultSchema: string
  /** Of its SQL, as editors call it. */
  readonly language: string
  readonly tables: readonly TableFacts[]
  /** There are more than are listed. */
  readonly truncated: boolean
}

export interface Statement {
  readonly text: string
  /** Text each, in the order of their places; null is NULL. */
  readonly values: readonly (string | Buffer | null)[]
}

export interface StreamOptions {
  /** As the database’s own user, committed by itself. Otherwise as the reader in a read-only transaction. */
  readonly write: boolean
  /** What people wrote: in a session of its own, which ends with it. */
  readonly foreign: boolean
  readonly timeLimitMs: number
  onColumns(columns: readonly ResultColumn[]): void
}

export interface Outcome {
  /** `SELECT`, `UPDATE`. */
  readonly command: string
  readonly affected: number | null
}

/** A statement that must touch exactly so many rows. */
export interface Edit extends Statement {
  readonly expects: number
}

export interface EditOutcome {
  /** Of the edit that did not touch what it should; null: all are committed. */
  readonly failed: { readonly index: number; readonly touched: number } | null
}

/** A server that is reached. */
export interface SqlServer {
  readonly dialect: SqlDialect
  schema(signal: AbortSignal): Promise<SchemaTree>
  /** Null when there is none of that name. */
  table(schema: string, name: string, signal: AbortSignal): Promise<TableFacts | null>
  defaultSchema(): string
  /** One statement. Rows come in batches, and no more are asked for than are taken. */
  stream(statement: Statement, options: StreamOptions, signal: AbortSignal): AsyncGenerator<RawCell[][], Outcome>
  /** In one transaction; rolled back when one of them touches another number of rows, or fails. */
  edit(edits: AsyncIterable<Edit> | Iterable<Edit>, timeLimitMs: number, signal: AbortSignal): Promise<EditOutcome>
  close(): Promise<void>
}

export interface SqlDriver {
  open(connection: BrowseConnection): Promise<SqlServer>
}

export type BrowseErrorCode =
  /** The server refuses the statement, or what it answers is no answer. */
  'refused' | 'unreachable' | 'too_late' | 'invalid' | 'not_found' | 'changed' | 'cancelled'

/** For people. `facts`: what the server says besides. */
export class BrowseError extends Error {
  override readonly name = 'BrowseError'
  readonly code: BrowseErrorCode
  readonly facts: Readonly<Record<string, string | number>>

  constructor(code: BrowseErrorCode, message: string, facts: Readonly<Record<string, string | number>> = {}) {
    super(message.slice(0, 4000))
    this.code = code
    this.facts = facts
  }
}
