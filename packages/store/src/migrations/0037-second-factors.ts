import type { Kysely } from 'kysely'

export const name = 'second factors'

/** What people prove themselves with besides the password: codes of an app, passkeys, and recovery codes for when both are lost. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('totp')
    .addColumn('user', 'text', (column) => column.primaryKey().notNull().references('users.id').onDelete('cascade'))
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('last_step', 'integer', (column) => column.notNull())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('recovery_codes')
    .addColumn('hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .execute()
  await db.schema.createIndex('recovery_codes_of_user').on('recovery_codes').columns(['user']).execute()
  await db.schema
    .createTable('passkeys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('credential', 'text', (column) => column.notNull().unique())
    .addColumn('public_key', 'text', (column) => column.notNull())
    .addColumn('counter', 'integer', (column) => column.notNull())
    .addColumn('transports', 'text', (column) => column.notNull())
    .addColumn('rp_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
  await db.schema.createIndex('passkeys_of_user').on('passkeys').columns(['user']).execute()
}
