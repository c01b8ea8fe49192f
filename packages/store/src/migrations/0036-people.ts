import type { Kysely } from 'kysely'

export const name = 'roles on projects and invitations'

/** Who was there before keeps their role everywhere. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const none = '[]'
  await db.schema
    .alterTable('users')
    .addColumn('projects', 'text', (column) => column.notNull().defaultTo(none))
    .execute()
  await db.schema
    .alterTable('users')
    .addColumn('project_roles', 'text', (column) => column.notNull().defaultTo(none))
    .execute()
  // Of one person the last one alone opens anything.
  await db.schema
    .createTable('invites')
    .addColumn('user', 'text', (column) => column.primaryKey().notNull().references('users.id').onDelete('cascade'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
}
