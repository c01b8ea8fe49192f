import type { Kysely } from 'kysely'

export const name = 'ssh keys'

/** Public keys that people log in with over SSH. A key belongs to one user and ends with that user. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ssh_keys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('public_key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
  await db.schema.createIndex('ssh_keys_of_user').on('ssh_keys').columns(['user']).execute()
}
