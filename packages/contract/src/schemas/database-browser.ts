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
    name: z.string(),
    type: z.string().describe('As the server calls it.'),
    kind: z.enum(valueKinds).describe('number: numbers that JSON holds. All else but booleans is text.'),
    nullable: z.boolean(),
    default: z.string().nullable(),
    generated: z.boolean().describe('The server makes its values.'),
    comparable: z.boolean(),
  })
  .meta({ id: 'TableColumn' })

const ForeignKey = z
  .object({
    name: z.string(),
    columns: z.array(z.string()),
    references: z.object({ schema: z.string(), table: z.string(), columns: z.array(z.string()) }),
  })
  .meta({ id: 'ForeignKey' })

const Table = z
  .object({
    schema: z.string(),
    name: z.string(),
    kind: z.enum(tableKinds),
    rowEstimate: z.int().nullable().describe('The server’s guess.'),
    columns: z.array(Column),
    primaryKey: z.array(z.string()).describe('Empty: its rows are only read.'),
    foreignKeys: z.array(ForeignKey),
    indexes: z.array(
      z.object({ name: z.string(), columns: z.array(z.string()), unique: z.boolean() }).meta({ id: 'TableIndex' }),
    ),
  })
  .meta({ id: 'DatabaseTable' })

export const DatabaseSchema = z
  .object({
    defaultSchema: z.string(),
    language: z.string().describe('Of its SQL, as editors call it: PostgreSQL, MariaSQL, MySQL.'),
    tables: z.array(Table),
    truncated: z.boolean().describe('There are more tables than are listed.'),
  })
  .meta({ id: 'DatabaseSchema' })

const LongValue = z
  .union([
    z.object({ cut: z.string(), bytes: z.int() }).describe('The beginning of a long text.'),
    z.object({ base64: z.string(), bytes: z.int() }).describe('Bytes, or their beginning.'),
  ])
  .meta({ id: 'LongValue', description: '`bytes`: of the whole value.' })

const Value = z.union([z.string(), z.number(), z.boolean(), z.null(), LongValue]).meta({ id: 'DatabaseValue' })
const Rows = z.array(z.array(Value)).describe('Values in the order of the columns.')

export const TableRows = z
  .object({
    table: Table,
    rows: Rows,
    nextCursor: z.string().nullable(),
    previousCursor: z.string().nullable(),
    milliseconds: z.int(),
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
export const TableImport = z.object({ rows: z.int() }).meta({ id: 'TableImport' })

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
    label: z.string(),
    details: z.array(z.string()),
    rows: z.number().nullable(),
    cost: z.number().nullable(),
    milliseconds: z.number().nullable(),
    get children() {
      return z.array(Plan)
    },
  })
  .meta({ id: 'QueryPlan' })

export const QueryResult = z
  .object({
    columns: z.array(
      z.object({ name: z.string(), type: z.string(), kind: z.enum(valueKinds) }).meta({ id: 'ResultColumn' }),
    ),
    rows: Rows,
    command: z.string().describe('SELECT, UPDATE.'),
    affected: z.int().nullable().describe('Rows that were written, where the server says so.'),
    truncated: z.enum(['rows', 'bytes']).nullable().describe('Which limit cut the rows.'),
    plan: Plan.nullable(),
    milliseconds: z.int(),
  })
  .meta({ id: 'DatabaseQueryResult' })

const EditValue = z
  .union([
    z.string().max(1_000_000),
    z.number(),
    z.boolean(),
    z.null(),
    z.strictObject({ base64: z.base64().max(1_000_000) }),
  ])
  .meta({ id: 'EditValue' })
const Values = z.record(Name, EditValue)
const Old = Values.describe('The key, and what else must still be so.')

export const RowEdits = z
  .strictObject({
    schema: SchemaName,
    changes: z
      .array(
        z.union([
          z.strictObject({ insert: Values }),
          z.strictObject({ update: z.strictObject({ old: Old, set: Values }) }),
          z.strictObject({ delete: z.strictObject({ old: Old }) }),
        ]),
      )
      .min(1)
      .max(500),
  })
  .meta({ id: 'RowEdits' })

export const RowEditResult = z
  .object({
    statements: z.array(z.string()).describe('With their values in them.'),
    applied: z.boolean(),
  })
  .meta({ id: 'RowEditResult' })

export const SavedQueryId = z
  .string()
  .regex(/^sqr_[a-z0-9]{10,40}$/)
  .describe('Id of a saved query: sqr_….')

export const SavedQuery = z
  .object({
    id: SavedQueryId,
    name: z.string(),
    database: z.string().nullable().describe('The database that it is for.'),
    sql: z.string(),
    createdAt: Time,
    updatedAt: Time,
  })
  .meta({ id: 'SavedQuery' })

const DatabaseName = z.string().regex(databaseNamePattern)
export const SavedQueryCreate = z
  .strictObject({ name: shownName(80), database: DatabaseName.nullable().optional(), sql: Sql })
  .meta({ id: 'SavedQueryCreate' })
export const SavedQueryPatch = z
  .strictObject({ name: shownName(80).optional(), database: DatabaseName.nullable().optional(), sql: Sql.optional() })
  .meta({ id: 'SavedQueryPatch' })

const KeyText = z
  .union([z.string(), z.object({ base64: z.string() })])
  .meta({ id: 'KeyText', description: 'Text, or bytes that are no UTF-8.' })
const KeyFacts = { key: KeyText, type: z.string(), ttlMs: z.int().nullable().describe('Null: it does not expire.') }

export const KeysPage = z
  .object({
    keys: z.array(z.object(KeyFacts).meta({ id: 'KeyFacts' })),
    nextCursor: z.string().nullable(),
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

export const KeyView = z
  .object({
    ...KeyFacts,
    length: z.int().describe('Bytes of a string, else how many items.'),
    items: z.array(
      z
        .object({
          name: z.union([z.string(), LongValue]).nullable().describe('Field, index or id.'),
          value: z.union([z.string(), LongValue]),
          score: z.string().nullable(),
        })
        .meta({ id: 'KeyItem' }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'KeyView' })

const KeyValue = z.string().max(500_000)
export const KeyEdit = z
  .strictObject({
    ...keyShape,
    change: z.union([
      z.strictObject({ set: z.strictObject({ value: KeyValue }) }),
      z.strictObject({ setField: z.strictObject({ field: KeyValue, value: KeyValue }) }),
      z.strictObject({ deleteField: z.strictObject({ field: KeyValue }) }),
      z.strictObject({ expire: z.strictObject({ seconds: z.int().min(1).max(3_000_000_000).nullable() }) }),
      z.strictObject({ delete: z.literal(true) }),
    ]),
  })
  .meta({ id: 'KeyEdit' })
