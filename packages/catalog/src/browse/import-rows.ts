import { CsvReader, type CsvRecord } from './csv-reader.ts'
import { BrowseError, type ColumnFacts, type Edit, type SqlServer, type TableFacts } from './driver.ts'
import { columnOf, tableName } from './statements.ts'

export interface ImportAsk {
  readonly schema: string | null
  readonly table: string
  readonly timeLimitMs: number
}

/** Rows of a CSV file whose first line names columns, all or none. What is wrong says in which line. */
export async function importRows(
  server: SqlServer,
  table: TableFacts,
  content: AsyncIterable<Uint8Array>,
  timeLimitMs: number,
  signal: AbortSignal,
): Promise<{ readonly rows: number }> {
  if (table.kind !== 'table') throw new BrowseError('invalid', `"${table.name}" is no table of this database.`)
  let line = 1
  let rows = 0
  const edits = async function* (): AsyncGenerator<Edit> {
    let insert: ReturnType<typeof insertInto> | null = null
    for await (const record of recordsOf(content)) {
      line = record.line
      if (insert === null) {
        insert = insertInto(server, table, record)
        continue
      }
      yield insert(record)
      rows++
    }
    if (insert === null) throw new BrowseError('invalid', 'The file is empty: its first line names the columns.')
  }
  try {
    const { failed } = await server.edit(edits(), timeLimitMs, signal)
    if (failed === null) return { rows }
    throw new BrowseError(
      'refused',
      `Line ${line}: the server made ${failed.touched} rows of it instead of one, so nothing was imported.`,
      { line },
    )
  } catch (error) {
    if (!(error instanceof BrowseError) || !/^(refused|invalid)$/.test(error.code)) throw error
    const at = typeof error.facts.line === 'number' ? error.facts.line : line
    const message = error.message.startsWith('Line ') ? error.message : `Line ${at}: ${error.message}`
    throw new BrowseError(error.code, message, { ...error.facts, line: at })
  }
}

async function* recordsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const textOf = (chunk?: Uint8Array) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch {
      throw new BrowseError('invalid', 'The file is not UTF-8.')
    }
  }
  for await (const chunk of content) yield* reader.read(textOf(chunk))
  yield* reader.read(textOf())
  yield* reader.end()
}

function insertInto({ dialect }: SqlServer, table: TableFacts, head: CsvRecord): (record: CsvRecord) => Edit {
  const columns = head.fields.map((name) => columnOf(table, name ?? ''))
  const twice = columns.find((column, at) => columns.indexOf(column) !== at)
  if (twice !== undefined) throw new BrowseError('invalid', `The column "${twice.name}" is named twice.`, { line: 1 })
  const names = columns.map(({ name }) => dialect.quote(name)).join(', ')
  const places = columns.map((_, at) => dialect.place(at + 1)).join(', ')
  const text = `INSERT INTO ${tableName(dialect, table)} (${names}) VALUES (${places})`
  return ({ line, fields }) => {
    if (fields.length !== columns.length)
      throw new BrowseError(
        'invalid',
        `There are ${fields.length} fields, and ${columns.length} columns in the first line.`,
        { line },
      )
    return { text, values: fields.map((field, at) => valueFrom(field, columns[at]!)), expects: 1 }
  }
}

/** Bytes as exports write them. */
function valueFrom(field: string | null, { kind }: ColumnFacts): string | Buffer | null {
  if (field === null || kind !== 'binary') return field
  return /^\\x([0-9a-fA-F]{2})*$/.test(field) ? Buffer.from(field.slice(2), 'hex') : Buffer.from(field)
}
