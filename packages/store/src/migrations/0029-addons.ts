import type { Kysely } from 'kysely'

export const name = 'addons'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('addons')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('yaml', 'text', (column) => column.notNull())
    .addColumn('definition', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute()
}
