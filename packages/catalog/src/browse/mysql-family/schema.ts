import type { ColumnFacts, ForeignKey, IndexFacts, TableFacts, ValueKind } from '../driver.ts'

type Row = readonly (string | number | null)[]
export type Ask = (text: string, values: readonly (string | null)[]) => Promise<readonly Row[]>

export const mostTables = 2000
const mostOfEach = 60_000

const one = '(? IS NULL OR table_name = ?)'

const tablesSql = `SELECT table_name, table_type, table_rows FROM information_schema.tables
WHERE table_schema = DATABASE() AND ${one} ORDER BY table_name LIMIT ${mostTables + 1}`

const columnsSql = `SELECT table_name, column_name, column_type, is_nullable, column_default, data_type, extra FROM information_schema.columns
WHERE table_schema = DATABASE() AND ${one} ORDER BY table_name, ordinal_position LIMIT ${mostOfEach}`

const indexesSql = `SELECT table_name, index_name, column_name, non_unique FROM information_schema.statistics
WHERE table_schema = DATABASE() AND ${one} ORDER BY table_name, index_name, seq_in_index LIMIT ${mostOfEach}`

const foreignKeysSql = `SELECT table_name, constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL AND ${one}
ORDER BY table_name, constraint_name, ordinal_position LIMIT ${mostOfEach}`

/** All tables of the database, or the one of this name. */
export async function readTables(ask: Ask, schema: string, name: string | null): Promise<readonly TableFacts[]> {
  const values = [name, name]
  const tables = await ask(tablesSql, values)
  const columns = grouped(await ask(columnsSql, values))
  const indexes = grouped(await ask(indexesSql, values))
  const foreignKeys = grouped(await ask(foreignKeysSql, values))
  return tables.map((row): TableFacts => {
    const table = String(row[0])
    const isTable = row[1] === 'BASE TABLE'
    const found = grouped((indexes.get(table) ?? []).map(([, ...rest]) => rest))
    return {
      schema,
      name: table,
      kind: isTable ? 'table' : 'view',
      rowEstimate: isTable && row[2] !== null ? Number(row[2]) : null,
      columns: (columns.get(table) ?? []).map(columnOfRow),
      primaryKey: (found.get('PRIMARY') ?? []).map(([, column]) => String(column)),
      foreignKeys: [...grouped((foreignKeys.get(table) ?? []).map(([, ...rest]) => rest))].map(foreignKeyOf),
      indexes: [...found].map(indexOf),
    }
  })
}

/** Those whose "=" does not find what was printed. */
const incomparable: ReadonlySet<string> = new Set(['float', 'double', 'json', 'geometry', 'point', 'polygon', 'vector'])
const numbers: ReadonlySet<string> = new Set(['tinyint', 'smallint', 'mediumint', 'int', 'year', 'float', 'double'])
const binaries = /binary$|blob$|^bit$|^geometry$|^point$|^polygon$|^linestring$|^multi|^vector$/

function columnOfRow([, name, type, nullable, preset, dataType, extra]: Row): ColumnFacts {
  const base = String(dataType).toLowerCase()
  return {
    name: String(name),
    type: String(type),
    kind: kindOf(base),
    nullable: nullable === 'YES',
    default: preset === null ? null : String(preset),
    generated: /GENERATED/i.test(String(extra)) && !/DEFAULT_GENERATED/i.test(String(extra)),
    comparable: !incomparable.has(base),
  }
}

function kindOf(base: string): ValueKind {
  if (numbers.has(base)) return 'number'
  if (binaries.test(base)) return 'binary'
  return base === 'json' ? 'json' : 'text'
}

function foreignKeyOf([name, rows]: readonly [string, readonly Row[]]): ForeignKey {
  const [, , schema, table] = rows[0] ?? []
  return {
    name,
    columns: rows.map(([, column]) => String(column)),
    references: { schema: String(schema), table: String(table), columns: rows.map((row) => String(row[4])) },
  }
}

function indexOf([name, rows]: readonly [string, readonly Row[]]): IndexFacts {
  return {
    name,
    columns: rows.map(([, column]) => String(column ?? '(expression)')),
    unique: Number(rows[0]?.[2]) === 0,
  }
}

function grouped(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(rows, ([name]) => String(name))
}
