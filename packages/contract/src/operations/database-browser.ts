import { z } from 'zod'
import { operation } from '../operation.ts'
import { DryRun, listOf } from '../schemas/common.ts'
import {
  DatabaseQuery,
  DatabaseSchema,
  KeyEdit,
  KeyQuery,
  KeyService,
  KeysPage,
  KeysQuery,
  KeyView,
  QueryExport,
  QueryResult,
  RowEditResult,
  RowEdits,
  RowsQuery,
  SavedQuery,
  SavedQueryCreate,
  SavedQueryId,
  SavedQueryPatch,
  TableExportQuery,
  TableImport,
  TableImportQuery,
  TableName,
  TableRows,
} from '../schemas/database-browser.ts'
import { database, id, operate } from './of-project.ts'

const tag = 'Database browser'
const table = database.extend({ table: TableName })
const savedQuery = id.extend({ query: SavedQueryId })
const keys = id.extend({ service: KeyService })
const problems = ['not_running', 'unavailable', 'unavailable_here', 'query_failed', 'deadline_exceeded'] as const
const exported = z.string().meta({ id: 'RowsExport', format: 'binary', description: 'CSV (RFC 4180) or a JSON array.' })
const exportTypes = ['text/csv', 'application/json'] as const

export const getDatabaseSchema = operation({
  id: 'getDatabaseSchema',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/schema',
  tag,
  summary: 'Tables, views, columns, keys and indexes of a database',
  description: 'While it runs.',
  access: operate,
  params: database,
  results: { 200: DatabaseSchema },
  problems,
})

export const listTableRows = operation({
  id: 'listTableRows',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/tables/{table}',
  tag,
  summary: 'Rows of a table, by its key',
  description:
    'Pages are as quick at the end of a table as at its beginning. A table without a key counts its rows instead.',
  access: operate,
  params: table,
  query: RowsQuery,
  results: { 200: TableRows },
  problems: ['invalid_request', ...problems],
})

export const editTableRows = operation({
  id: 'editTableRows',
  method: 'PATCH',
  path: '/projects/{id}/databases/{db}/tables/{table}/rows',
  tag,
  summary: 'Insert, change and delete rows, all or none',
  description: 'Each change must touch exactly one row that still is what `old` says: otherwise nothing is changed.',
  access: operate,
  params: table,
  query: z.strictObject({ dryRun: DryRun }),
  body: RowEdits,
  results: { 200: RowEditResult },
  problems: ['validation_failed', 'precondition_failed', ...problems],
  audit: 'database.rows.edit',
  removes: 'record',
})

export const exportTable = operation({
  id: 'exportTable',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/tables/{table}/export',
  tag,
  summary: 'All rows of a table that match, as CSV or JSON',
  description: 'An answer that breaks off is not whole: its connection ends without the last chunk.',
  access: operate,
  params: table,
  query: TableExportQuery,
  results: { 200: exported },
  resultType: exportTypes,
  ticket: 'download',
  problems: ['invalid_request', ...problems],
  audit: 'database.rows.export',
})

export const importTable = operation({
  id: 'importTable',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/tables/{table}/import',
  tag,
  summary: 'Insert the rows of a CSV file, all or none',
  description: 'Its first line names the columns. At most 256 MiB, in five minutes. What is wrong says in which line.',
  access: operate,
  params: table,
  query: TableImportQuery,
  body: z.string().meta({ id: 'CsvFile', format: 'binary', description: 'CSV (RFC 4180) in UTF-8.' }),
  bodyTypes: ['text/csv'],
  bodyStream: true,
  results: { 200: TableImport },
  problems: ['validation_failed', 'too_large', 'unsupported_media_type', ...problems],
  audit: 'database.rows.import',
})

export const queryDatabase = operation({
  id: 'queryDatabase',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/query',
  tag,
  summary: 'Run one SQL statement',
  description:
    'Without `write` as a user with read rights alone, in a read-only transaction: the server itself refuses everything else. ' +
    'Ending the connection cancels it.',
  access: operate,
  params: database,
  body: DatabaseQuery,
  results: { 200: QueryResult },
  problems: ['validation_failed', ...problems],
  audit: 'database.query',
  removes: 'record',
})

export const exportQuery = operation({
  id: 'exportQuery',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/query/export',
  tag,
  summary: 'All rows of a statement that reads, as CSV or JSON',
  description: 'Streamed. Not whole where its connection ends without the last chunk.',
  access: operate,
  params: database,
  body: QueryExport,
  results: { 200: exported },
  resultType: exportTypes,
  problems: ['validation_failed', ...problems],
  audit: 'database.rows.export',
})

export const listSavedQueries = operation({
  id: 'listSavedQueries',
  method: 'GET',
  path: '/projects/{id}/queries',
  tag,
  summary: 'Saved queries of a project, by name',
  description: 'Everybody who may operate the project shares them.',
  access: operate,
  params: id,
  results: { 200: listOf('SavedQueryList', SavedQuery) },
  problems: [],
})

export const createSavedQuery = operation({
  id: 'createSavedQuery',
  method: 'POST',
  path: '/projects/{id}/queries',
  tag,
  summary: 'Save a query',
  description: 'At most 200 in a project.',
  access: operate,
  params: id,
  body: SavedQueryCreate,
  results: { 201: SavedQuery },
  problems: ['validation_failed', 'conflict'],
  audit: 'database.query.create',
})

export const updateSavedQuery = operation({
  id: 'updateSavedQuery',
  method: 'PATCH',
  path: '/projects/{id}/queries/{query}',
  tag,
  summary: 'Change a saved query',
  description: 'What is absent stays.',
  access: operate,
  params: savedQuery,
  body: SavedQueryPatch,
  results: { 200: SavedQuery },
  problems: ['validation_failed', 'conflict'],
  audit: 'database.query.update',
})

export const deleteSavedQuery = operation({
  id: 'deleteSavedQuery',
  method: 'DELETE',
  path: '/projects/{id}/queries/{query}',
  tag,
  summary: 'Delete a saved query',
  description: 'For good.',
  access: operate,
  params: savedQuery,
  results: { 204: null },
  problems: [],
  audit: 'database.query.delete',
  removes: 'record',
})

export const listKeys = operation({
  id: 'listKeys',
  method: 'GET',
  path: '/projects/{id}/{service}/keys',
  tag,
  summary: 'Keys of a service, in no order',
  description: 'A page may be empty and still not the last.',
  access: operate,
  params: keys,
  query: KeysQuery,
  results: { 200: KeysPage },
  problems: ['invalid_request', ...problems],
})

export const getKey = operation({
  id: 'getKey',
  method: 'GET',
  path: '/projects/{id}/{service}/key',
  tag,
  summary: 'The value of a key, in pages',
  description: 'Long values are cut.',
  access: operate,
  params: keys,
  query: KeyQuery,
  results: { 200: KeyView },
  problems: ['invalid_request', ...problems],
})

export const editKey = operation({
  id: 'editKey',
  method: 'PATCH',
  path: '/projects/{id}/{service}/key',
  tag,
  summary: 'Set, expire or delete a key or a field of one',
  description: 'A key never changes its type by this.',
  access: operate,
  params: keys,
  body: KeyEdit,
  results: { 204: null },
  problems: ['validation_failed', ...problems],
  audit: 'service.key.edit',
  removes: 'record',
})
