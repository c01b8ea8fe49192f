import type { Kysely } from 'kysely'

export const name = 'acme'

/**
 * What was tried to get certificates from an ACME authority, for each. It outlives a restart, so that a service that crashes asks no more
 * often than one that runs. What an order under way needs is a secret of the instance, sealed apart under `acme/order/<subject>`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('acme_attempts')
    .addColumn('subject', 'text', (column) => column.primaryKey().notNull())
    .addColumn('attempts', 'text', (column) => column.notNull())
    .addColumn('chance', 'real', (column) => column.notNull())
    .addColumn('renewal', 'text')
    .execute()
}
