import type { Kysely } from 'kysely'

export const name = 'cron jobs'

/** Up to which time the times of a cron job are done with, and which was passed over last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('cron_jobs')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('schedule', 'text', (column) => column.notNull())
    .addColumn('timezone', 'text', (column) => column.notNull())
    .addColumn('counts_from', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('skipped_at', 'text')
    .addColumn('skipped_because', 'text')
    .addPrimaryKeyConstraint('cron_jobs_key', ['project', 'name'])
    .execute()
}
