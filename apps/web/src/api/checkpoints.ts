import type { Checkpoint, OperationRecord, Plan, ProjectView } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { readBackupsAgain } from './backups.ts'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'

/** Below the key of backups: the end of an operation has them read again. */
export function checkpointsQuery(project: string) {
  return queryOptions({
    queryKey: ['backups', project, 'checkpoints'],
    queryFn: ({ signal }) => client.call('listCheckpoints', { params: { id: project } }, { signal }),
  })
}

export interface CheckpointBody {
  readonly name?: string
  readonly includeRebuildable?: boolean
}

export function planCheckpoint(project: string, body: CheckpointBody, signal: AbortSignal): Promise<Plan> {
  return client.plan('createCheckpoint', { params: { id: project }, body }, { signal })
}

/** Without `wait` the answer is the operation. */
export async function createCheckpoint(project: string, body: CheckpointBody): Promise<OperationRecord> {
  return held((await client.call('createCheckpoint', { params: { id: project }, body })) as OperationRecord)
}

export interface RestoreBody {
  readonly confirm: string
  readonly leaveOutTaken: boolean
}

export function planRestoreCheckpoint(
  project: ProjectView,
  checkpoint: string,
  leaveOutTaken: boolean,
  signal: AbortSignal,
): Promise<Plan> {
  const input = { params: { id: project.id, checkpoint }, body: { confirm: project.slug, leaveOutTaken } }
  return client.plan('restoreCheckpoint', input, { signal, ifMatch: etagOf(project) })
}

export async function restoreCheckpoint(
  project: ProjectView,
  checkpoint: string,
  body: RestoreBody,
): Promise<OperationRecord> {
  const input = { params: { id: project.id, checkpoint }, body }
  return held(await client.call('restoreCheckpoint', input, { ifMatch: etagOf(project) }))
}

export async function deleteCheckpoint(project: string, { id: checkpoint }: Checkpoint): Promise<void> {
  await client.call('deleteCheckpoint', { params: { id: project, checkpoint } })
  await readBackupsAgain()
}

function held(operation: OperationRecord): OperationRecord {
  holdOperation(operation)
  return operation
}

/** The plan is of this generation; when another came, the service refuses. */
function etagOf({ generation }: ProjectView): string {
  return `"${generation}"`
}
