import type { Kysely } from 'kysely'

export const name = 'pull requests that are followed later'

/** Null in what was received before: it was followed at once. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('git_deliveries').addColumn('pending', 'text').execute()
}
