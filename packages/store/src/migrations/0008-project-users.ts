import type { Kysely } from 'kysely'

export const name = 'project users'

/**
 * A system user for each project. A number, and so a name and a uid, is never given twice: files of a project that is gone may
 * still be there. Of a project of the state before, `before_uid` is the user that all projects shared, until its files are its own.
 * `owner`: the user is the one who owns the project’s folder, and was never made for it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('project_users')
    .addColumn('number', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('project', 'text', (column) => column.unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('uid', 'integer', (column) => column.notNull())
    .addColumn('gid', 'integer', (column) => column.notNull())
    .addColumn('owner', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('before_uid', 'integer')
    .addColumn('before_gid', 'integer')
    .execute()
}
