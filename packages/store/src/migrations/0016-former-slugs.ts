import { type Kysely, sql } from 'kysely'

export const name = 'former slugs'

/** What a project was called before: its addresses of then lead to those of today, and nobody else gets the slug meanwhile. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('former_slugs')
    .addColumn('slug', 'text', (column) => column.primaryKey())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('until', 'text', (column) => column.notNull())
    .modifyEnd(sql`without rowid`)
    .execute()
  await db.schema.createIndex('former_slugs_of_project').on('former_slugs').columns(['project', 'until']).execute()
}
