import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { explain, isBusy } from './sqlite-errors.ts'

const statementsKept = 400

interface Prepared {
  readonly statement: StatementSync
  readonly answersRows: boolean
}

/** One open file with its prepared statements. Everything is synchronous, so nothing can get in between. */
export class SqliteFile {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, Prepared>()

  constructor(path: string, database: DatabaseSync) {
    this.path = path
    this.#database = database
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction
  }

  /** The statement of this text, prepared once. Throws SQLite's own error. */
  prepare(sql: string): Prepared {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    const prepared = { statement, answersRows: statement.columns().length > 0 }
    // Lists of ids make texts without end; the oldest go.
    if (this.#statements.size >= statementsKept) this.#statements.delete(this.#statements.keys().next().value as string)
    this.#statements.set(sql, prepared)
    return prepared
  }

  all<Row>(sql: string, parameters: readonly unknown[] = []): Row[] {
    try {
      return this.prepare(sql).statement.all(...(parameters as SQLInputValue[])) as Row[]
    } catch (error) {
      throw explain(error, this.path)
    }
  }

  run(sql: string, parameters: readonly unknown[] = []): number {
    try {
      return Number(this.prepare(sql).statement.run(...(parameters as SQLInputValue[])).changes)
    } catch (error) {
      throw explain(error, this.path)
    }
  }

  /** Statements that are said once and not kept: pragmas, BEGIN, COMMIT. Throws SQLite's own error. */
  say(sql: string): void {
    this.#database.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }
}

/**
 * Kysely over a `SqliteFile`. Who closes the file is who opened it, not Kysely. `patienceMs`: how long a transaction waits
 * for another process; the event loop goes on meanwhile.
 */
export class SqliteDialect implements Dialect {
  readonly #file: SqliteFile
  readonly #patienceMs: number

  constructor(file: SqliteFile, patienceMs = 10_000) {
    this.#file = file
    this.#patienceMs = patienceMs
  }

  createDriver(): Driver {
    return new SqliteDriver(this.#file, this.#patienceMs)
  }

  createQueryCompiler() {
    return new SqliteQueryCompiler()
  }

  createAdapter() {
    return new SqliteAdapter()
  }

  createIntrospector(db: ConstructorParameters<typeof SqliteIntrospector>[0]) {
    return new SqliteIntrospector(db)
  }
}

class SqliteDriver implements Driver {
  readonly #file: SqliteFile
  readonly #patienceMs: number

  constructor(file: SqliteFile, patienceMs: number) {
    this.#file = file
    this.#patienceMs = patienceMs
  }

  async init() {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return new SqliteLease(this.#file)
  }

  async beginTransaction(connection: SqliteLease) {
    await connection.begin(this.#patienceMs)
  }

  async commitTransaction(connection: SqliteLease) {
    connection.commit()
  }

  async rollbackTransaction(connection: SqliteLease) {
    connection.rollback()
  }

  async releaseConnection() {}

  async destroy() {}
}

/** The file for as long as one query or one transaction takes. */
class SqliteLease implements DatabaseConnection {
  readonly #file: SqliteFile
  #transaction = false

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Takes the write lock at once: a transaction that begins will not fail half-way because another process writes. */
  async begin(patienceMs: number): Promise<void> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      try {
        this.#file.say('BEGIN IMMEDIATE')
        this.#transaction = true
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw explain(error, this.#file.path)
      }
      await pause(5)
    }
  }

  commit(): void {
    this.#assertWhole()
    try {
      this.#file.say('COMMIT')
    } catch (error) {
      throw explain(error, this.#file.path)
    }
    this.#transaction = false
  }

  rollback(): void {
    this.#transaction = false
    if (this.#file.inTransaction) this.#file.say('ROLLBACK')
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    this.#assertWhole()
    let answersRows: boolean
    try {
      answersRows = this.#file.prepare(query.sql).answersRows
    } catch (error) {
      throw explain(error, this.#file.path)
    }
    if (answersRows) return { rows: this.#file.all<Row>(query.sql, query.parameters) }
    return { rows: [], numAffectedRows: BigInt(this.#file.run(query.sql, query.parameters)) }
  }

  // biome-ignore lint/correctness/useYield: the interface asks for it, and this dialect does not stream.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Long answers are read in slices, not streamed.')
  }

  /**
   * A full disk makes SQLite roll back by itself. Whoever catches that error and goes on would then write outside of any
   * transaction, one statement at a time.
   */
  #assertWhole(): void {
    if (this.#transaction && !this.#file.inTransaction) {
      throw new Error('The transaction was rolled back by an earlier error; nothing of it is written.')
    }
  }
}

/** Makes a table refuse changes of its rows. */
export function appendOnly(table: string): readonly string[] {
  return ['update', 'delete'].map(
    (change) =>
      `create trigger ${table}_no_${change} before ${change} on ${table} begin select raise(abort, '${table} is append only'); end`,
  )
}
