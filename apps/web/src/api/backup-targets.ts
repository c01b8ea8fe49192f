import type { CallInput, OperationRecord } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { readBackupsAgain } from './backups.ts'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'

/** Keys: `['backup-targets', …]`; the event `backup-target.changed` has them read again. */

export const targetsQuery = queryOptions({
  queryKey: ['backup-targets'],
  queryFn: async ({ signal }) => (await client.call('listBackupTargets', {}, { signal })).items,
  staleTime: 0,
})

/** Asked of the target itself, so it takes as long as that does. */
export function targetBackupsQuery(target: string) {
  return queryOptions({
    queryKey: ['backup-targets', target, 'backups'],
    queryFn: ({ signal }) => client.call('listTargetBackups', { params: { target } }, { signal }),
    staleTime: 0,
    retry: false,
  })
}

export type TargetBody = CallInput<'createBackupTarget'>['body']

/** Of a project or of the instance. Without `wait` the answer is the operation. */
export async function copyBackup(id: string, target: string): Promise<OperationRecord> {
  const input = { params: { backup: id }, body: { target } }
  const operation = (await client.call(
    isOfInstance(id) ? 'copyInstanceBackup' : 'copyBackup',
    input,
  )) as OperationRecord
  holdOperation(operation)
  await readBackupsAgain()
  return operation
}

export async function fetchBackup(target: string, backup: string): Promise<OperationRecord> {
  const input = { params: { target }, body: { backup } }
  const id = isOfInstance(backup) ? 'fetchInstanceBackup' : 'fetchBackup'
  const operation = (await client.call(id, input)) as OperationRecord
  holdOperation(operation)
  return operation
}

export async function deleteTargetBackup(target: string, backup: string): Promise<OperationRecord> {
  const input = { params: { target, backup }, query: { confirm: backup } }
  const operation = (await client.call('deleteTargetBackup', input)) as OperationRecord
  holdOperation(operation)
  return operation
}

function isOfInstance(backup: string): boolean {
  return backup.startsWith('ibk_')
}
