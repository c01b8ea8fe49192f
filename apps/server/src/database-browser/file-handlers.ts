import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { asProblem } from './browse-problem.ts'
import { exportReply } from './export-reply.ts'
import { databaseBrowser, type FindDeps } from './find-browser.ts'
import { mutable, tableAsk } from './row-handlers.ts'

export const exportLimitMs = 3_600_000
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

/** Tables as files, out and in. */
export function fileHandlers(
  deps: FindDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'exportTable' | 'importTable'> {
  return {
    importTable: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context)
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
      const browser = await databaseBrowser(row, params.db, deps, context)
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
