import { ApiError } from '@stackquay/client'
import type { GitDeployKey, GitPullManner, OperationRecord, Plan, Problem } from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

/** Keys: `['git', <project>, …]`; the end of an operation has them read again. */

export function gitQuery(project: string) {
  return queryOptions({
    queryKey: ['git', project],
    queryFn: ({ signal }) => client.call('getGit', { params: { id: project } }, { signal }),
  })
}

export function gitDiffQuery(project: string, path: string, staged: boolean) {
  return queryOptions({
    queryKey: ['git', project, 'diff', path, staged],
    queryFn: ({ signal }) => {
      const query = { path, ...(staged ? { staged: 'true' as const } : {}) }
      return client.call('getGitDiff', { params: { id: project }, query }, { signal })
    },
  })
}

export function gitLogQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ['git', project, 'log'],
    queryFn: ({ signal, pageParam }) => {
      const query = { limit: 20, ...(pageParam === null ? {} : { cursor: pageParam }) }
      return client.call('getGitLog', { params: { id: project }, query }, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  })
}

export function gitBranchesQuery(project: string) {
  return queryOptions({
    queryKey: ['git', project, 'branches'],
    queryFn: ({ signal }) => client.call('listGitBranches', { params: { id: project } }, { signal }),
  })
}

export type GitRequest =
  | { readonly act: 'fetchGit' }
  | { readonly act: 'pullGit'; readonly body: { manner: GitPullManner } }
  | { readonly act: 'checkoutGit'; readonly body: { branch: string; create?: boolean } }
  | { readonly act: 'commitGit'; readonly body: { message: string; paths?: string[] } }
  | { readonly act: 'pushGit'; readonly body: { force?: boolean } }
  | { readonly act: 'discardGit'; readonly body: { paths: string[] } }

/** Answers its last word; null when it goes on. Throws why it failed. */
export async function actOnGit(project: string, request: GitRequest): Promise<string | null> {
  const { act, ...rest } = request
  const input = { params: { id: project }, query: { wait: 30 }, ...rest }
  const operation = (await client.call(act, input as never)) as OperationRecord
  holdOperation(operation)
  if (operation.error !== null) throw new ApiError(operation.error as Problem)
  await readGitAgain()
  return operation.state === 'succeeded' ? (operation.steps[0]?.output.at(-1) ?? '') : null
}

export function planPull(project: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('pullGit', { params: { id: project } }, { signal })
}

export async function putRemote(
  project: string,
  body: { url: string; username?: string; token?: string | null },
): Promise<void> {
  const state = await client.call('putGit', { params: { id: project }, body })
  queryClient.setQueryData(gitQuery(project).queryKey, state)
}

export async function makeDeployKey(project: string): Promise<GitDeployKey> {
  const key = await client.call('createGitDeployKey', { params: { id: project } })
  await readGitAgain()
  return key
}

export function readGitAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ['git'] })
}
