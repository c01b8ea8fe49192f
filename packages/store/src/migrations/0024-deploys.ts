import type { Kysely } from 'kysely'

export const name = 'deploys and deliveries of forges'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('deploys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('trigger_kind', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('forge', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('branch', 'text')
    .addColumn('from_commit', 'text')
    .addColumn('commit_id', 'text')
    .addColumn('rolled_back', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('operation', 'text')
    .addColumn('reported', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('finished_at', 'text')
    .execute()
  await db.schema.createIndex('deploys_of_project').on('deploys').columns(['project', 'id']).execute()
  await db.schema.createIndex('deploys_by_state').on('deploys').columns(['state']).execute()
  await db.schema
    .createTable('git_deliveries')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('digest', 'text')
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('forge', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('ref', 'text')
    .addColumn('commit_id', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('deploy', 'text')
    .addPrimaryKeyConstraint('git_deliveries_key', ['project', 'seq'])
    .execute()
  await db.schema.createIndex('git_deliveries_by_id').on('git_deliveries').columns(['project', 'id']).execute()
  await db.schema.createIndex('git_deliveries_by_digest').on('git_deliveries').columns(['project', 'digest']).execute()
}
