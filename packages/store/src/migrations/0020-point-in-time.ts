import { type Kysely, sql } from 'kysely'

export const name = 'archives of changes of databases'

/**
 * Each archive is kept data of its project by its id: what a server wrote from one moment on. One that has ended is written no more. Its bases
 * are snapshots that name it, with the first piece of the log that they need.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('archives')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('database', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('keep_days', 'integer', (column) => column.notNull())
    .addColumn('begun_at', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'text')
    .execute()
  await schema
    .createIndex('archives_open')
    .on('archives')
    .columns(['project', 'data'])
    .unique()
    .where(sql.ref('ended_at'), 'is', null)
    .execute()
  await schema.alterTable('snapshots').addColumn('archive', 'text').execute()
  await schema.alterTable('snapshots').addColumn('piece', 'text').execute()
}
