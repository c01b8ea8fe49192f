import type { Client } from '@stackquay/client'
import type { CallInput, Run } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { runTable } from './run-text.ts'

type Query = NonNullable<NonNullable<CallInput<'listRuns'>>['query']>

/** Runs of a project, newest first, as the result of a command. */
export async function listRuns(context: Context, client: Client, project: string, query: Query): Promise<void> {
  const input = { params: { id: project }, query }
  const { items } = await client.call('listRuns', input, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }: Run) => id).join('\n')
    return items.length === 0 ? 'No runs yet.' : runTable(items, context)
  })
}
