import mysql from 'mysql2/promise'
import { Client } from 'pg'

/** A client of its own, beside the program. */
export interface Connection {
  query(sql: string): Promise<unknown>
  /** Of a table that has 2 GB: how many rows, and a sum over all of their texts. */
  fingerprint(): Promise<string>
  end(): Promise<void>
}

export interface BranchKind {
  readonly name: string
  readonly type: 'postgresql' | 'mariadb'
  /** What the program talks to it with, from the registry. */
  readonly dependency: { readonly name: string; readonly version: string }
  connect(url: string): Promise<Connection>
  /** Rows from 1 to `rows`, about a kilobyte each, on the disk when it is done. */
  fill(connection: Connection, rows: number): Promise<void>
  /** Writes what was changed to the disk, where its blocks are shared. */
  readonly flush: string
}

const each = 50_000

export const branchKinds: readonly BranchKind[] = [
  {
    name: 'PostgreSQL',
    type: 'postgresql',
    dependency: { name: 'pg', version: '8.23.1' },
    connect: async (url) => {
      const client = new Client(url)
      // Ended with its server when a measurement fails, which is told by that.
      client.on('error', () => {})
      await client.connect()
      return {
        query: (sql) => client.query(sql),
        fingerprint: async () => {
          const { rows } = await client.query('SELECT count(*) AS many, sum(hashtext(text)::bigint) AS sum FROM book')
          return JSON.stringify(rows)
        },
        end: () => client.end(),
      }
    },
    fill: async (connection, rows) => {
      for (let from = 1; from <= rows; from += each)
        await connection.query(
          `INSERT INTO book SELECT n, repeat(md5(n::text), 30) FROM generate_series(${from}, ${Math.min(rows, from + each - 1)}) n`,
        )
      await connection.query('CHECKPOINT')
    },
    flush: 'CHECKPOINT',
  },
  {
    name: 'MariaDB',
    type: 'mariadb',
    dependency: { name: 'mysql2', version: '3.24.5' },
    connect: async (uri) => {
      // A copy stops the server, and connections with it: the pool makes another.
      const client = mysql.createPool({ uri, connectionLimit: 1 })
      return {
        query: (sql) => client.query(sql),
        fingerprint: async () => {
          const [rows] = await client.query('SELECT COUNT(*) AS many, SUM(CRC32(text)) AS sum FROM book')
          return JSON.stringify(rows)
        },
        end: () => client.end(),
      }
    },
    fill: async (connection, rows) => {
      for (let from = 1; from <= rows; from += each)
        await connection.query(
          `INSERT INTO book SELECT seq, REPEAT(MD5(seq), 30) FROM seq_${from}_to_${Math.min(rows, from + each - 1)}`,
        )
    },
    // Its user may not: it writes by itself soon.
    flush: 'SELECT 1',
  },
]

export const manifest = ({ dependency: { name, version } }: BranchKind) =>
  JSON.stringify({
    name: 'shop',
    private: true,
    scripts: { start: 'node server.js' },
    dependencies: { [name]: version },
  })

/** Answers with the largest key and the number of rows of a part of its database: it is ready when that is. */
export const program = `
const { dependencies } = require('./package.json')
const sql = 'SELECT count(*) AS many FROM book WHERE n > 0 AND n <= 1000'
const ask = dependencies.pg === undefined
  ? async () => {
      const client = await require('mysql2/promise').createConnection(process.env.DATABASE_URL)
      const [[{ many }]] = await client.query(sql)
      await client.end()
      return many
    }
  : async () => {
      const client = new (require('pg').Client)(process.env.DATABASE_URL)
      await client.connect()
      const { rows } = await client.query(sql)
      await client.end()
      return rows[0].many
    }
require('node:http')
  .createServer(async (request, response) => {
    try {
      response.end('rows: ' + (await ask()))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  .listen(process.env.PORT, process.env.HOST)
`
