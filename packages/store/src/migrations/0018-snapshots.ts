import type { Kysely } from 'kysely'

export const name = 'snapshots of databases'

/** Snapshots that are whole. Their data is kept data of the project, by the id of the snapshot. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('snapshots')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('database', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('part', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('version', 'text')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('milliseconds', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('snapshots_name', ['project', 'data', 'name'])
    .execute()
}
