import type { Operation } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

/** Of its projects events tell; of what the remote has, none does. */
const everyMs = 10_000

export function environmentsQuery(project: string) {
  return queryOptions({
    queryKey: ['git', project, 'environments'],
    queryFn: ({ signal }) => client.call('listBranches', { params: { id: project } }, { signal }),
    refetchInterval: everyMs,
  })
}

export async function makeEnvironment(
  project: string,
  body: { branch: string; create?: boolean; head?: string },
): Promise<Pick<Operation, 'id'>> {
  const { operation } = await client.call('createBranch', { params: { id: project }, body })
  await queryClient.invalidateQueries({ queryKey: environmentsQuery(project).queryKey })
  return operation
}

export async function deleteEnvironment(project: string, branch: string): Promise<void> {
  await client.call('deleteBranch', { params: { id: project, branch }, query: { confirm: branch } })
  await queryClient.invalidateQueries({ queryKey: environmentsQuery(project).queryKey })
}
