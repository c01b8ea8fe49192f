import type { Kysely } from 'kysely'

export const name = 'seeds of databases'

/** Whether the seed of a database was read, by the name of its data. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('database_seeds')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('database_seeds_key', ['project', 'data'])
    .execute()
}
