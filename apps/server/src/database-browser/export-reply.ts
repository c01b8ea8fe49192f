import type { ProjectRow, Store } from '@stackquay/store'
import type { Reply, RequestContext } from '../http/handler.ts'
import { problemOf } from './browse-problem.ts'

export interface Exported {
  readonly row: ProjectRow
  readonly database: string
  /** Of the file, and of what is told of it: a table, or `query`. */
  readonly name: string
  readonly format: 'csv' | 'json'
  readonly invalid: 'invalid_request' | 'validation_failed'
}

const types = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const

/** What keeps it from beginning is still told with a status of its own. */
export async function exportReply(
  { row, database, name, format, invalid }: Exported,
  content: AsyncGenerator<Buffer>,
  store: Store,
  context: RequestContext,
): Promise<Reply<never>> {
  const first = await content.next().catch((error: unknown) => {
    throw problemOf(error, invalid)
  })
  const stream = (async function* () {
    try {
      if (first.done !== true) yield first.value
      yield* content
    } finally {
      await content.return(undefined)
    }
  })()
  try {
    await store.transaction((tx) =>
      tx.audit.append(
        context.audit({
          action: 'database.rows.export',
          target: `${row.slug}/${database}`,
          project: row.id,
          changes: { of: name, format },
        }),
      ),
    )
  } catch (error) {
    await content.return(undefined)
    throw error
  }
  const file = `${row.slug}-${database}-${name}.${format}`.replaceAll(/[^\w.-]/g, '-').slice(-120)
  return {
    status: 200,
    headers: { 'content-type': types[format], 'content-disposition': `attachment; filename="${file}"` },
    stream,
  }
}
