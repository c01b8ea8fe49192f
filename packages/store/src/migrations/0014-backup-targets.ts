import type { Kysely } from 'kysely'

export const name = 'backup targets'

/** Where backups are copied to, which copies lie there, and of those that are not complete which pieces were read back. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('backup_targets')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('checked_at', 'text', (column) => column.notNull())
    .execute()
  await schema
    .createTable('backup_copies')
    .addColumn('target', 'text', (column) => column.notNull().references('backup_targets.id').onDelete('cascade'))
    .addColumn('backup', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('backup_copies_primary', ['target', 'backup'])
    .execute()
  await schema
    .createTable('backup_copy_pieces')
    .addColumn('target', 'text', (column) => column.notNull().references('backup_targets.id').onDelete('cascade'))
    .addColumn('backup', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('content_sha256', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('backup_copy_pieces_primary', ['target', 'backup', 'number'])
    .execute()
}
