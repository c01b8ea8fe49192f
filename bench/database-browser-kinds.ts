import mysql from 'mysql2/promise'
import { Client } from 'pg'

/** A client of its own, beside the browser. */
export interface Connection {
  query(sql: string): Promise<unknown>
  end(): Promise<void>
}

export interface Kind {
  readonly name: string
  readonly type: 'postgresql' | 'mariadb' | 'mysql'
  /** Folder whose programs are found first. */
  readonly programs?: string
  connect(url: string): Promise<Connection>
  /** Of the columns behind the key, in turn: how each is declared, and what it holds in row `n`. */
  readonly columns: readonly { readonly declared: string; readonly value: string }[]
  /** A query of the numbers from 1 to `rows`, as `n`. */
  numbers(rows: number): string
  analyze(table: string): string
  /** Each writes; none may be let through without "write". */
  readonly writing: readonly string[]
}

const postgresql: Kind = {
  name: 'PostgreSQL',
  type: 'postgresql',
  connect: async (url) => {
    const client = new Client(url)
    await client.connect()
    return { query: (sql) => client.query(sql), end: () => client.end() }
  },
  columns: [
    { declared: 'int', value: 'n % 1000' },
    { declared: 'text', value: "'text ' || n" },
    { declared: 'numeric(12, 2)', value: 'n / 7.0' },
    { declared: 'timestamptz', value: "'2026-01-01'::timestamptz + n * interval '1 s'" },
    { declared: 'jsonb', value: '\'{"a": 1}\'' },
  ],
  numbers: (rows) => `SELECT n FROM generate_series(1, ${rows}) n`,
  analyze: (table) => `ANALYZE ${table}`,
  writing: [
    'DELETE FROM wide',
    'UPDATE wide SET c0 = 0',
    'INSERT INTO wide (id) VALUES (-1)',
    'TRUNCATE wide',
    'DROP TABLE wide',
    'ALTER TABLE wide ADD mine int',
    'CREATE TABLE mine (n int)',
    'WITH gone AS (DELETE FROM wide RETURNING id) SELECT count(*) FROM gone',
    'COMMIT; DELETE FROM wide',
    'EXPLAIN ANALYZE DELETE FROM wide',
  ],
}

/** Of MySQL and of MariaDB, which speak one protocol. */
const common: Omit<Kind, 'name' | 'type'> = {
  connect: async (url) => {
    const client = await mysql.createConnection({ uri: url })
    return { query: (sql) => client.query(sql), end: () => client.end() }
  },
  columns: [
    { declared: 'int', value: 'n % 1000' },
    { declared: 'text', value: "CONCAT('text ', n)" },
    { declared: 'decimal(12, 2)', value: 'n / 7.0' },
    { declared: 'datetime(6)', value: "TIMESTAMP'2026-01-01 00:00:00' + INTERVAL n SECOND" },
    { declared: 'json', value: '\'{"a": 1}\'' },
  ],
  // Neither MariaDB's sequences nor a recursion as deep as that are in both.
  numbers: (rows) => {
    const digits =
      '(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5'
    const all = `${digits} UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)`
    const places = Array.from({ length: String(rows - 1).length }, (_, at) => at)
    const sum = places.map((at) => `t${at}.d * ${10 ** at}`).join(' + ')
    return `SELECT n FROM (SELECT 1 + ${sum} n FROM ${places.map((at) => `${all} t${at}`).join(', ')}) numbers WHERE n <= ${rows}`
  },
  analyze: (table) => `ANALYZE TABLE ${table}`,
  writing: [
    'DELETE FROM wide',
    'UPDATE wide SET c0 = 0',
    'INSERT INTO wide (id) VALUES (-1)',
    'TRUNCATE wide',
    'DROP TABLE wide',
    'ALTER TABLE wide ADD mine int',
    'CREATE TABLE mine (n int)',
    'REPLACE INTO wide (id) VALUES (1)',
    'COMMIT; DELETE FROM wide',
    'SELECT * FROM wide LIMIT 1 FOR UPDATE',
  ],
}

/** MySQL is measured where `TEST_MYSQL` names a folder with its `mysqld`: Debian has none. */
export function kindsHere(): readonly Kind[] {
  const programs = process.env.TEST_MYSQL
  return [
    postgresql,
    { ...common, name: 'MariaDB', type: 'mariadb' },
    ...(programs === undefined ? [] : [{ ...common, name: 'MySQL', type: 'mysql' as const, programs }]),
  ]
}
