import { type SqlDialect, StatementWriter } from './dialect.ts'
import { BrowseError, type ColumnFacts, type Edit, type Statement, type TableFacts } from './driver.ts'
import type { RowCursor } from './row-cursor.ts'

/*
 * Statements over a table, as text and values. Names come from what the server says of the table and are quoted; values of people are
 * never text of a statement.
 */

export const filterOperators = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'contains', 'starts', 'null', 'notNull'] as const

export interface Filter {
  readonly column: string
  readonly operator: (typeof filterOperators)[number]
  readonly value?: string | undefined
}

export interface Sort {
  readonly column: string
  readonly descending: boolean
}

export interface Order {
  readonly column: ColumnFacts
  readonly descending: boolean
}

/** What rows are sorted by: what is asked for, then the key, so that every row has one place. */
export function orderOf(table: TableFacts, sort: Sort | null): readonly Order[] {
  const asked = sort === null ? [] : [{ column: columnOf(table, sort.column), descending: sort.descending }]
  const rest = table.primaryKey
    .filter((name) => name !== sort?.column)
    .map((name) => ({ column: columnOf(table, name), descending: sort?.descending ?? false }))
  return [...asked, ...rest]
}

/** What a cursor belongs to. */
export function orderText(order: readonly Order[], filters: readonly Filter[]): string {
  return JSON.stringify([order.map(({ column, descending }) => [column.name, descending]), filters])
}

export interface RowsAsk {
  readonly table: TableFacts
  readonly filters: readonly Filter[]
  readonly order: readonly Order[]
  readonly cursor: RowCursor | null
  /** From the end backwards. */
  readonly last: boolean
  /** Values of the key: rows from there on, that one included. */
  readonly from: readonly string[] | null
  readonly limit: number | null
}

export function rowsStatement(dialect: SqlDialect, ask: RowsAsk): Statement {
  const { table, filters, order, cursor, limit } = ask
  const writer = new StatementWriter(dialect)
  const back = isBackward(ask)
  const where = filters.map((filter) => filterText(dialect, writer, table, filter))
  if (ask.from !== null) where.push(beyond(dialect, writer, order, ask.from, false, true))
  if (cursor?.at === 'key') where.push(beyond(dialect, writer, order, cursor.values, back, false))
  const parts = [
    `SELECT ${table.columns.map(({ name }) => dialect.quote(name)).join(', ')} FROM ${tableName(dialect, table)}`,
  ]
  if (where.length > 0) parts.push(`WHERE ${where.map((one) => `(${one})`).join(' AND ')}`)
  if (order.length > 0)
    parts.push(
      `ORDER BY ${order.map(({ column, descending }) => `${dialect.quote(column.name)} ${descending === back ? 'ASC' : 'DESC'}`).join(', ')}`,
    )
  if (limit !== null) parts.push(`LIMIT ${limit}`)
  if (cursor?.at === 'offset') parts.push(`OFFSET ${cursor.offset}`)
  return writer.statement(parts.join(' '))
}

export function isBackward({ cursor, last }: Pick<RowsAsk, 'cursor' | 'last'>): boolean {
  return cursor === null ? last : cursor.at === 'key' && cursor.back
}

export function tableName(dialect: SqlDialect, { schema, name }: Pick<TableFacts, 'schema' | 'name'>): string {
  return `${dialect.quote(schema)}.${dialect.quote(name)}`
}

/** Rows behind these values in an order, or before them. NULL has its place there too. */
function beyond(
  dialect: SqlDialect,
  writer: StatementWriter,
  order: readonly Order[],
  values: readonly (string | null)[],
  back: boolean,
  included: boolean,
): string {
  if (values.length !== order.length)
    throw new BrowseError('invalid', `The order has ${order.length} columns, and ${values.length} values were given.`)
  const [first] = order
  const value = values[0] ?? null
  // Says nothing new, but is what an index is found by. Written first, for places may count by their order in the text.
  const bound =
    first === undefined || first.column.nullable || value === null || (order.length === 1 && !included)
      ? null
      : `${dialect.quote(first.column.name)} ${first.descending === back ? '>=' : '<='} ${writer.value(value)}`
  const same = (count: number) =>
    order.slice(0, count).map(({ column }, at) => writer.equals(column, values[at] ?? null))
  const alternatives = order.map((one, index) =>
    [...same(index), after(dialect, writer, one, values[index] ?? null, back)].join(' AND '),
  )
  if (included) alternatives.push(same(order.length).join(' AND '))
  const text = alternatives.map((one) => `(${one})`).join(' OR ')
  return bound === null ? text : `${bound} AND (${text})`
}

function after(
  dialect: SqlDialect,
  writer: StatementWriter,
  { column, descending }: Order,
  value: string | null,
  back: boolean,
): string {
  const name = dialect.quote(column.name)
  const ascending = descending === back
  const nullsAfter = dialect.nullsLast === ascending
  if (value === null) return nullsAfter ? '1 = 0' : `${name} IS NOT NULL`
  const later = `${name} ${ascending ? '>' : '<'} ${writer.value(value)}`
  return nullsAfter && column.nullable ? `(${later} OR ${name} IS NULL)` : later
}

const comparisons = { eq: '=', ne: '<>', lt: '<', le: '<=', gt: '>', ge: '>=' } as const

function filterText(dialect: SqlDialect, writer: StatementWriter, table: TableFacts, filter: Filter): string {
  const { operator, value } = filter
  const column = columnOf(table, filter.column)
  const name = dialect.quote(column.name)
  if (operator === 'null') return `${name} IS NULL`
  if (operator === 'notNull') return `${name} IS NOT NULL`
  if (value === undefined) throw new BrowseError('invalid', `The filter of "${column.name}" needs a value.`)
  if (operator === 'contains' || operator === 'starts') {
    const pattern = `${operator === 'contains' ? '%' : ''}${value.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
    return dialect.like(dialect.asText(name), writer.value(pattern))
  }
  const compared = column.comparable ? name : dialect.asText(name)
  return `${compared} ${comparisons[operator]} ${writer.value(value)}`
}

export type EditValue = string | number | boolean | null | { readonly base64: string }
type Values = Readonly<Record<string, EditValue>>

export type RowChange =
  | { readonly insert: Values }
  /** `old`: the key, and what else must still be so. */
  | { readonly update: { readonly old: Values; readonly set: Values } }
  | { readonly delete: { readonly old: Values } }

export function editStatement(dialect: SqlDialect, table: TableFacts, change: RowChange): Edit {
  requireKey(table)
  const writer = new StatementWriter(dialect)
  const name = tableName(dialect, table)
  const write = (value: EditValue) => {
    const written = asValue(value)
    return written === null ? 'NULL' : writer.value(written)
  }
  if ('insert' in change) {
    const entries = Object.entries(change.insert)
    if (entries.length === 0) return { text: dialect.insertDefaults(name), values: [], expects: 1 }
    const columns = entries.map(([column]) => dialect.quote(columnOf(table, column).name))
    const places = entries.map(([, value]) => write(value))
    return {
      ...writer.statement(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${places.join(', ')})`),
      expects: 1,
    }
  }
  if ('delete' in change) {
    const where = whereOld(writer, table, change.delete.old)
    return { ...writer.statement(`DELETE FROM ${name} WHERE ${where}`), expects: 1 }
  }
  const sets = Object.entries(change.update.set)
  if (sets.length === 0) throw new BrowseError('invalid', 'A change of a row names no column to set.')
  const set = sets.map(([column, value]) => `${dialect.quote(columnOf(table, column).name)} = ${write(value)}`)
  const where = whereOld(writer, table, change.update.old)
  return { ...writer.statement(`UPDATE ${name} SET ${set.join(', ')} WHERE ${where}`), expects: 1 }
}

export function requireKey(table: TableFacts): void {
  if (table.kind !== 'table')
    throw new BrowseError(
      'invalid',
      `"${table.name}" is no table of this database, so its rows cannot be changed here.`,
    )
  if (table.primaryKey.length > 0) return
  throw new BrowseError(
    'invalid',
    `The table "${table.name}" has no primary key: its rows cannot be told apart, so they are only read here.`,
  )
}

function whereOld(writer: StatementWriter, table: TableFacts, old: Values): string {
  const missing = table.primaryKey.find((name) => (old[name] ?? null) === null)
  if (missing !== undefined)
    throw new BrowseError('invalid', `A change of a row needs the value of its key "${missing}" in "old".`)
  return Object.entries(old)
    .map(([name, value]) => writer.equals(columnOf(table, name), asValue(value)))
    .join(' AND ')
}

/** A statement with its values in it, for people. */
export function shownStatement(dialect: SqlDialect, { text, values }: Statement): string {
  let index = 0
  return text.replaceAll(/\$\d+|\?|"(?:[^"]|"")*"|`(?:[^`]|``)*`/g, (found) => {
    if (found.startsWith('"') || found.startsWith('`')) return found
    const at = found === '?' ? index++ : Number(found.slice(1)) - 1
    return dialect.literal(values[at] ?? null)
  })
}

export function asValue(value: EditValue): string | Buffer | null {
  if (value === null || typeof value === 'string') return value
  return typeof value === 'object' ? Buffer.from(value.base64, 'base64') : String(value)
}

export function columnOf(table: TableFacts, name: string): ColumnFacts {
  const found = table.columns.find((one) => one.name === name)
  if (found !== undefined) return found
  throw new BrowseError('invalid', `The table "${table.name}" has no column "${name}".`)
}
