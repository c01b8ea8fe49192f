import { ApiError } from '@stackquay/client'
import type { GitWebhook, OperationRecord, Plan, Problem } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'
import { readGitAgain } from './git.ts'
import { queryClient } from './query-client.ts'

/** While something may come from outside, of which no event tells. */
const everyMs = 10_000

export function webhookQuery(project: string) {
  return queryOptions({
    queryKey: ['git', project, 'webhook'],
    queryFn: ({ signal }) => client.call('getGitWebhook', { params: { id: project } }, { signal }),
    refetchInterval: everyMs,
  })
}

export function deploysQuery(project: string) {
  return queryOptions({
    queryKey: ['git', project, 'deploys'],
    queryFn: ({ signal }) => client.call('listDeploys', { params: { id: project }, query: { limit: 10 } }, { signal }),
    refetchInterval: everyMs,
  })
}

/** Answers the secret when one was made: nobody can ask for it again. */
export async function putWebhook(
  project: string,
  body: Partial<Pick<GitWebhook, 'enabled' | 'branch' | 'manner' | 'rollback' | 'watch'>> & { newSecret?: boolean },
): Promise<string | null> {
  const { secret = null, ...webhook } = await client.call('putGitWebhook', { params: { id: project }, body })
  queryClient.setQueryData(webhookQuery(project).queryKey, webhook)
  return secret
}

export async function deployNow(project: string): Promise<void> {
  await begun(await client.call('createDeploy', { params: { id: project } }))
}

export function planRollback(project: string, deploy: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('rollbackDeploy', { params: { id: project }, body: { deploy } }, { signal })
}

export async function rollBack(project: string, deploy: string): Promise<void> {
  await begun(await client.call('rollbackDeploy', { params: { id: project }, body: { deploy } }))
}

async function begun(operation: OperationRecord): Promise<void> {
  holdOperation(operation)
  if (operation.error !== null) throw new ApiError(operation.error as Problem)
  await readGitAgain()
}
