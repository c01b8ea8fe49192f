import { type Kysely, sql } from 'kysely'
import { appendOnly } from '../dialect.ts'

export const name = 'first'

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('projects')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('slug', 'text', (column) => column.notNull().unique())
    .addColumn('desired', 'text', (column) => column.notNull())
    .addColumn('phase', 'text', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('source', 'text')
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('state_since', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addColumn('search', 'text', (column) => column.notNull())
    .addColumn('spec', 'text', (column) => column.notNull())
    .execute()
  // Answers "what is still as I know it?" without reading a single specification.
  await schema.createIndex('projects_revisions').on('projects').columns(['id', 'revision']).execute()

  await schema
    .createTable('operations')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    // No reference: the operation that deleted a project is still asked for when the project is gone.
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('progress', 'double precision', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text')
    .addColumn('finished_at', 'text')
    .addColumn('error', 'text')
    .addColumn('input', 'text', (column) => column.notNull())
    .addColumn('steps', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('operations_of_project').on('operations').columns(['project', 'id']).execute()
  await schema
    .createIndex('operations_unfinished')
    .on('operations')
    .columns(['project', 'id'])
    .where(sql.ref('state'), 'in', [sql.lit('queued'), sql.lit('running')])
    .execute()

  await schema
    .createTable('secrets')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('project', 'text', (column) => column.references('projects.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('secrets_of_project').unique().on('secrets').columns(['project', 'name']).execute()
  // In a unique index no two nulls are equal; the instance's names need one of their own.
  await schema
    .createIndex('secrets_of_instance')
    .unique()
    .on('secrets')
    .columns(['name'])
    .where(sql.ref('project'), 'is', null)
    .execute()

  await schema
    .createTable('port_leases')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('workload', 'text', (column) => column.notNull())
    .addColumn('port', 'text', (column) => column.notNull())
    .addColumn('host_port', 'integer', (column) => column.notNull().unique())
    .addPrimaryKeyConstraint('port_leases_primary', ['project', 'workload', 'port'])
    .execute()

  await schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('username', 'text', (column) => column.notNull().unique())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('disabled', 'integer', (column) => column.notNull())
    .addColumn('password_hash', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()

  await schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('csrf_token', 'text', (column) => column.notNull())
    .addColumn('user', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('ip', 'text')
    .addColumn('user_agent', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_seen_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('sessions_of_user').on('sessions').columns(['user']).execute()

  await schema
    .createTable('tokens')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('projects', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('last_used_at', 'text')
    .execute()
  await schema.createIndex('tokens_of_owner').unique().on('tokens').columns(['owner', 'name']).execute()

  await schema
    .createTable('audit')
    .addColumn('seq', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('time', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target', 'text')
    .addColumn('project', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('changes', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('operation_id', 'text')
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('ip', 'text')
    .addColumn('user_agent', 'text')
    .addColumn('prev_hash', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('search', 'text', (column) => column.notNull())
    .execute()
  await schema.createIndex('audit_of_project').on('audit').columns(['project', 'seq']).execute()
  for (const statement of appendOnly('audit')) await sql.raw(statement).execute(db)

  await schema
    .createTable('events')
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement().notNull())
    .addColumn('time', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('project', 'text')
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()

  await schema
    .createTable('idempotency')
    .addColumn('caller', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('status', 'integer')
    .addColumn('headers', 'text')
    .addColumn('body', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_primary', ['caller', 'key'])
    .execute()
  await schema.createIndex('idempotency_by_age').on('idempotency').columns(['created_at']).execute()

  for (const table of ['settings', 'instance']) {
    await schema
      .createTable(table)
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute()
  }
}
