import type { Kysely } from 'kysely'

export const name = 'sign-in by a provider'

export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('oidc_identities')
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('managed', 'integer', (column) => column.notNull())
    .addColumn('name', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_sign_in_at', 'text')
    .addPrimaryKeyConstraint('oidc_identities_key', ['issuer', 'subject'])
    .execute()
  await schema.createIndex('oidc_identities_of_user').on('oidc_identities').columns(['user']).execute()
  await schema
    .createTable('oidc_sessions')
    .addColumn('session', 'text', (column) =>
      column.primaryKey().notNull().references('sessions.id').onDelete('cascade'),
    )
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('refresh_at', 'text')
    .addColumn('failing_since', 'text')
    .execute()
}
