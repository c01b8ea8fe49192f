import type { Kysely } from 'kysely'

export const name = 'network'

/** Host names, rules in front of projects, and shares. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('domains')
    .addColumn('host', 'text', (column) => column.primaryKey())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('workload', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('domains_of_project').on('domains').columns(['project', 'host']).execute()

  await db.schema
    .createTable('proxy_rules')
    .addColumn('project', 'text', (column) => column.primaryKey().references('projects.id').onDelete('cascade'))
    .addColumn('rules', 'text', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute()

  await db.schema
    .createTable('shares')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project', 'text', (column) => column.notNull().unique().references('projects.id').onDelete('cascade'))
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('workload', 'text')
    .addColumn('host', 'text', (column) => column.notNull().unique())
    .addColumn('url', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('detail', 'text')
    .addColumn('password_hash', 'text')
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
}
