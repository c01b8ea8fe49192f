import type { BrowseConnection, BrowseErrorCode, SchemaTree } from '../browse/driver.ts'
import type { ImportAsk } from '../browse/import-rows.ts'
import type { KeyAsk, KeyChange, KeyConnection, KeysAsk, KeysPage, KeyText, KeyView } from '../browse/key-driver.ts'
import type { EditAnswer, EditAsk, ExportAsk, PageAsk, QueryAnswer, QueryAsk, RowsPage } from '../browse/sql-acts.ts'

/*
 * What the service and the process that looks into a database say to each other, over the channel that Node makes for a child.
 */

/** First of all: which server it is. */
export type Purpose =
  | { readonly of: 'sql'; readonly kind: string; readonly connection: BrowseConnection }
  | { readonly of: 'keys'; readonly kind: string; readonly connection: KeyConnection }

export interface BrowseCalls {
  schema(): SchemaTree
  rows(ask: PageAsk): RowsPage
  query(ask: QueryAsk): QueryAnswer
  edit(ask: EditAsk): EditAnswer
  /** Its bytes come as chunks before the answer. */
  export(ask: ExportAsk): null
  /** Its bytes are asked for chunk by chunk. */
  import(ask: ImportAsk): { readonly rows: number }
  keys(ask: KeysAsk): KeysPage
  key(ask: KeyAsk): KeyView | null
  changeKey(key: KeyText, change: KeyChange): boolean
}

export type CallName = keyof BrowseCalls

export type ToBrowser =
  | { readonly is: 'purpose'; readonly purpose: Purpose }
  | { readonly is: 'call'; readonly id: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly is: 'abort'; readonly id: number }
  /** A chunk was taken: the next may come. */
  | { readonly is: 'taken'; readonly id: number }
  /** What was asked for; null: that was all. */
  | { readonly is: 'content'; readonly id: number; readonly bytes: Uint8Array | null }

export type FromBrowser =
  | { readonly is: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly is: 'failure'; readonly id: number; readonly error: CrossingError }
  | { readonly is: 'chunk'; readonly id: number; readonly bytes: Uint8Array }
  /** The next chunk of what is imported may come. */
  | { readonly is: 'more'; readonly id: number }

/** An error on its way to the other process. `code` null: a fault of ours. */
export interface CrossingError {
  readonly code: BrowseErrorCode | null
  readonly message: string
  readonly stack: string
  readonly facts: Readonly<Record<string, string | number>>
}
