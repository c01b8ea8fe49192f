import type { EditValue, Filter, RowChange, Sort } from '@stackquay/catalog/browse/statements'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { asProblem } from './browse-problem.ts'
import { databaseBrowser, type FindDeps } from './find-browser.ts'

const pageLimitMs = 30_000

export function rowHandlers(
  deps: FindDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'getDatabaseSchema' | 'listTableRows' | 'editTableRows'> {
  return {
    getDatabaseSchema: async ({ params }, context) => {
      const browser = await databaseBrowser(await find(params.id), params.db, deps, context)
      return {
        status: 200,
        body: mutable(await asProblem(browser.call('schema', [], context.signal), 'invalid_request')),
      }
    },

    listTableRows: async ({ params, query }, context) => {
      const browser = await databaseBrowser(await find(params.id), params.db, deps, context)
      const ask = {
        ...tableAsk(params.table, query),
        cursor: query.cursor ?? null,
        last: query.last === true,
        from: query.from ?? null,
        limit: query.limit ?? 50,
        timeLimitMs: pageLimitMs,
      }
      return {
        status: 200,
        body: mutable(await asProblem(browser.call('rows', [ask], context.signal), 'invalid_request')),
      }
    },

    editTableRows: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context)
      const dryRun = query.dryRun === true
      const { schema = null } = body
      const changes = body.changes.map(changeOf)
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
  }
}

interface Edit {
  readonly act: 'insert' | 'update' | 'delete'
  readonly old?: Readonly<Record<string, EditValue>> | undefined
  readonly set?: Readonly<Record<string, EditValue>> | undefined
}

function changeOf({ act, old = {}, set = {} }: Edit): RowChange {
  if (act === 'insert') return { insert: set }
  return act === 'update' ? { update: { old, set } } : { delete: { old } }
}

interface TableQuery {
  readonly schema?: string | undefined
  readonly sort?: string | undefined
  readonly filter?: readonly Filter[] | undefined
}

export function tableAsk(table: string, { schema, sort, filter }: TableQuery) {
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
