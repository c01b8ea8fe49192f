import type { Kysely } from 'kysely'

export const name = 'backup schedules'

/** When backups of a project are made by themselves, and what was done for it last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('backup_schedules')
    .addColumn('project', 'text', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('cron', 'text', (column) => column.notNull())
    .addColumn('timezone', 'text', (column) => column.notNull())
    .addColumn('keep', 'text', (column) => column.notNull())
    .addColumn('verify', 'text', (column) => column.notNull())
    .addColumn('times_set_at', 'text', (column) => column.notNull())
    .addColumn('keep_set_at', 'text', (column) => column.notNull())
    .addColumn('counts_from', 'text', (column) => column.notNull())
    .addColumn('late', 'integer', (column) => column.notNull())
    .addColumn('last_operation', 'text')
    .addColumn('last_verified', 'text')
    .execute()
}
