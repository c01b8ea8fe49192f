import { type Kysely, sql } from 'kysely'

export const name = 'waiting operations'

/**
 * Changes are accepted while an operation runs. A project knows which generation was carried out last, and with which specification
 * as long as that is another one; an operation knows which generation it carries and who asked for it; texts of secrets that a newer
 * generation replaced are kept until that was carried out.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('projects')
    .addColumn('observed_generation', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await schema.alterTable('projects').addColumn('held_spec', 'text').execute()
  await sql`update projects set observed_generation = generation`.execute(db)
  await schema.alterTable('operations').addColumn('generation', 'integer').execute()
  await schema.alterTable('operations').addColumn('requested_by', 'text').execute()

  await schema
    .createTable('secret_versions')
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('secret_versions_primary', ['secret', 'version'])
    .execute()
  await schema.createIndex('secret_versions_of_project').on('secret_versions').columns(['project']).execute()
}
