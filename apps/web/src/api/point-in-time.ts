import type { OperationRecord, Plan } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'

/** Below the key of backups: the end of an operation has it read again. */
export function pointInTimeQuery(project: string, db: string) {
  return queryOptions({
    queryKey: ['backups', project, 'point-in-time', db],
    queryFn: ({ signal }) => client.call('getPointInTime', { params: { id: project, db } }, { signal }),
    // A dialog shows what is there when it is opened.
    staleTime: 0,
  })
}

export interface RestoreToBody {
  /** RFC 3339 with its zone. */
  readonly to: string
  readonly name: string
}

export function planRestoreTo(project: string, db: string, body: RestoreToBody, signal: AbortSignal): Promise<Plan> {
  return client.plan('restoreDatabaseTo', { params: { id: project, db }, body }, { signal })
}

/** Without `wait` the answer is the operation. */
export async function restoreTo(project: string, db: string, body: RestoreToBody): Promise<OperationRecord> {
  const operation = await client.call('restoreDatabaseTo', { params: { id: project, db }, body })
  holdOperation(operation as OperationRecord)
  return operation as OperationRecord
}
