import type { CallInput, CallResult } from '@stackquay/contract'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { BrowserFilter } from '../lib/browser-search.ts'
import { client } from './client.ts'
import { saveFile } from './download.ts'
import { queryClient } from './query-client.ts'

export type DatabaseSchema = CallResult<'getDatabaseSchema'>
export type DatabaseTable = DatabaseSchema['tables'][number]
export type TableRows = CallResult<'listTableRows'>
export type Cell = TableRows['rows'][number][number]
export type QueryResult = CallResult<'queryDatabase'>

/** A step of a plan; its description in the contract is of itself. */
export interface QueryPlan {
  readonly label: string
  readonly details: readonly string[]
  readonly rows: number | null
  readonly cost: number | null
  readonly milliseconds: number | null
  readonly children: readonly QueryPlan[]
}

export type QueryBody = NonNullable<CallInput<'queryDatabase'>['body']>
export type RowEdits = NonNullable<CallInput<'editTableRows'>['body']>
export type RowEdit = RowEdits['changes'][number]
export type SavedQuery = CallResult<'listSavedQueries'>['items'][number]
export type KeyView = CallResult<'getKey'>

/** Which database of which project. */
export interface DatabaseRef {
  readonly project: string
  readonly database: string
}

/** What is asked of a table. */
export interface RowsAsk {
  readonly schema: string
  readonly table: string
  readonly filters: readonly BrowserFilter[]
  readonly sort: string | null
  readonly cursor: string | null
  readonly last: boolean
}

const key = ({ project, database }: DatabaseRef) => ['browser', project, database] as const

export function schemaQuery(ref: DatabaseRef) {
  return queryOptions({
    queryKey: [...key(ref), 'schema'],
    queryFn: ({ signal }) => client.call('getDatabaseSchema', { params: paramsOf(ref) }, { signal }),
    staleTime: 30_000,
    retry: false,
  })
}

export function rowsQuery(ref: DatabaseRef, ask: RowsAsk) {
  return queryOptions({
    queryKey: [...key(ref), 'rows', ask],
    queryFn: ({ signal }) => {
      const { table, cursor, last } = ask
      const page = { ...(cursor === null ? {} : { cursor }), ...(last ? { last: 'true' as const } : {}) }
      const query = { ...tableParameters(ask), ...page, limit: '100' }
      return client.call('listTableRows', { params: { ...paramsOf(ref), table }, query } as never, { signal })
    },
    placeholderData: keepPreviousData,
    // Others write too: each look is a new one, and what was seen is not kept.
    gcTime: 0,
    retry: false,
  })
}

export async function readRowsAgain(ref: DatabaseRef): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: [...key(ref), 'rows'] })
}

export async function editRows(
  ref: DatabaseRef,
  table: DatabaseTable,
  changes: readonly RowEdit[],
  dryRun: boolean,
  signal?: AbortSignal,
) {
  const input = {
    params: { ...paramsOf(ref), table: table.name },
    query: dryRun ? { dryRun: 'true' } : {},
    body: { schema: table.schema, changes: [...changes] },
  }
  const result = await client.call('editTableRows', input as never, signal === undefined ? {} : { signal })
  if (!dryRun) await readRowsAgain(ref)
  return result as CallResult<'editTableRows'>
}

export function runQuery(ref: DatabaseRef, body: QueryBody, signal: AbortSignal): Promise<QueryResult> {
  return client.call('queryDatabase', { params: paramsOf(ref), body }, { signal })
}

export async function importTable(ref: DatabaseRef, table: DatabaseTable, file: File): Promise<number> {
  const { project, database } = ref
  const path = `/projects/${encodeURIComponent(project)}/databases/${database}/tables/${encodeURIComponent(table.name)}/import`
  // Whatever the machine calls it: the service reads it as this.
  const blob = file.slice(0, file.size, 'text/csv')
  const answer = await client.request({ method: 'POST', path, query: { schema: table.schema }, blob })
  await readRowsAgain(ref)
  return (answer.data as CallResult<'importTable'>).rows
}

export function exportTable(ref: DatabaseRef, ask: RowsAsk, format: 'csv' | 'json'): Promise<void> {
  const parameters = new URLSearchParams({ ...tableParameters(ask), format })
  const { project, database } = ref
  return saveFile(
    `/projects/${encodeURIComponent(project)}/databases/${database}/tables/${encodeURIComponent(ask.table)}/export?${parameters}`,
  )
}

export function savedQueriesQuery(project: string) {
  return queryOptions({
    queryKey: ['browser', project, 'saved'],
    queryFn: ({ signal }) => client.call('listSavedQueries', { params: { id: project } }, { signal }),
  })
}

export async function saveQuery({ project, database }: DatabaseRef, name: string, sql: string): Promise<void> {
  const known = (await queryClient.fetchQuery(savedQueriesQuery(project))).items.find((one) => one.name === name)
  if (known === undefined)
    await client.call('createSavedQuery', { params: { id: project }, body: { name, sql, database } })
  else await client.call('updateSavedQuery', { params: { id: project, query: known.id }, body: { sql, database } })
  await queryClient.invalidateQueries({ queryKey: ['browser', project, 'saved'] })
}

export async function deleteQuery(project: string, { id: query }: SavedQuery): Promise<void> {
  await client.call('deleteSavedQuery', { params: { id: project, query } })
  await queryClient.invalidateQueries({ queryKey: ['browser', project, 'saved'] })
}

function paramsOf({ project, database }: DatabaseRef) {
  return { id: project, db: database }
}

function tableParameters({
  schema,
  filters,
  sort,
}: Pick<RowsAsk, 'schema' | 'filters' | 'sort'>): Record<string, string> {
  return {
    schema,
    ...(filters.length === 0 ? {} : { filter: JSON.stringify(filters) }),
    ...(sort === null ? {} : { sort }),
  }
}
