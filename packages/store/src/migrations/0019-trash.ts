import type { Kysely } from 'kysely'

export const name = 'trash'

/**
 * What was deleted and can be brought back until `purge_at`. `content` holds rows of other tables as they were: a later migration that
 * changes one of those changes them here too. Sealed secrets move as they are, with their ids: a seal is bound to them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('trash')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    // No reference: the project may be what was deleted.
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('slug', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('project_name', 'text', (column) => column.notNull())
    .addColumn('engine', 'text', (column) => column.notNull())
    .addColumn('operation', 'text')
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('deleted_at', 'text', (column) => column.notNull())
    .addColumn('deleted_by', 'text', (column) => column.notNull())
    .addColumn('purge_at', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('trash_of_project').on('trash').columns(['project', 'id']).execute()

  await schema
    .createTable('trash_secrets')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('trash', 'text', (column) => column.notNull().references('trash.id').onDelete('cascade'))
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('trash_secrets_of').on('trash_secrets').columns(['trash']).execute()
}
