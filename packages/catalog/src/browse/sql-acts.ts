import { cellOf, csvLine, jsonObject, keyText, sizeOf } from './cells.ts'
import {
  BrowseError,
  type Cell,
  type ResultColumn,
  type SchemaTree,
  type SqlServer,
  type Statement,
  type TableFacts,
} from './driver.ts'
import { type ImportAsk, importRows } from './import-rows.ts'
import type { PlanNode } from './plan-tree.ts'
import { decodeCursor, encodeCursor } from './row-cursor.ts'
import {
  columnOf,
  editStatement,
  type Filter,
  isBackward,
  type Order,
  orderOf,
  orderText,
  type RowChange,
  rowsStatement,
  type Sort,
  shownStatement,
} from './statements.ts'

/*
 * What can be asked of a server that speaks SQL, whichever it is. Everything is bounded: by rows, by bytes and by time.
 */

export interface TableAsk {
  /** Null: the database’s usual one. */
  readonly schema: string | null
  readonly table: string
  readonly filters: readonly Filter[]
  readonly sort: Sort | null
  readonly timeLimitMs: number
}

export interface PageAsk extends TableAsk {
  readonly cursor: string | null
  readonly last: boolean
  readonly from: readonly string[] | null
  readonly limit: number
}

export interface RowsPage {
  readonly table: TableFacts
  readonly rows: readonly (readonly Cell[])[]
  readonly nextCursor: string | null
  readonly previousCursor: string | null
  readonly milliseconds: number
}

export interface QueryAsk {
  readonly sql: string
  readonly write: boolean
  readonly explain: 'no' | 'plan' | 'analyze'
  readonly maxRows: number
  readonly timeLimitMs: number
}

export interface QueryAnswer {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly Cell[])[]
  readonly command: string
  /** What was written; null where nothing was. */
  readonly affected: number | null
  /** Why there are no more rows: the limit of them, or of bytes. Null: these are all. */
  readonly truncated: 'rows' | 'bytes' | null
  readonly plan: PlanNode | null
  readonly milliseconds: number
}

export interface EditAsk {
  readonly schema: string | null
  readonly table: string
  readonly changes: readonly RowChange[]
  readonly dryRun: boolean
  readonly timeLimitMs: number
}

export interface EditAnswer {
  /** As they are carried out, with their values in them. */
  readonly statements: readonly string[]
  readonly applied: boolean
}

export const exportFormats = ['csv', 'json'] as const
export type ExportAsk = { readonly format: (typeof exportFormats)[number] } & (
  | ({ readonly of: 'table' } & TableAsk)
  | { readonly of: 'query'; readonly sql: string; readonly timeLimitMs: number }
)

const mostBytes = 4 * 1024 * 1024

export function sqlActs(server: SqlServer) {
  return {
    schema: (signal: AbortSignal): Promise<SchemaTree> => server.schema(signal),
    rows: (ask: PageAsk, signal: AbortSignal) => rows(server, ask, signal),
    query: (ask: QueryAsk, signal: AbortSignal) => query(server, ask, signal),
    edit: (ask: EditAsk, signal: AbortSignal) => edit(server, ask, signal),
    export: (ask: ExportAsk, signal: AbortSignal) => exported(server, ask, signal),
    import: async (ask: ImportAsk, content: AsyncIterable<Uint8Array>, signal: AbortSignal) =>
      importRows(server, await tableOf(server, ask, signal), content, ask.timeLimitMs, signal),
  }
}

async function tableOf(
  server: SqlServer,
  ask: Pick<TableAsk, 'schema' | 'table'>,
  signal: AbortSignal,
): Promise<TableFacts> {
  const schema = ask.schema ?? server.defaultSchema()
  const found = await server.table(schema, ask.table, signal)
  if (found === null) throw new BrowseError('not_found', `There is no table "${ask.table}" in "${schema}".`)
  return found
}

async function rows(server: SqlServer, ask: PageAsk, signal: AbortSignal): Promise<RowsPage> {
  const begun = performance.now()
  const table = await tableOf(server, ask, signal)
  const order = orderOf(table, ask.sort)
  const named = orderText(order, ask.filters)
  const cursor = ask.cursor === null ? null : decodeCursor(ask.cursor, named)
  const isKeyed = table.primaryKey.length > 0
  if (!isKeyed && (ask.last || ask.from !== null))
    throw new BrowseError('invalid', `"${table.name}" has no primary key: it is read from its beginning on alone.`)
  if ((cursor?.at === 'key') !== isKeyed && cursor !== null)
    throw new BrowseError('invalid', 'The cursor belongs to another form of this table.')
  const limit = ask.limit + 1
  const statement = rowsStatement(server.dialect, { ...ask, table, order, cursor, limit })
  const found = await collect(server, statement, { ...ask, maxRows: limit, keys: keyPlaces(table, order) }, signal)
  const isBack = isBackward({ cursor, last: ask.last })
  // What did not fit counts as more.
  const isMore = found.rows.length > ask.limit || found.truncated === 'bytes'
  const kept = found.rows.slice(0, ask.limit)
  const keys = found.keys.slice(0, kept.length)
  if (isBack) {
    kept.reverse()
    keys.reverse()
  }
  const milliseconds = Math.round(performance.now() - begun)
  if (!isKeyed) {
    const offset = cursor?.at === 'offset' ? cursor.offset : 0
    const at = (to: number) => encodeCursor({ at: 'offset', offset: to, order: named })
    const nextCursor = isMore ? at(offset + kept.length) : null
    return {
      table,
      rows: kept,
      nextCursor,
      previousCursor: offset > 0 ? at(Math.max(0, offset - ask.limit)) : null,
      milliseconds,
    }
  }
  const cursorAt = (values: readonly (string | null)[] | undefined, back: boolean) =>
    values === undefined ? null : encodeCursor({ at: 'key', back, values, order: named })
  const isInside = cursor !== null || ask.from !== null
  return {
    table,
    rows: kept,
    nextCursor: (isBack ? cursor !== null : isMore) ? cursorAt(keys.at(-1), false) : null,
    previousCursor: (isBack ? isMore : isInside) ? cursorAt(keys[0], true) : null,
    milliseconds,
  }
}

function keyPlaces(table: TableFacts, order: readonly Order[]): readonly number[] {
  return order.map(({ column }) => table.columns.indexOf(columnOf(table, column.name)))
}

interface CollectOptions {
  readonly maxRows: number
  readonly timeLimitMs: number
  /** Places of the values that cursors need whole. */
  readonly keys: readonly number[]
  readonly write?: boolean
  readonly foreign?: boolean
}

async function collect(server: SqlServer, statement: Statement, options: CollectOptions, signal: AbortSignal) {
  let columns: readonly ResultColumn[] = []
  const collected: Cell[][] = []
  const keys: (string | null)[][] = []
  let bytes = 0
  const stream = server.stream(
    statement,
    {
      write: options.write ?? false,
      foreign: options.foreign ?? false,
      timeLimitMs: options.timeLimitMs,
      onColumns: (found) => {
        columns = found
      },
    },
    signal,
  )
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { columns, rows: collected, keys, truncated: null, ...next.value }
    for (const row of next.value) {
      const isEnough = collected.length >= options.maxRows
      const cells = row.map(cellOf)
      bytes += cells.reduce((sum: number, cell) => sum + sizeOf(cell), 0)
      if (isEnough || (bytes > mostBytes && collected.length > 0)) {
        await stream.return({ command: '', affected: null })
        const truncated = isEnough ? ('rows' as const) : ('bytes' as const)
        return { columns, rows: collected, keys, truncated, command: 'SELECT', affected: null }
      }
      collected.push(cells)
      if (options.keys.length > 0) keys.push(options.keys.map((at) => keyText(row[at] ?? null)))
    }
  }
}

async function query(server: SqlServer, ask: QueryAsk, signal: AbortSignal): Promise<QueryAnswer> {
  const begun = performance.now()
  const { dialect } = server
  const sql = withoutEnd(ask.sql)
  const isExplained = ask.explain !== 'no'
  const text = isExplained ? dialect.explain(sql, ask.explain === 'analyze') : sql
  const found = await collect(server, { text, values: [] }, { ...ask, keys: [], foreign: true }, signal)
  const milliseconds = Math.round(performance.now() - begun)
  const { columns, command, truncated } = found
  const affected = ask.write && command !== 'SELECT' ? found.affected : null
  if (!isExplained) return { columns, rows: found.rows, command, affected, truncated, plan: null, milliseconds }
  const first = found.rows[0]?.[0] ?? ''
  if (typeof first !== 'string' && !(typeof first === 'object' && first !== null && 'cut' in first))
    throw new BrowseError('refused', 'The server answered no plan.')
  if (typeof first !== 'string') throw new BrowseError('refused', 'The plan is too long to be shown.')
  return { columns: [], rows: [], command, affected: null, truncated: null, plan: dialect.plan(first), milliseconds }
}

/** One semicolon at the end is no second statement. */
function withoutEnd(sql: string): string {
  const text = sql.replace(/;\s*$/, '').trim()
  if (text === '') throw new BrowseError('invalid', 'There is no statement.')
  if (text.includes('\0')) throw new BrowseError('invalid', 'A statement cannot hold a zero byte.')
  return text
}

async function edit(server: SqlServer, ask: EditAsk, signal: AbortSignal): Promise<EditAnswer> {
  const table = await tableOf(server, ask, signal)
  const edits = ask.changes.map((change) => editStatement(server.dialect, table, change))
  const statements = edits.map((one) => shownStatement(server.dialect, one))
  if (ask.dryRun) return { statements, applied: false }
  const { failed } = await server.edit(edits, ask.timeLimitMs, signal)
  if (failed === null) return { statements, applied: true }
  const { index, touched } = failed
  throw new BrowseError(
    'changed',
    `Change ${index + 1} would have touched ${touched} rows instead of one, so nothing was changed: the row is not there any more, or is not what it was.`,
    { index },
  )
}

async function* exported(server: SqlServer, ask: ExportAsk, signal: AbortSignal): AsyncGenerator<Buffer> {
  const statement =
    ask.of === 'table' ? await tableStatement(server, ask, signal) : { text: withoutEnd(ask.sql), values: [] }
  let columns: readonly ResultColumn[] = []
  const stream = server.stream(
    statement,
    {
      ...{ write: false, foreign: true, timeLimitMs: ask.timeLimitMs },
      onColumns: (found) => {
        columns = found
      },
    },
    signal,
  )
  const isCsv = ask.format === 'csv'
  let begun = false
  const head = () => {
    begun = true
    return isCsv ? csvLine(columns.map(({ name }) => name)) : '['
  }
  let between = '\n'
  for (;;) {
    const next = await stream.next()
    if (next.done === true) break
    const parts = [begun ? '' : head()]
    for (const row of next.value) {
      parts.push(isCsv ? csvLine(row) : between + jsonObject(columns, row))
      between = ',\n'
    }
    yield Buffer.from(parts.join(''))
  }
  yield Buffer.from(`${begun ? '' : head()}${isCsv ? '' : '\n]\n'}`)
}

async function tableStatement(server: SqlServer, ask: TableAsk, signal: AbortSignal): Promise<Statement> {
  const table = await tableOf(server, ask, signal)
  const whole = { cursor: null, last: false, from: null, limit: null }
  return rowsStatement(server.dialect, { table, filters: ask.filters, order: orderOf(table, ask.sort), ...whole })
}
