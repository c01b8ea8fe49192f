import { type Kysely, sql } from 'kysely'
import { StoreUnusableError } from './errors.ts'

export interface Migration {
  readonly name: string
  /** Runs inside a transaction: either all of it stands, with its record, or nothing. */
  readonly up: (db: Kysely<unknown>) => Promise<void>
}

interface Recorded {
  migrations: { version: number; name: string; applied_at: string }
}

/**
 * Brings the database to the last of `migrations`, each in a transaction of its own, forward only. Safe when two processes
 * do it at once: each transaction looks again at what is left to do.
 */
export async function migrate(db: Kysely<never>, migrations: readonly Migration[], now: () => string): Promise<void> {
  const recorded = db as unknown as Kysely<Recorded>
  await recorded.transaction().execute((tx) =>
    tx.schema
      .createTable('migrations')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at', 'text', (column) => column.notNull())
      .execute(),
  )
  while (await step(recorded, migrations, now)) {}
}

/** Says so when the database was written by a newer program; `schema` is its version. */
export function refuseNewer(file: string, schema: number, known: number): void {
  if (schema <= known) return
  throw new StoreUnusableError(
    `The database "${file}" has schema ${schema}; this program knows schemas up to ${known}. It was left as it is. ` +
      'Start the newer program that wrote it, or restore the backup made before the upgrade.',
  )
}

async function step(db: Kysely<Recorded>, migrations: readonly Migration[], now: () => string): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { version } = await tx
      .selectFrom('migrations')
      .select(sql<number>`coalesce(max(version), 0)`.as('version'))
      .executeTakeFirstOrThrow()
    const next = migrations[version]
    if (next === undefined) return false
    await next.up(tx as unknown as Kysely<unknown>)
    await tx
      .insertInto('migrations')
      .values({ version: version + 1, name: next.name, applied_at: now() })
      .execute()
    return true
  })
}
