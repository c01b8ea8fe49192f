import type { AuditEntry } from '@stackquay/contract'

export type NewAuditEntry = Omit<AuditEntry, 'seq' | 'id' | 'time' | 'prevHash' | 'hash'>

export interface AuditFilters {
  readonly q?: string
  readonly actor?: string
  readonly action?: string
  readonly project?: string
  readonly outcome?: string
  readonly since?: string
  readonly until?: string
}

export interface AuditReader {
  /** Newest first; `cursor` is the sequence number of the last one seen. */
  list(options: AuditFilters & { readonly limit: number; readonly cursor?: string }): Promise<readonly AuditEntry[]>
  /** Oldest first, up to the newest of now, a few hundred at a time: memory does not grow with the log. */
  slices(filters: AuditFilters): AsyncIterable<readonly AuditEntry[]>
  /**
   * Follows the chain from the first entry to the sealed head and compares it with the checkpoint beside the database.
   * `firstBroken` is the first number whose entry was changed or is missing, `reason` a sentence about it.
   */
  verify(): Promise<{
    readonly ok: boolean
    readonly entries: number
    readonly firstBroken: number | null
    readonly reason: string | null
    readonly checkpoint: { readonly seq: number; readonly time: string } | null
  }>
}

export interface AuditWriter {
  /** Chains the entry to the one before. */
  append(entry: NewAuditEntry): Promise<AuditEntry>
  /**
   * Removes the oldest entries that were written before `before`, at most `most` of them; the newest of all stays. The chain begins behind
   * them from then on. Answers how many; none where the chain is broken, which nobody could show afterwards.
   */
  prune(before: string, most: number): Promise<number>
}
