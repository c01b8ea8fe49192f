import type { LongCell } from './driver.ts'

/** A key or a member of a value: text, or bytes that are no UTF-8. */
export type KeyText = string | { readonly base64: string }

export interface KeyConnection {
  readonly host: string
  readonly port: number
  readonly username: string | null
  readonly password: string | null
}

export interface KeysAsk {
  /** A pattern with `*`, `?` and `[…]`. */
  readonly match: string
  readonly type: string | null
  readonly cursor: string
  readonly limit: number
}

export interface KeyFacts {
  readonly key: KeyText
  readonly type: string
  /** Null: it does not expire. */
  readonly ttlMs: number | null
}

export interface KeysPage {
  readonly keys: readonly KeyFacts[]
  readonly nextCursor: string | null
  /** Of the whole database. */
  readonly total: number
}

export interface KeyAsk {
  readonly key: KeyText
  readonly cursor: string
  readonly limit: number
}

export interface KeyItem {
  /** Of a hash its field, of a list the index, of a stream the id. */
  readonly name: string | LongCell | null
  readonly value: string | LongCell
  /** Of a sorted set. */
  readonly score: string | null
}

export interface KeyView extends KeyFacts {
  /** Bytes of a string, else how many items there are. */
  readonly length: number
  readonly items: readonly KeyItem[]
  readonly nextCursor: string | null
}

export type KeyChange =
  | { readonly set: { readonly value: string } }
  | { readonly setField: { readonly field: string; readonly value: string } }
  | { readonly deleteField: { readonly field: string } }
  | { readonly expire: { readonly seconds: number | null } }
  | { readonly delete: true }

export interface KeyServer {
  keys(ask: KeysAsk): Promise<KeysPage>
  /** Null when there is none. */
  key(ask: KeyAsk): Promise<KeyView | null>
  /** False when there is no such key. Never makes one of another type. */
  change(key: KeyText, change: KeyChange): Promise<boolean>
  close(): Promise<void>
}

export interface KeyDriver {
  open(connection: KeyConnection): Promise<KeyServer>
}
