import type { Reading, Writing } from './context.ts'
import type { TicketReader, TicketWriter } from './model/tickets.ts'
import { given } from './prepared.ts'

/** A ticket begins its answer within this time after it was made. */
export const ticketBeginMs = 30_000
/** A download goes on under its ticket for this long after it began. */
export const ticketDownloadMs = 3_600_000

export function ticketReader({ db, prepare }: Reading): TicketReader {
  const byHash = prepare(db.selectFrom('session_tickets').selectAll().where('hash', '=', given<string>('hash')))
  return {
    find: async (hash) => {
      const row = byHash({ hash })[0]
      return row === undefined
        ? null
        : { session: row.session, target: row.target, createdAt: row.created_at, begunAt: row.begun_at }
    },
  }
}

export function ticketWriter({ db, now }: Writing): TicketWriter {
  const before = (ms: number) => new Date(Date.parse(now) - ms).toISOString()
  return {
    insert: async ({ hash, session, target }) => {
      // The oldest that may still go on began when it was about to be too late.
      await db
        .deleteFrom('session_tickets')
        .where('created_at', '<', before(ticketBeginMs + ticketDownloadMs))
        .execute()
      await db
        .insertInto('session_tickets')
        .values({ hash, session, target, created_at: now, begun_at: null })
        .execute()
    },
    begin: async (hash) => {
      const { numUpdatedRows } = await db
        .updateTable('session_tickets')
        .set({ begun_at: now })
        .where('hash', '=', hash)
        .where('begun_at', 'is', null)
        .where('created_at', '>=', before(ticketBeginMs))
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
  }
}
