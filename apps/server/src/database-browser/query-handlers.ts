import type { QueryAsk } from '@stackquay/catalog/browse/sql-acts'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { asProblem } from './browse-problem.ts'
import { exportReply } from './export-reply.ts'
import { exportLimitMs } from './file-handlers.ts'
import { databaseBrowser, type FindDeps } from './find-browser.ts'
import { mutable } from './row-handlers.ts'

export function queryHandlers(
  deps: FindDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'queryDatabase' | 'exportQuery'> {
  return {
    queryDatabase: async ({ params, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context)
      const { sql, write = false, explain = 'no', maxRows = 500, timeLimit = 30 } = body
      // Its text may hold secrets and data of people; that it ran, and what it may have done, is told without.
      await deps.store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'database.query',
            target: `${row.slug}/${params.db}`,
            project: row.id,
            changes: { write, command: commandOf(sql), characters: sql.length, explain },
          }),
        ),
      )
      const ask: QueryAsk = { sql, write, explain, maxRows, timeLimitMs: timeLimit * 1000 }
      return {
        status: 200,
        body: mutable(await asProblem(browser.call('query', [ask], context.signal), 'validation_failed')),
      }
    },

    exportQuery: async ({ params, body }, context) => {
      const row = await find(params.id)
      const browser = await databaseBrowser(row, params.db, deps, context)
      const { sql, format = 'csv', timeLimit } = body
      const timeLimitMs = timeLimit === undefined ? exportLimitMs : timeLimit * 1000
      return exportReply(
        { row, database: params.db, name: 'query', format, invalid: 'validation_failed' },
        browser.export({ of: 'query', sql, format, timeLimitMs }, context.signal),
        deps.store,
        context,
      )
    },
  }
}

/** Its first word, where that is one. */
function commandOf(sql: string): string {
  return (/^[\s(]*([a-z]{2,20})\b/i.exec(sql)?.[1] ?? 'other').toUpperCase()
}
