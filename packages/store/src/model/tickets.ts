export interface TicketRow {
  readonly session: string
  readonly target: string
  readonly createdAt: string
  readonly begunAt: string | null
}

export interface TicketReader {
  /** Also a ticket that is too old or used: the caller decides. */
  find(hash: string): Promise<TicketRow | null>
}

export interface TicketWriter {
  /** Deletes expired tickets too. */
  insert(ticket: { hash: string; session: string; target: string }): Promise<void>
  /** True for one caller alone, and only while it may begin: of two at once, one is too late. */
  begin(hash: string): Promise<boolean>
}
