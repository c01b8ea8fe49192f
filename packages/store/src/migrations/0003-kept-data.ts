import type { Kysely } from 'kysely'

export const name = 'kept data'

/** Which version wrote the data of a service last, and since when nothing uses it; null while something does. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('kept_data')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('kept_at', 'text')
    .addPrimaryKeyConstraint('kept_data_primary', ['project', 'name'])
    .execute()
}
