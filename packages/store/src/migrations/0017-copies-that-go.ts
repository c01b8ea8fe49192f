import type { Kysely } from 'kysely'

export const name = 'copies that go'

/**
 * `keep_on_targets`: how many copies by schedule stay on each target; null: all. `backup_copy_leftovers`: what may lie on a target of
 * a copy that is none any more, until the next copy to that target removed it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('backup_schedules').addColumn('keep_on_targets', 'text').execute()
  await schema
    .createTable('backup_copy_leftovers')
    .addColumn('target', 'text', (column) => column.notNull().references('backup_targets.id').onDelete('cascade'))
    .addColumn('backup', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('backup_copy_leftovers_primary', ['target', 'backup'])
    .execute()
}
