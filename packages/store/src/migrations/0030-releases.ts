import type { Kysely } from 'kysely'

export const name = 'releases of deploys, and refused deliveries'

/** Null in what was deployed before: nobody knows any more what it ran with. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [column, type] of [
    ['generation', 'integer'],
    ['installed_from', 'text'],
    ['images', 'text'],
    ['runtimes', 'text'],
  ] as const)
    await db.schema.alterTable('deploys').addColumn(column, type).execute()
  await db.schema
    .createTable('git_refusals')
    .addColumn('project', 'text', (column) =>
      column.primaryKey().notNull().references('projects.id').onDelete('cascade'),
    )
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .execute()
}
