import type { Backup, CallInput, OperationRecord } from '@stackquay/contract'
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

/** Without `wait` the answer is the operation. */
export async function copyBackup({ id }: Backup, target: string): Promise<OperationRecord> {
  const operation = (await client.call('copyBackup', {
    params: { backup: id },
    body: { target },
  })) as OperationRecord
  holdOperation(operation)
  await readBackupsAgain()
  return operation
}

export async function fetchBackup(target: string, backup: string): Promise<OperationRecord> {
  const operation = (await client.call('fetchBackup', { params: { target }, body: { backup } })) as OperationRecord
  holdOperation(operation)
  return operation
}
