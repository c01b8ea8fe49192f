import type { Filter, Sort } from '@stackquay/catalog/browse/statements'
import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { asProblem } from './browse-problem.ts'
import { exportReply } from './export-reply.ts'
import { databaseBrowser, type FindDeps } from './find-browser.ts'

const pageLimitMs = 30_000
export const exportLimitMs = 3_600_000

export function rowHandlers(
  deps: FindDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'getDatabaseSchema' | 'listTableRows' | 'editTableRows' | 'exportTable' | 'importTable'> {
  return {
    getDatabaseSchema: async ({ params }, { signal }) => {
      const browser = await databaseBrowser(await find(params.id), params.db, deps, signal)
      return { status: 200, body: mutable(await asProblem(browser.call('schema', [], signal), 'invalid_request')) }
    },

    listTableRows: async ({ params, query }, { signal }) => {
      const browser = await databaseBrowser(await find(params.id), params.db, deps, signal)
      const ask = {
        ...tableAsk(params.table, query),
        cursor: query.cursor ?? null,
        last: query.last === true,
        from: query.from ?? null,
        limit: query.limit ?? 50,
        timeLimitMs: pageLimitMs,
      }
      return { status: 200, body: mutable(await asProblem(browser.call('rows', [ask], signal), 'invalid_request')) }
    },

    editTableRows: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context.signal)
      const dryRun = query.dryRun === true
      const { changes, schema = null } = body
      const ask = { schema, table: params.table, changes, timeLimitMs: pageLimitMs }
      // What cannot be is refused before anything is written down.
      const planned = await asProblem(
        browser.call('edit', [{ ...ask, dryRun: true }], context.signal),
        'validation_failed',
      )
      if (dryRun) return { status: 200, body: mutable(planned) }
      const count = (kind: string) => changes.filter((change) => kind in change).length
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'database.rows.edit',
            target: `${row.slug}/${params.db}`,
            project: row.id,
            changes: {
              table: schema === null ? params.table : `${schema}.${params.table}`,
              inserts: count('insert'),
              updates: count('update'),
              deletes: count('delete'),
            },
          }),
        ),
      )
      // Its end is not left to whether somebody waits for it.
      const edited = browser.call('edit', [{ ...ask, dryRun: false }], new AbortController().signal)
      return { status: 200, body: mutable(await asProblem(edited, 'validation_failed')) }
    },

    importTable: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context.signal)
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'database.rows.import',
            target: `${row.slug}/${params.db}`,
            project: row.id,
            changes: { table: query.schema === undefined ? params.table : `${query.schema}.${params.table}` },
          }),
        ),
      )
      const ask = { schema: query.schema ?? null, table: params.table, timeLimitMs: importLimitMs }
      const imported = browser.import(ask, atMost(body, mostImported), context.signal)
      return { status: 200, body: mutable(await asProblem(imported, 'validation_failed')) }
    },

    exportTable: async ({ params, query }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context.signal)
      const format = query.format ?? 'csv'
      const ask = { ...tableAsk(params.table, query), format, of: 'table', timeLimitMs: exportLimitMs } as const
      return exportReply(
        { row, database: params.db, name: params.table, format, invalid: 'invalid_request' },
        browser.export(ask, context.signal),
        deps.store,
        context,
      )
    },
  }
}

const importLimitMs = 300_000
const mostImported = 256 * 1024 * 1024

async function* atMost(content: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > most)
      throw new ProblemError('too_large', 'The file has more than 256 MiB.', {
        hint: 'Import it in parts, or as a dump.',
      })
    yield chunk
  }
}

interface TableQuery {
  readonly schema?: string | undefined
  readonly sort?: string | undefined
  readonly filter?: readonly Filter[] | undefined
}

function tableAsk(table: string, { schema, sort, filter }: TableQuery) {
  return { schema: schema ?? null, table, filters: filter ?? [], sort: sortOf(sort) }
}

function sortOf(text: string | undefined): Sort | null {
  if (text === undefined) return null
  const descending = text.startsWith('-')
  return { column: descending ? text.slice(1) : text, descending }
}

/** Answers are described without `readonly`. */
export function mutable<Value>(value: Value): Mutable<Value> {
  return value as Mutable<Value>
}

export type Mutable<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
