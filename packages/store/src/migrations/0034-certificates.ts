import type { Kysely } from 'kysely'

export const name = 'certificates'

/** Certificates of the instance. Their keys are secrets of the instance, sealed apart under `certificate/<id>`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('certificates')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('names', 'text', (column) => column.notNull())
    .addColumn('certificate', 'text', (column) => column.notNull())
    .addColumn('not_before', 'text', (column) => column.notNull())
    .addColumn('not_after', 'text', (column) => column.notNull())
    .addColumn('next_renewal', 'text')
    .addColumn('last_failure', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('certificates_of_subject', ['source', 'subject'])
    .execute()
}
