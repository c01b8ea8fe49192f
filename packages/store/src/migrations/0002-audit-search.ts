import type { Kysely } from 'kysely'

export const name = 'audit search'

/** Each filter finds its entries, newest first, without reading the others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['actor', 'action', 'outcome', 'time']) {
    await db.schema.createIndex(`audit_by_${column}`).on('audit').columns([column, 'seq']).execute()
  }
}
