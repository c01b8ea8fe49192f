import type { Kysely } from 'kysely'

export const name = 'sleep of projects'

/** Since when a project sleeps and why, as JSON, and when it was used last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('projects').addColumn('asleep', 'text').execute()
  await db.schema.alterTable('projects').addColumn('last_used_at', 'text').execute()
}
