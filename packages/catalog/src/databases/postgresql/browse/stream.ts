import Cursor from 'pg-cursor'
import type { Outcome, RawCell, ResultColumn, Statement, StreamOptions } from '../../../browse/driver.ts'
import { asBrowseError, asText, type Session } from './connect.ts'
import { cellFrom, kindOfType } from './values.ts'

/**
 * Rows of one statement, through a cursor of the extended protocol, which takes no second one. What only reads stands in a read-only
 * transaction whose snapshot is taken: from then on the server lets nobody make it another.
 */
export async function* stream(
  session: Session,
  { text, values }: Statement,
  { write, timeLimitMs, onColumns }: StreamOptions,
  typeName: (oid: number) => string,
  signal: AbortSignal,
): AsyncGenerator<RawCell[][], Outcome> {
  const { client, guard } = session
  const within = <Value>(act: () => Promise<Value>) => session.within(signal, timeLimitMs + graceMs, act)
  await within(() =>
    client.query(
      write
        ? `SET statement_timeout = ${timeLimitMs}`
        : `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${timeLimitMs}; SELECT 1`,
    ),
  )
  const cursor = client.query(new Cursor(text, [...values], { rowMode: 'array', types: asText as never }))
  let columns: readonly ResultColumn[] | null = null
  let batch = firstBatch
  let isDone = false
  try {
    for (;;) {
      const { rows, result, bytes } = await within(() => read(cursor, batch, guard))
      if (columns === null) {
        columns = columnsOf(result.fields, typeName)
        onColumns(columns)
      }
      isDone = rows.length < batch
      if (rows.length > 0)
        yield rows.map((row) => row.map((value, at) => cellFrom(value, columns![at]?.kind ?? 'text')))
      if (isDone) return { command: result.command ?? '', affected: result.rowCount }
      batch = Math.min(mostBatch, Math.max(1, Math.floor((batchBytes * rows.length) / Math.max(1, bytes))))
    }
  } catch (error) {
    throw asBrowseError(error, guard)
  } finally {
    if (!session.isEnded()) {
      await session
        .within(AbortSignal.timeout(graceMs), graceMs, async () => {
          if (!isDone) await cursor.close()
          if (!write) await client.query('ROLLBACK')
        })
        .catch(() => session.end())
    }
  }
}

const graceMs = 2_000
const firstBatch = 16
const mostBatch = 1000
const batchBytes = 1024 * 1024

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface Read {
  readonly rows: readonly (string | null)[][]
  readonly result: {
    readonly fields: readonly Field[]
    readonly command: string | null
    readonly rowCount: number | null
  }
  readonly bytes: number
}

function read(cursor: Cursor, count: number, guard: { taken(): void }): Promise<Read> {
  return new Promise((resolve, reject) => {
    cursor.read(count, (error: Error | null | undefined, rows: (string | null)[][], result: unknown) => {
      if (error) return reject(error)
      guard.taken()
      let bytes = 0
      for (const row of rows) for (const value of row) bytes += (value?.length ?? 0) + 8
      resolve({ rows, result: result as Read['result'], bytes })
    })
  })
}

function columnsOf(fields: readonly Field[], typeName: (oid: number) => string): readonly ResultColumn[] {
  return fields.map(({ name, dataTypeID }) => ({
    name,
    type: typeName(dataTypeID),
    kind: kindOfType(dataTypeID),
  }))
}
