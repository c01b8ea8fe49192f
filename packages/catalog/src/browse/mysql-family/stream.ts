import type { Readable } from 'node:stream'
import {
  BrowseError,
  type Outcome,
  type RawCell,
  type ResultColumn,
  type Statement,
  type StreamOptions,
  type ValueKind,
} from '../driver.ts'
import { asBrowseError, type Session } from './connect.ts'

/**
 * Rows of one statement: the connection takes no second one. What only reads is asked by a user with no other rights, in a read-only
 * transaction besides.
 */
export async function* stream(
  session: Session,
  { text, values }: Statement,
  { write, timeLimitMs, onColumns }: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<RawCell[][], Outcome> {
  if (!write) refuseOwnAccount(text)
  const { connection, guard, ask, isMariadb } = session
  const within = <Value>(act: () => Promise<Value>) => session.within(signal, timeLimitMs + graceMs, act)
  await within(async () => {
    await ask(
      isMariadb
        ? `SET SESSION max_statement_time = ${timeLimitMs / 1000}`
        : `SET SESSION max_execution_time = ${timeLimitMs}`,
    )
    if (!write) await ask('START TRANSACTION READ ONLY')
  })
  const query = values.length === 0 ? connection.query(text) : connection.execute(text, [...values])
  let columns: readonly ResultColumn[] = []
  query.on('fields', (fields: unknown) => {
    if (!Array.isArray(fields)) return
    columns = fields.map(columnOf)
    onColumns(columns)
  })
  const rows = (query as unknown as { stream(options: object): Readable }).stream({ highWaterMark: batchRows })
  let affected: number | null = null
  let isDone = false
  const taking = rows[Symbol.asyncIterator]() as AsyncIterator<unknown>
  try {
    for (;;) {
      const batch: RawCell[][] = []
      while (!isDone && batch.length < batchRows) {
        const next = await within(() => taking.next())
        guard.taken()
        if (next.done === true) isDone = true
        else if (Array.isArray(next.value))
          batch.push(next.value.map((value, at) => cellFrom(value, columns[at]?.kind ?? 'text')))
        else affected = Number((next.value as { affectedRows?: unknown }).affectedRows ?? 0)
        if (batch.length > 0 && rows.readableLength === 0) break
      }
      if (batch.length > 0) yield batch
      if (isDone) return { command: commandOf(text), affected }
    }
  } catch (error) {
    throw asBrowseError(error, guard)
  } finally {
    // The rest of the rows would have to be read before anything else is asked.
    if (!isDone) connection.destroy()
    else if (!write && !session.isEnded()) await ask('ROLLBACK').catch(() => connection.destroy())
  }
}

/** The servers let every user change its own password, also in a read-only transaction: the browser would lose its account. */
function refuseOwnAccount(text: string): void {
  const statement = text.replace(/\/\*[\s\S]*?\*\/|(--\s|#)[^\n]*/g, ' ')
  if (
    /^[\s(]*(SELECT|WITH|SHOW|TABLE|VALUES|DESC|EXPLAIN)\b/i.test(statement) ||
    !/\b(PASSWORD|IDENTIFIED)\b/i.test(text)
  )
    return
  throw new BrowseError('refused', 'Accounts are not changed by statements that read.', { sqlState: '42000' })
}

const graceMs = 2_000
const batchRows = 100

function commandOf(text: string): string {
  return (/^[\s(]*([a-z]+)/i.exec(text)?.[1] ?? '').toUpperCase()
}

interface Field {
  readonly name: string
  readonly columnType?: number
  readonly characterSet?: number
  readonly columnLength?: number
}

const names: Readonly<Record<number, string>> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  4: 'float',
  5: 'double',
  7: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  12: 'datetime',
  13: 'year',
  16: 'bit',
  245: 'json',
  246: 'decimal',
  247: 'enum',
  248: 'set',
  249: 'blob',
  250: 'blob',
  251: 'blob',
  252: 'blob',
  253: 'varchar',
  254: 'char',
  255: 'geometry',
}
const numbers: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 9, 13])
/** The character set of what is no text. */
const binarySet = 63

function columnOf(field: Field): ResultColumn {
  const type = field.columnType ?? -1
  const isText = field.characterSet !== binarySet
  const name = names[type] ?? `type ${type}`
  const shown =
    isText && name === 'blob' ? 'text' : !isText && /char$/.test(name) ? name.replace('char', 'binary') : name
  return { name: field.name, type: shown, kind: kindOf(type, isText) }
}

function kindOf(type: number, isText: boolean): ValueKind {
  if (numbers.has(type)) return 'number'
  if (type === 245) return 'json'
  return (type >= 249 && !isText) || type === 16 ? 'binary' : 'text'
}

function cellFrom(value: unknown, kind: ValueKind): RawCell {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return kind === 'binary' ? value : value.toString('utf8')
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  return JSON.stringify(value)
}
