import { type BrowseConnection, BrowseError, type SqlDriver, type SqlServer } from '../../../browse/driver.ts'
import { sessionPool } from '../../../browse/session-pool.ts'
import { connect, type Session } from './connect.ts'
import { dialect } from './dialect.ts'
import { edit } from './edit.ts'
import { makeReader, readerCheckSql } from './reader.ts'
import { mostTables, readTables } from './schema.ts'
import { stream } from './stream.ts'

export const driver: SqlDriver = {
  async open(connection): Promise<SqlServer> {
    const asOwner = () => connect(connection, connection)
    const asReader = () => readerSession(connection, asOwner)
    const pool = sessionPool(asReader)
    const first = await asReader()
    const [row] = await first.ask('SELECT coalesce(current_schema(), $1)', ['public'])
    const defaultSchema = row?.[0] ?? 'public'
    const types = new Map(
      await first.ask(typeNamesSql, []).then((rows) => rows.map(([oid, name]) => [Number(oid), name ?? ''])),
    )
    const typeName = (oid: number) => types.get(oid) ?? `type ${oid}`
    await pool.give(first, true)
    return {
      dialect,
      defaultSchema: () => defaultSchema,
      schema: (abort) =>
        pool.reading(async ({ ask }) => {
          const tables = await readTables(ask, null)
          return {
            defaultSchema,
            language: 'PostgreSQL',
            tables: tables.slice(0, mostTables),
            truncated: tables.length > mostTables,
          }
        }, abort),
      table: (schema, name, abort) =>
        pool.reading(async ({ ask }) => (await readTables(ask, { schema, name }))[0] ?? null, abort),
      async *stream(statement, options, abort) {
        const isPooled = !options.write && !options.foreign
        const session = isPooled ? await pool.take() : options.write ? await asOwner() : await asReader()
        let isWell = false
        try {
          const outcome = yield* stream(session, statement, options, typeName, abort)
          isWell = true
          return outcome
        } finally {
          if (isPooled) await pool.give(session, isWell)
          else await session.end()
        }
      },
      async edit(edits, timeLimitMs, abort) {
        const session = await asOwner()
        try {
          return await edit(session, edits, timeLimitMs, abort)
        } finally {
          await session.end()
        }
      },
      close: pool.close,
    }
  },
}

/** Of what was there when it was opened. */
const typeNamesSql = `SELECT oid::text, pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type WHERE typrelid = 0 ORDER BY oid LIMIT 5000`

const ownLimitMs = 30_000

/** A session of the reader. Where there is none, or it may do more than it should, it is made what it was first. */
async function readerSession(connection: BrowseConnection, asOwner: () => Promise<Session>): Promise<Session> {
  const { reader } = connection
  const found = await connect(connection, reader).catch((error: unknown) => {
    if (error instanceof BrowseError && error.facts.sqlState === wrongPassword) return null
    throw error
  })
  if (found !== null) {
    const [row] = await found.ask(readerCheckSql, [])
    if (row?.[0] === 't') return found
    await found.end()
  }
  const owner = await asOwner()
  try {
    await owner.within(AbortSignal.timeout(ownLimitMs), ownLimitMs, () => makeReader(owner.client, reader.password))
  } finally {
    await owner.end()
  }
  return connect(connection, reader)
}

/** What the server says of a role that it does not know, too. */
const wrongPassword = '28P01'
