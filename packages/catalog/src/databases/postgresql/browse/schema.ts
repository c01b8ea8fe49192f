import {
  BrowseError,
  type ColumnFacts,
  type ForeignKey,
  type IndexFacts,
  type TableFacts,
} from '../../../browse/driver.ts'
import { columnsSql, constraintsSql, indexesSql, tablesSql } from './schema-sql.ts'
import { kindOfType } from './values.ts'

type Row = readonly (string | null)[]
export type Ask = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>

export const mostTables = 2000
const mostOfEach = 60_000

/** All tables, or the one of this name. */
export async function readTables(
  ask: Ask,
  one: { readonly schema: string; readonly name: string } | null,
): Promise<readonly TableFacts[]> {
  const tables = await ask(tablesSql, [one?.schema ?? null, one?.name ?? null, mostTables + 1])
  const ids = [tables.map(([oid]) => oid), mostOfEach]
  const columns = grouped(await ask(columnsSql, ids))
  const constraints = grouped(await ask(constraintsSql, ids))
  const indexes = grouped(await ask(indexesSql, ids))
  return tables.map((table): TableFacts => {
    const [oid, schema, name, kind, estimate] = table
    const of = constraints.get(textOf(oid)) ?? []
    const rows = Number(estimate)
    return {
      schema: textOf(schema),
      name: textOf(name),
      kind: kinds[textOf(kind)] ?? 'table',
      // -1: nobody has counted yet.
      rowEstimate: rows < 0 || kind === 'v' || !Number.isFinite(rows) ? null : Math.round(rows),
      columns: (columns.get(textOf(oid)) ?? []).map(columnOfRow),
      primaryKey: listOf(of.find(([, , type]) => type === 'p')?.[3]),
      foreignKeys: of.filter(([, , type]) => type === 'f').map(foreignKeyOf),
      indexes: (indexes.get(textOf(oid)) ?? []).map(indexOf),
    }
  })
}

const kinds: Readonly<Record<string, TableFacts['kind']>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized-view',
  f: 'foreign-table',
}

function columnOfRow([, name, type, notNull, preset, generated, oid, comparable]: Row): ColumnFacts {
  return {
    name: textOf(name),
    type: textOf(type),
    kind: kindOfType(Number(oid)),
    nullable: notNull !== 'true',
    default: preset ?? null,
    generated: generated === 'true',
    comparable: comparable === 'true',
  }
}

function foreignKeyOf([, name, , columns, schema, table, referenced]: Row): ForeignKey {
  return {
    name: textOf(name),
    columns: listOf(columns),
    references: { schema: textOf(schema), table: textOf(table), columns: listOf(referenced) },
  }
}

function indexOf([, name, unique, columns]: Row): IndexFacts {
  return { name: textOf(name), columns: listOf(columns), unique: unique === 'true' }
}

function grouped(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(rows, ([oid]) => textOf(oid))
}

function textOf(value: string | null | undefined): string {
  if (typeof value === 'string') return value
  throw new BrowseError('refused', 'The server’s answer about its tables makes no sense.')
}

function listOf(json: string | null | undefined): readonly string[] {
  if (typeof json !== 'string') return []
  const found: unknown = JSON.parse(json)
  return Array.isArray(found) ? found.map(String) : []
}
