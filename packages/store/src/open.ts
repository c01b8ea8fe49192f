import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { watchAudit } from './audit-watch.ts'
import { copyStore, type StoreCopy } from './copy-store.ts'
import { SqliteDialect, SqliteFile } from './dialect.ts'
import { StoreBusyError, StoreFullError, StoreUnusableError } from './errors.ts'
import { checkKey } from './key-check.ts'
import { Keyring } from './keyring.ts'
import { type Migration, migrate, refuseNewer } from './migrate.ts'
import { migrations as builtIn } from './migrations/index.ts'
import { prepareOn, statementsOn } from './prepared.ts'
import type { Schema } from './schema.ts'
import type { SealingKey } from './sealing.ts'
import { type SessionLimits, usualSessionLimits } from './sessions.ts'
import { damaged, explain, explainFileError } from './sqlite-errors.ts'
import type { Store } from './store.ts'
import { storeOver } from './store-over.ts'

export interface Clock {
  now(): Date
}

export interface StoreOptions {
  /** Made, with its folder, when it is not there; only this user can read it. */
  readonly file: string
  readonly sealingKey: SealingKey
  /** Another key that may have sealed the database, left behind by a key replacement that was interrupted. */
  readonly nextKey?: SealingKey
  readonly clock: Clock
  /** Where the signed checkpoint of the audit log is kept; without it there is none. See `watchAudit`. */
  readonly checkpointFile?: string
  /** Where errors of `onCommit` listeners go; a process warning by default. */
  readonly report?: (error: unknown) => void
  readonly migrations?: readonly Migration[]
  readonly sessionLimits?: SessionLimits
  /**
   * Called before the first migration of a database that is not new, with the database as it still is. When it throws, nothing is
   * migrated, and `openStore` throws `StoreUnusableError`.
   */
  readonly beforeMigration?: (old: OldDatabase) => Promise<void>
}

export interface OldDatabase {
  /** What it has, and what it is to have. */
  readonly schema: number
  readonly nextSchema: number
  /** The key that its secrets are sealed with. */
  readonly key: SealingKey
  copyTo(file: string): Promise<StoreCopy>
}

/**
 * Opens the database, makes it or brings it to the present schema, and checks that it is sound and that the key is the one
 * it was made with. Throws `StoreUnusableError` otherwise and leaves the file unchanged.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file, sealingKey, nextKey, clock, checkpointFile = null, migrations = builtIn } = options
  const keys: readonly [SealingKey, ...SealingKey[]] = [sealingKey, ...(nextKey === undefined ? [] : [nextKey])]
  if (keys.some(({ key }) => key.length !== 32)) throw new StoreUnusableError('The sealing key must have 32 bytes.')
  const report = options.report ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error)))
  const now = () => clock.now()
  prepareFile(file)
  const open: SqliteFile[] = []
  const close = () => {
    for (const one of open.splice(0).reverse()) one.close()
  }
  try {
    const writing = connect(file, { readOnly: false })
    open.push(writing)
    inspect(writing, migrations.length)
    writing.say('PRAGMA synchronous = FULL')
    const [mode] = writing.all<{ journal_mode: string }>('PRAGMA journal_mode = WAL')
    if (mode?.journal_mode !== 'wal') {
      throw new StoreUnusableError(
        `The file system of "${file}" cannot hold the database: it has no shared memory. Put it on a local disk.`,
      )
    }
    writing.say('PRAGMA journal_size_limit = 16777216')
    const writer = new Kysely<Schema>({ dialect: new SqliteDialect(writing) })
    const schema = schemaOf(writing)
    if (schema < migrations.length && options.beforeMigration !== undefined && isSealed(writing)) {
      const key = await checkKey(writer, keys, file, now().toISOString())
      const copyTo = (to: string) => copyStore(file, to, keys)
      await before(options.beforeMigration, { schema, nextSchema: migrations.length, key, copyTo }, file)
    }
    const run = statementsOn(writer, prepareOn(writing))
    await migrate(writer as unknown as Kysely<never>, migrations, () => clock.now().toISOString())
    const keyring = new Keyring(await checkKey(writer, keys, file, now().toISOString()))
    const keeper =
      checkpointFile === null
        ? null
        : await watchAudit({ file: checkpointFile, keyring, keys, writer, run, now, report })
    // From here on a transaction waits for other processes without holding up the event loop.
    writing.say('PRAGMA busy_timeout = 10')

    const committed = connect(file, { readOnly: true })
    open.push(committed)
    const reader = new Kysely<Schema>({ dialect: new SqliteDialect(committed) })
    const { sessionLimits = usualSessionLimits } = options
    const reading = { db: reader, prepare: prepareOn(committed), keys: keyring, sessionLimits, now }
    const own = {
      report,
      check: () => problemsIn(committed),
      close: () => {
        // Afterwards the one file is the whole database, so a copy of it is a backup.
        try {
          writing.say('PRAGMA wal_checkpoint(TRUNCATE)')
        } catch (error) {
          // The write-ahead log keeps the rest; the next opening finds it.
          if (!passes(explain(error, file))) throw error
        } finally {
          close()
        }
      },
      copyTo: (to: string, signal?: AbortSignal) => copyStore(file, to, keyring.all(), signal),
    }
    return storeOver(reading, { db: writer, run }, own, { file: checkpointFile, keeper })
  } catch (error) {
    close()
    throw unusable(explain(error, file))
  }
}

async function before(
  act: NonNullable<StoreOptions['beforeMigration']>,
  old: OldDatabase,
  file: string,
): Promise<void> {
  try {
    await act(old)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StoreUnusableError(
      `The database "${file}" has schema ${old.schema} and is to get schema ${old.nextSchema}, but the backup before that could not be made: ${reason.replace(/\.?$/, '.')} It was left as it is. Fix that, then start again.`,
      { cause: error },
    )
  }
}

/** Whether anything was kept in it: one whose first opening was killed has nothing. */
function isSealed(file: SqliteFile): boolean {
  const tables = file.all("select 1 from sqlite_master where type = 'table' and name = 'instance'")
  return tables.length > 0 && file.all("select 1 from instance where name = 'key_check'").length > 0
}

function schemaOf(file: SqliteFile): number {
  const tables = file.all("select 1 from sqlite_master where type = 'table' and name = 'migrations'")
  if (tables.length === 0) return 0
  return file.all<{ version: number }>('select coalesce(max(version), 0) as version from migrations')[0]?.version ?? 0
}

/** A running service waits for a full disk or a lock to pass; a starting one refuses to start. */
function unusable(error: unknown): unknown {
  return passes(error) ? new StoreUnusableError(error.message, { cause: error }) : error
}

function passes(error: unknown): error is Error {
  return error instanceof StoreFullError || error instanceof StoreBusyError
}

/** SQLite gives its other files the mode of this one, whatever the umask. */
function prepareFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  } catch (error) {
    throw unusable(explainFileError(error, file))
  }
}

function connect(path: string, { readOnly }: { readOnly: boolean }): SqliteFile {
  return new SqliteFile(path, new DatabaseSync(path, { readOnly, enableForeignKeyConstraints: true, timeout: 5000 }))
}

/** Checks the file before the first write. */
function inspect(file: SqliteFile, known: number): void {
  const tables = file
    .all<{ name: string }>("select name from sqlite_master where type = 'table'")
    .map((row) => row.name)
  if (tables.length > 0 && !tables.includes('migrations')) {
    throw new StoreUnusableError(
      `"${file.path}" is a database of another program. It was left as it is. Choose another path.`,
    )
  }
  refuseNewer(file.path, schemaOf(file), known)
  const problems = problemsIn(file)
  if (problems.length > 0) throw new StoreUnusableError(damaged(file.path, problems.slice(0, 3).join('; ')))
}

function problemsIn(file: SqliteFile): readonly string[] {
  const found = file.all<{ quick_check: string }>('PRAGMA quick_check(20)').map((row) => row.quick_check)
  const loose = file.all<{ table: string; rowid: number; parent: string }>('PRAGMA foreign_key_check')
  return [
    ...found.filter((line) => line !== 'ok'),
    ...loose
      .slice(0, 20)
      .map(({ table, rowid, parent }) => `row ${rowid} of ${table} belongs to a missing row of ${parent}`),
  ]
}
