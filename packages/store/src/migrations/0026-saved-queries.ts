import type { Kysely } from 'kysely'

export const name = 'saved queries of projects'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('saved_queries')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('database', 'text')
    .addColumn('sql', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('saved_queries_name', ['project', 'name'])
    .execute()
}
