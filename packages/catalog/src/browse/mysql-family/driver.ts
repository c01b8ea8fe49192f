import { BrowseError, type Edit, type EditOutcome, type SqlDriver, type SqlServer } from '../driver.ts'
import { sessionPool } from '../session-pool.ts'
import { connect, type Session } from './connect.ts'
import { familyDialect } from './dialect.ts'
import { mostTables, readTables } from './schema.ts'
import { stream } from './stream.ts'

export const driver: SqlDriver = {
  async open(connection): Promise<SqlServer> {
    const { database, reader } = connection
    const asReader = () =>
      connect(connection, reader).catch((error: unknown) => {
        if (!(error instanceof BrowseError) || error.facts.errno !== wrongPassword) throw error
        throw new BrowseError(
          'unreachable',
          'The server does not know the user that reads for this browser: it has been running since before there was one, or with another password. Restart the database.',
        )
      })
    const pool = sessionPool(asReader)
    const tables = (session: Session, name: string | null) =>
      readTables(async (text, values) => (await session.ask(text, values)).rows, database, name)
    const first = await asReader()
    await pool.give(first, true)
    return {
      dialect: familyDialect(first.isMariadb),
      defaultSchema: () => database,
      schema: (abort) =>
        pool.reading(async (session) => {
          const found = await tables(session, null)
          const language = session.isMariadb ? 'MariaSQL' : 'MySQL'
          return {
            defaultSchema: database,
            language,
            tables: found.slice(0, mostTables),
            truncated: found.length > mostTables,
          }
        }, abort),
      table: (schema, name, abort) =>
        schema === database
          ? pool.reading(
              async (session) => (await tables(session, name)).find((one) => one.name === name) ?? null,
              abort,
            )
          : Promise.resolve(null),
      async *stream(statement, options, abort) {
        const isPooled = !options.write && !options.foreign
        const session = isPooled
          ? await pool.take()
          : options.write
            ? await connect(connection, connection)
            : await asReader()
        let isWell = false
        try {
          const outcome = yield* stream(session, statement, options, abort)
          isWell = true
          return outcome
        } finally {
          if (isPooled) await pool.give(session, isWell)
          else await session.end()
        }
      },
      async edit(edits, timeLimitMs, abort) {
        const session = await connect(connection, connection)
        try {
          return await session.within(abort, timeLimitMs, () => edit(session, edits))
        } finally {
          await session.end()
        }
      },
      close: pool.close,
    }
  },
}

/** All of them or none, where the tables have transactions. */
async function edit({ ask }: Session, edits: AsyncIterable<Edit> | Iterable<Edit>): Promise<EditOutcome> {
  await ask('START TRANSACTION')
  let index = 0
  for await (const { text, values, expects } of edits) {
    const { affected } = await ask(text, values)
    if (affected !== expects) {
      await ask('ROLLBACK')
      return { failed: { index, touched: affected } }
    }
    index++
  }
  await ask('COMMIT')
  return { failed: null }
}

const wrongPassword = 1045
