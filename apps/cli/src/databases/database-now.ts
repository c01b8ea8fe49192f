import type { ProjectView } from '@stackquay/contract'
import type { Context } from '../context.ts'

/** A database as it is after a change was waited for: a version is answered as the new one only when the data is of it. */
export async function databaseNow(
  context: Context,
  { id }: Pick<ProjectView, 'id'>,
  db: string,
): Promise<ProjectView['databases'][string] | undefined> {
  const client = await context.client()
  const { databases } = await client.call('getProject', { params: { id } }, { signal: context.signal })
  return databases[db]
}
