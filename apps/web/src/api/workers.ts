import type { ProjectPatch, Run } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { updateProject } from './changes.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'
import { readRunsAgain, runQuery } from './runs.ts'

/** Keys: `['project', <id>, 'workers' | 'cron']`; with the project they are read again, for its source suggests some. */

export function workersQuery(project: string) {
  return queryOptions({
    queryKey: ['project', project, 'workers'],
    queryFn: ({ signal }) => client.call('listWorkers', { params: { id: project } }, { signal }),
    staleTime: 0,
  })
}

export function cronQuery(project: string) {
  return queryOptions({
    queryKey: ['project', project, 'cron'],
    queryFn: ({ signal }) => client.call('listCronJobs', { params: { id: project } }, { signal }),
    staleTime: 0,
  })
}

/** The next times of a schedule that is being written; what is wrong with it is the error. */
export function cronPreviewQuery(schedule: string, timezone: string) {
  return queryOptions({
    queryKey: ['cron-preview', schedule, timezone],
    queryFn: async ({ signal }) =>
      (await client.call('previewCron', { body: { schedule, timezone } }, { signal })).times,
    retry: false,
  })
}

/** A change of workers or cron jobs; both lists are read again. */
export async function changeWork(project: string, patch: Pick<ProjectPatch, 'workers' | 'cron'>): Promise<void> {
  await updateProject(project, patch)
  await readWorkAgain(project)
}

export async function readWorkAgain(project: string): Promise<void> {
  await Promise.all(
    ['workers', 'cron'].map((part) => queryClient.invalidateQueries({ queryKey: ['project', project, part] })),
  )
}

export async function runCronJob(project: string, name: string): Promise<Run> {
  const input = { params: { id: project, name } }
  // A lost answer must not run it twice.
  const run = await client.call('runCronJob', input, { idempotencyKey: crypto.randomUUID() })
  queryClient.setQueryData(runQuery(project, run.id).queryKey, run)
  void readRunsAgain(project)
  return run
}
