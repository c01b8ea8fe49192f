import type { ExportLine } from '@stackquay/domain'

/** What became of a batch. */
export type Sent =
  /** It was taken, but for so many lines that the receiver left out. */
  | { readonly kind: 'taken'; readonly rejected: number; readonly reason: string }
  /** The receiver will never take it, however often it is sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterSeconds: number | null }

export interface Sender {
  /** Never throws. */
  send(lines: readonly ExportLine[], signal: AbortSignal): Promise<Sent>
  close(): void
}

export interface SenderOptions {
  readonly hostName: string
  /** File with headers for OTLP; null: none. */
  readonly headersFile: string | null
  readonly now: () => Date
}

export function failed(error: unknown, retryAfterSeconds: number | null = null): Sent {
  const reason = error instanceof Error ? error.message || error.name : String(error)
  return { kind: 'failed', reason, retryAfterSeconds }
}
