import type { Kysely } from 'kysely'

export const name = 'session origin'

/**
 * A session has two halves, and the store keeps neither in clear. Those made before have one half that pages of projects
 * could reach, so they end here. Tickets begin what a browser opens by its address.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.dropTable('sessions').execute()
  await schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('cookie_hash', 'text', (column) => column.notNull())
    .addColumn('key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('ip', 'text')
    .addColumn('user_agent', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_seen_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('sessions_of_user').on('sessions').columns(['user']).execute()

  await schema
    .createTable('session_tickets')
    .addColumn('hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('session', 'text', (column) => column.notNull().references('sessions.id').onDelete('cascade'))
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('begun_at', 'text')
    .execute()
  await schema.createIndex('session_tickets_of_session').on('session_tickets').columns(['session']).execute()
  await schema.createIndex('session_tickets_by_age').on('session_tickets').columns(['created_at']).execute()
}
