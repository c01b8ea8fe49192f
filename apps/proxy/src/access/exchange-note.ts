import type { RuleName } from '../gate/gate.ts'

/** One request at its end. Nothing secret: tokens are in queries, so there is none. */
export interface ExchangeNote {
  /** Id of the project. */
  readonly project: string
  readonly host: string
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly status: number
  /** From the first byte of the request to the last of the answer. */
  readonly seconds: number
  /** Of the answer’s body. */
  readonly bytes: number
  readonly client: string
  readonly userAgent: string | null
  readonly via: 'domain' | 'share'
  /** Id of the share. */
  readonly share: string | null
  /** Which rule answered in the project’s place, or a page of the proxy; null: the project did. */
  readonly by: RuleName | 'page' | null
}

/** Gets the end of each exchange. Never fails and never waits. */
export type NoteExchange = (note: ExchangeNote) => void
