import { keyServiceNames } from '@stackquay/catalog'
import { tableKinds, valueKinds } from '@stackquay/catalog/browse/driver'
import { exportFormats } from '@stackquay/catalog/browse/sql-acts'
import { filterOperators } from '@stackquay/catalog/browse/statements'
import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { Cursor, Flag, Limit, Time } from './common.ts'
import { databaseNamePattern } from './names.ts'

const mostSql = 100_000
const Name = z.string().min(1).max(256)
export const TableName = Name.describe('Name of a table or a view.')
const SchemaName = Name.optional().describe('Its schema; the database’s usual one by default.')
export const KeyService = z.enum(keyServiceNames as [string, ...string[]]).describe('A service of keys, by its name.')

const Column = z
  .object({
    name: z.string().describe('Its name in the table.'),
    type: z.string().describe('As the server calls it.'),
    kind: z.enum(valueKinds).describe('number: numbers that JSON holds. All else but booleans is text.'),
    nullable: z.boolean().describe('Whether it may be NULL.'),
    default: z.string().nullable().describe('What is taken where nothing is given.'),
    generated: z.boolean().describe('The server makes its values.'),
    comparable: z.boolean().describe('Whether the server knows "=" for it.'),
  })
  .meta({ id: 'TableColumn' })

const ForeignKey = z
  .object({
    name: z.string().describe('Of the constraint.'),
    columns: z.array(z.string()).describe('In the order of the key.'),
    references: z
      .object({
        schema: z.string().describe('Of the other table.'),
        table: z.string().describe('The other table.'),
        columns: z.array(z.string()).describe('Those that are pointed to.'),
      })
      .meta({ id: 'ForeignKeyTarget', description: 'Where it points to.' }),
  })
  .meta({ id: 'ForeignKey' })

const TableIndex = z
  .object({
    name: z.string().describe('Of the index.'),
    columns: z.array(z.string()).describe('Columns or expressions.'),
    unique: z.boolean().describe('Whether each value is there once.'),
  })
  .meta({ id: 'TableIndex' })

const Table = z
  .object({
    schema: z.string().describe('Where it is.'),
    name: z.string().describe('Of the table.'),
    kind: z.enum(tableKinds).describe('What it is.'),
    rowEstimate: z.int().nullable().describe('The server’s guess.'),
    columns: z.array(Column).describe('In the order of the table.'),
    primaryKey: z.array(z.string()).describe('Empty: its rows are only read.'),
    foreignKeys: z.array(ForeignKey).describe('To other tables.'),
    indexes: z.array(TableIndex).describe('Of the table.'),
  })
  .meta({ id: 'DatabaseTable', description: 'A table or a view.' })

export const DatabaseSchema = z
  .object({
    defaultSchema: z.string().describe('Where a table is that is named without one.'),
    language: z.string().describe('Of its SQL, as editors call it: PostgreSQL, MariaSQL, MySQL.'),
    tables: z.array(Table).describe('By schema and name.'),
    truncated: z.boolean().describe('There are more tables than are listed.'),
  })
  .meta({ id: 'DatabaseSchema' })

const bytes = z.int().describe('Of the whole value.')
const CutText = z
  .object({ cut: z.string().describe('Its beginning.'), bytes })
  .meta({ id: 'CutText', description: 'A long text.' })
const CutBytes = z
  .object({ base64: z.string().describe('They, or their beginning.'), bytes })
  .meta({ id: 'CutBytes', description: 'Bytes.' })
const LongValue = z.union([CutText, CutBytes]).meta({ id: 'LongValue' })

const Value = z.union([z.string(), z.number(), z.boolean(), z.null(), LongValue]).meta({ id: 'DatabaseValue' })
const Rows = z.array(z.array(Value)).describe('Values in the order of the columns.')

export const TableRows = z
  .object({
    table: Table,
    rows: Rows,
    nextCursor: z.string().nullable().describe('Null: these are the last.'),
    previousCursor: z.string().nullable().describe('Null: these are the first.'),
    milliseconds: z.int().describe('How long it took.'),
  })
  .meta({ id: 'TableRows' })

const Filter = z.strictObject({
  column: Name,
  operator: z.enum(filterOperators),
  value: z.string().max(10_000).optional(),
})

/** JSON in a parameter. */
function json<Schema extends z.ZodType>(schema: Schema, most: number, description: string) {
  return z
    .string()
    .max(most)
    .transform((text, context) => {
      try {
        const found = schema.safeParse(JSON.parse(text))
        if (found.success) return found.data
      } catch {
        // Said below.
      }
      context.addIssue({ code: 'custom', message: 'is not the JSON that it should be' })
      return z.NEVER
    })
    .meta({ type: 'string' })
    .optional()
    .describe(description)
}

export const tableShape = {
  schema: SchemaName,
  filter: json(
    z.array(Filter).max(20),
    20_000,
    `JSON: [{"column", "operator", "value"}], all of which must hold; operators: ${filterOperators.join(', ')}.`,
  ),
  sort: z.string().min(1).max(257).optional().describe('A column; with "-" before it from the greatest to the least.'),
}

export const RowsQuery = z.strictObject({
  ...tableShape,
  limit: Limit,
  cursor: Cursor,
  last: Flag.optional().describe('The last rows.'),
  from: json(
    z.array(z.string().max(2000)).min(1).max(32),
    8000,
    'JSON: values of what is sorted by; rows from there on.',
  ),
})

export const ExportFormat = z.enum(exportFormats).optional().describe('Default: csv.')
export const TableExportQuery = z.strictObject({ ...tableShape, format: ExportFormat })

export const TableImportQuery = z.strictObject({ schema: SchemaName })
export const TableImport = z.object({ rows: z.int().describe('How many came in.') }).meta({ id: 'TableImport' })

const TimeLimit = z.int().min(1).max(600).optional().describe('Seconds; 30 by default.')
const Sql = z.string().min(1).max(mostSql).describe('One statement.')

export const DatabaseQuery = z
  .strictObject({
    sql: Sql,
    write: z.boolean().optional().describe('Without it the server refuses what writes.'),
    explain: z.enum(['plan', 'analyze']).optional().describe('Answers its plan instead; analyze carries it out.'),
    maxRows: z.int().min(1).max(10_000).optional().describe('500 by default.'),
    timeLimit: TimeLimit,
  })
  .meta({ id: 'DatabaseQuery' })

export const QueryExport = z
  .strictObject({ sql: Sql, format: ExportFormat, timeLimit: TimeLimit })
  .meta({ id: 'DatabaseQueryExport' })

const Plan: z.ZodType = z
  .object({
    label: z.string().describe('What the step does.'),
    details: z.array(z.string()).describe('What else the server says.'),
    rows: z.number().nullable().describe('How many it guesses.'),
    cost: z.number().nullable().describe('In its own unit.'),
    milliseconds: z.number().nullable().describe('Measured, with analyze.'),
    get children() {
      return z.array(Plan).describe('Steps that feed it.')
    },
  })
  .meta({ id: 'QueryPlan', description: 'A step of a plan.' })

const ResultColumn = z
  .object({
    name: z.string().describe('As the statement says.'),
    type: z.string().describe('As the server calls it.'),
    kind: z.enum(valueKinds).describe('As of a table’s column.'),
  })
  .meta({ id: 'ResultColumn' })

export const QueryResult = z
  .object({
    columns: z.array(ResultColumn).describe('Of the rows.'),
    rows: Rows,
    command: z.string().describe('SELECT, UPDATE.'),
    affected: z.int().nullable().describe('Rows that were written, where the server says so.'),
    truncated: z.enum(['rows', 'bytes']).nullable().describe('Which limit cut the rows.'),
    plan: Plan.nullable().describe('With explain.'),
    milliseconds: z.int().describe('How long it took.'),
  })
  .meta({ id: 'DatabaseQueryResult' })

const BinaryValue = z
  .strictObject({ base64: z.base64().max(1_000_000).describe('All of them.') })
  .meta({ id: 'BinaryValue', description: 'Bytes.' })
const EditValue = z
  .union([z.string().max(1_000_000), z.number(), z.boolean(), z.null(), BinaryValue])
  .meta({ id: 'EditValue' })
const RowValues = z.record(Name, EditValue).meta({ id: 'RowValues', description: 'By the names of the columns.' })

const RowEdit = z
  .strictObject({
    act: z.enum(['insert', 'update', 'delete']).describe('What becomes of the row.'),
    old: RowValues.optional().describe('The key, and what else must still be so; not with insert.'),
    set: RowValues.optional().describe('New values; not with delete.'),
  })
  .meta({ id: 'RowEdit' })

export const RowEdits = z
  .strictObject({ schema: SchemaName, changes: z.array(RowEdit).min(1).max(500).describe('In their order.') })
  .meta({ id: 'RowEdits' })

export const RowEditResult = z
  .object({
    statements: z.array(z.string()).describe('With their values in them.'),
    applied: z.boolean().describe('False for a dry run.'),
  })
  .meta({ id: 'RowEditResult' })

export const SavedQueryId = z
  .string()
  .regex(/^sqr_[a-z0-9]{10,40}$/)
  .describe('Id of a saved query: sqr_….')

export const SavedQuery = z
  .object({
    id: SavedQueryId,
    name: z.string().describe('Each once in a project.'),
    database: z.string().nullable().describe('The database that it is for.'),
    sql: z.string().describe('One statement.'),
    createdAt: Time.describe('When it was saved.'),
    updatedAt: Time.describe('When it was changed last.'),
  })
  .meta({ id: 'SavedQuery' })

const savedName = shownName(80).describe('Each once in a project.')
const savedFor = z.string().regex(databaseNamePattern).nullable().optional().describe('The database that it is for.')
export const SavedQueryCreate = z
  .strictObject({ name: savedName, database: savedFor, sql: Sql })
  .meta({ id: 'SavedQueryCreate' })
export const SavedQueryPatch = z
  .strictObject({ name: savedName.optional(), database: savedFor, sql: Sql.optional() })
  .meta({ id: 'SavedQueryPatch' })

const BinaryKey = z
  .object({ base64: z.string().describe('All of it.') })
  .meta({ id: 'BinaryKey', description: 'A key that is no UTF-8.' })
const KeyText = z.union([z.string(), BinaryKey]).meta({ id: 'KeyText', description: 'Text, or bytes.' })
const KeyShape = {
  key: KeyText,
  type: z.string().describe('string, list, set, hash, zset, stream, or another.'),
  ttlMs: z.int().nullable().describe('Null: it does not expire.'),
}

export const KeysPage = z
  .object({
    keys: z.array(z.object(KeyShape).meta({ id: 'KeyFacts' })).describe('In no order.'),
    nextCursor: z.string().nullable().describe('Null: that was all.'),
    total: z.int().describe('Of all keys.'),
  })
  .meta({ id: 'KeysPage' })

export const KeysQuery = z.strictObject({
  match: z.string().min(1).max(1000).optional().describe('A pattern with *, ? and […]; * by default.'),
  type: z
    .string()
    .regex(/^[a-zA-Z][\w-]{0,40}$/)
    .optional()
    .describe('string, list, set, hash, zset or stream.'),
  limit: Limit,
  cursor: z
    .string()
    .regex(/^\d{1,20}$/)
    .optional()
    .describe('nextCursor of the page before.'),
})

const keyShape = {
  key: z.string().max(8000).describe('The key; as base64 with `encoding=base64`.'),
  encoding: z.enum(['text', 'base64']).optional().describe('Default: text.'),
}

export const KeyQuery = z.strictObject({
  ...keyShape,
  limit: Limit,
  cursor: z
    .string()
    .regex(/^[\d-]{1,60}$/)
    .optional()
    .describe('nextCursor of the page before.'),
})

const KeyItem = z
  .object({
    name: z.union([z.string(), LongValue]).nullable().describe('Field, index or id.'),
    value: z.union([z.string(), LongValue]).describe('Long ones are cut.'),
    score: z.string().nullable().describe('Of a sorted set.'),
  })
  .meta({ id: 'KeyItem' })

export const KeyView = z
  .object({
    ...KeyShape,
    length: z.int().describe('Bytes of a string, else how many items.'),
    items: z.array(KeyItem).describe('Of a string one.'),
    nextCursor: z.string().nullable().describe('Null: that was all.'),
  })
  .meta({ id: 'KeyView' })

const KeyValue = z.string().max(500_000).optional()
export const KeyEdit = z
  .strictObject({
    ...keyShape,
    act: z.enum(['set', 'set-field', 'delete-field', 'expire', 'delete']).describe('What becomes of it.'),
    field: KeyValue.describe('Of a hash.'),
    value: KeyValue.describe('With set and set-field.'),
    seconds: z.int().min(1).max(3_000_000_000).nullable().optional().describe('With expire; null: never.'),
  })
  .meta({ id: 'KeyEdit' })
