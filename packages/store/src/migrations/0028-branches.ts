import type { Kysely } from 'kysely'

export const name = 'branch environments'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('branches')
    .addColumn('parent', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('branch', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.unique().references('projects.id').onDelete('cascade'))
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('seen_commit', 'text')
    .addColumn('gone_at', 'text')
    .addColumn('warning', 'text')
    .addColumn('pull_request', 'text')
    .addPrimaryKeyConstraint('branches_key', ['parent', 'branch'])
    .execute()
}
