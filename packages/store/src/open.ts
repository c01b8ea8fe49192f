import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { auditHead } from './audit.ts'
import { firstPrevHash, sealHead } from './audit-chain.ts'
import { SqliteDialect, SqliteFile } from './dialect.ts'
import { StoreBusyError, StoreFullError, StoreUnusableError } from './errors.ts'
import { type Migration, migrate, refuseNewer } from './migrate.ts'
import { migrations as ours } from './migrations/index.ts'
import { prepareOn } from './prepared.ts'
import type { Schema } from './schema.ts'
import { type SealingKey, seal, unseal } from './sealing.ts'
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
  readonly clock: Clock
  /** Where errors of `onCommit` listeners go; a process warning unless told. */
  readonly report?: (error: unknown) => void
  readonly migrations?: readonly Migration[]
}

/**
 * Opens the database, makes it or brings it to the present schema, and checks that it is sound and that the key is the one
 * it was made with. Throws `StoreUnusableError` and leaves the file as it is when one of that is not so.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file, sealingKey, clock, migrations = ours } = options
  if (sealingKey.key.length !== 32) throw new StoreUnusableError('The sealing key must have 32 bytes.')
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
    await migrate(writer as unknown as Kysely<never>, migrations, () => clock.now().toISOString())
    await checkKey(writer, sealingKey, file)
    // From here on a transaction waits for other processes without holding up the event loop.
    writing.say('PRAGMA busy_timeout = 10')

    const committed = connect(file, { readOnly: true })
    open.push(committed)
    const reader = new Kysely<Schema>({ dialect: new SqliteDialect(committed) })
    return storeOver({ db: reader, prepare: prepareOn(committed), key: sealingKey, now: () => clock.now() }, writer, {
      report: options.report ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error))),
      check: () => problemsIn(committed),
      close: () => {
        // Afterwards the one file is the whole database, so a copy of it is a backup.
        try {
          writing.say('PRAGMA wal_checkpoint(TRUNCATE)')
        } catch (error) {
          // What is in the log is safe there; the next opening finds it.
          if (!passes(explain(error, file))) throw error
        } finally {
          close()
        }
      },
    })
  } catch (error) {
    close()
    throw unusable(explain(error, file))
  }
}

/** What passes for a running service (a full disk, a lock) is a reason not to start. */
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

/** Looks before anything is written. */
function inspect(file: SqliteFile, known: number): void {
  const tables = file
    .all<{ name: string }>("select name from sqlite_master where type = 'table'")
    .map((row) => row.name)
  if (tables.length > 0 && !tables.includes('migrations')) {
    throw new StoreUnusableError(
      `"${file.path}" is a database of another program. It was left as it is. Choose another path.`,
    )
  }
  if (tables.length > 0) {
    const [schema] = file.all<{ version: number }>('select coalesce(max(version), 0) as version from migrations')
    refuseNewer(file.path, schema?.version ?? 0, known)
  }
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

const keyCheck = 'key_check'
const checkedText = 'stackquay'

/** The first key is remembered by its id and by a text sealed with it; any other is refused from then on. */
async function checkKey(writer: Kysely<Schema>, key: SealingKey, file: string): Promise<void> {
  await writer.transaction().execute(async (tx) => {
    const stored = await tx.selectFrom('instance').select('value').where('name', '=', keyCheck).executeTakeFirst()
    if (stored === undefined) {
      const sealed = seal(key, checkedText, [keyCheck, key.id])
      await tx
        .insertInto('instance')
        .values([
          { name: keyCheck, value: JSON.stringify({ keyId: key.id, sealed }) },
          { name: auditHead, value: sealHead(key, { seq: 0, hash: firstPrevHash }) },
        ])
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute()
      return
    }
    const { keyId, sealed } = JSON.parse(stored.value) as { keyId: string; sealed: string }
    if (keyId !== key.id) {
      throw new StoreUnusableError(
        `The secrets in "${file}" are sealed with the key ${keyId}; the service was given the key ${key.id}. Give it the key ${keyId}.`,
      )
    }
    if (unseal(key, sealed, [keyCheck, keyId]) !== checkedText) {
      throw new StoreUnusableError(
        `The service was given a key that calls itself ${keyId}, but it is not the one that sealed the secrets in "${file}". Give it the original key.`,
      )
    }
  })
}
