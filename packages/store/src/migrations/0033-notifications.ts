import type { Kysely } from 'kysely'

export const name = 'notification channels'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notification_channels')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('projects', 'text', (column) => column.notNull())
    .addColumn('quiet_hours', 'text')
    .addColumn('cooldown_minutes', 'integer', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  const ofChannel = 'notification_channels.id'
  await db.schema
    .createTable('notification_groups')
    .addColumn('channel', 'text', (column) => column.notNull().references(ofChannel).onDelete('cascade'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('due_at', 'text')
    .addPrimaryKeyConstraint('notification_groups_key', ['channel', 'key'])
    .execute()
  await db.schema.createIndex('notification_groups_due').on('notification_groups').columns(['due_at']).execute()
  await db.schema
    .createTable('notification_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('channel', 'text', (column) => column.notNull().references(ofChannel).onDelete('cascade'))
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'text', (column) => column.notNull())
    .addColumn('next_attempt_at', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  const deliveries = (name: string) => db.schema.createIndex(name).on('notification_deliveries')
  await deliveries('notification_deliveries_of_channel').columns(['channel', 'id']).execute()
  await deliveries('notification_deliveries_due').columns(['state', 'next_attempt_at']).execute()
}
