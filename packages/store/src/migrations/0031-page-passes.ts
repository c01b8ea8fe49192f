import type { Kysely } from 'kysely'

export const name = 'passes to the pages of services'

/** They go with their session and their project. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('page_passes')
    .addColumn('hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('session', 'text', (column) => column.notNull().references('sessions.id').onDelete('cascade'))
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('page_passes_of_session').on('page_passes').columns(['session']).execute()
  await schema.createIndex('page_passes_of_project').on('page_passes').columns(['project']).execute()
}
