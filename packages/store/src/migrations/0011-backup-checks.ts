import type { Kysely } from 'kysely'

export const name = 'backup checks'

/** What the last restore drill of a backup found. It is kept here and not with the backup, so that no archive from elsewhere says it of itself. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('backup_checks')
    .addColumn('backup', 'text', (column) => column.primaryKey().notNull())
    .addColumn('checked_at', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('seconds', 'real', (column) => column.notNull())
    .addColumn('checks', 'text', (column) => column.notNull())
    .execute()
}
