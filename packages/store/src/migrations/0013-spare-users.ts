import type { Kysely } from 'kysely'

export const name = 'spare users'

/** `spare`: the user waits for a project that is still to be created, and so has none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('project_users')
    .addColumn('spare', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
}
