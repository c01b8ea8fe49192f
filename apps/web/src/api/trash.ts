import type { TrashItem } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { holdProject } from './cache.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

export const trashQuery = queryOptions({
  queryKey: ['trash'],
  queryFn: ({ signal }) => client.call('listTrash', {}, { signal }),
})

export interface RestoreOptions {
  readonly slug?: string
  readonly leaveOutHosts?: boolean
}

/** Answers the slug of the project that has it again. */
export async function restoreTrash({ id }: TrashItem, body: RestoreOptions): Promise<string> {
  const project = await client.call('restoreTrash', { params: { item: id }, body })
  holdProject(project)
  await readAgain()
  return project.slug
}

export async function purgeTrash({ id }: TrashItem, confirm: string): Promise<void> {
  await client.call('purgeTrash', { params: { item: id }, query: { confirm } })
  await readAgain()
}

function readAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: trashQuery.queryKey })
}
