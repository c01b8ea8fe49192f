import { ApiError } from '@stackquay/client'
import type { InstanceBackup } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

export const instanceBackupsQuery = queryOptions({
  queryKey: ['instance-backups'],
  queryFn: async ({ signal }) => (await client.call('listInstanceBackups', {}, { signal })).items,
})

export async function createInstanceBackup(): Promise<InstanceBackup> {
  const made = await client.call('createInstanceBackup', {})
  await readAgain()
  return made
}

export async function deleteInstanceBackup({ id }: InstanceBackup): Promise<void> {
  await client.call('deleteInstanceBackup', { params: { backup: id } })
  await readAgain()
}

/** The browser reads the file while it sends it. */
export async function uploadInstanceBackup(file: File): Promise<void> {
  const blob = file.slice(0, file.size, 'application/x-tar')
  await client.request({ method: 'POST', path: '/instance/backups/upload', blob })
  await readAgain()
}

/** Ends when the service has opened again: it knows this session no more then. */
export async function restoreInstanceBackup({ id }: InstanceBackup): Promise<void> {
  await client.call('restoreInstanceBackup', { params: { backup: id }, body: { confirm: id } })
  const deadline = Date.now() + openingMs
  while (Date.now() < deadline) {
    const isOpen = await client.call('listInstanceBackups', {}).then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 401,
    )
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

const openingMs = 120_000

/** Below `/api/v1`. */
export function instanceDownloadPath({ id }: InstanceBackup): string {
  return `/instance/backups/${id}/download`
}

function readAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: instanceBackupsQuery.queryKey })
}
