import type { Kysely } from 'kysely'

export const name = 'targets of backup schedules'

/** `targets`: to which targets backups by schedule are copied, and what was done for it last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('backup_schedules')
    .addColumn('targets', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute()
}
