import type { OperationRecord, Plan, ProjectView, Snapshot } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { readBackupsAgain } from './backups.ts'
import { holdOperation } from './cache.ts'
import { client } from './client.ts'

/** Below the key of backups: the end of an operation has them read again. */
export function snapshotsQuery(project: string, db: string) {
  return queryOptions({
    queryKey: ['backups', project, 'snapshots', db],
    queryFn: ({ signal }) => client.call('listSnapshots', { params: { id: project, db } }, { signal }),
  })
}

export function planSnapshot(project: string, db: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('createSnapshot', { params: { id: project, db }, body: {} }, { signal })
}

/** The snapshot when it is there soon; else the operation that makes it, or why it failed. */
export async function createSnapshot(
  project: string,
  db: string,
  name: string,
): Promise<{ readonly snapshot: Snapshot } | { readonly operation: OperationRecord }> {
  const input = { params: { id: project, db }, body: name === '' ? {} : { name }, query: { wait: 20 } }
  const made = await client.call('createSnapshot', input)
  if (isOperation(made)) return { operation: held(made) }
  await readBackupsAgain()
  return { snapshot: made }
}

export function planRestoreSnapshot(
  project: ProjectView,
  db: string,
  snapshot: string,
  signal: AbortSignal,
): Promise<Plan> {
  const input = { params: { id: project.id, db, snapshot }, body: { confirm: db } }
  return client.plan('restoreSnapshot', input, { signal, ifMatch: etagOf(project) })
}

export async function restoreSnapshot(
  project: ProjectView,
  db: string,
  snapshot: string,
  confirm: string,
): Promise<OperationRecord> {
  const input = { params: { id: project.id, db, snapshot }, body: { confirm } }
  return held(await client.call('restoreSnapshot', input, { ifMatch: etagOf(project) }))
}

export async function deleteSnapshot(project: string, db: string, snapshot: string): Promise<void> {
  await client.call('deleteSnapshot', { params: { id: project, db, snapshot } })
  await readBackupsAgain()
}

export function planReset(project: ProjectView, db: string, signal: AbortSignal): Promise<Plan> {
  const input = { params: { id: project.id, db }, body: { confirm: db } }
  return client.plan('resetDatabase', input, { signal, ifMatch: etagOf(project) })
}

export async function resetDatabase(project: ProjectView, db: string, confirm: string): Promise<OperationRecord> {
  const input = { params: { id: project.id, db }, body: { confirm } }
  return held(await client.call('resetDatabase', input, { ifMatch: etagOf(project) }))
}

export function planPull(
  project: ProjectView,
  source: string,
  parts: readonly string[],
  signal: AbortSignal,
): Promise<Plan> {
  const input = { params: { id: project.id }, body: { source, parts: [...parts], confirm: project.slug } }
  return client.plan('pullProject', input, { signal, ifMatch: etagOf(project) })
}

export async function pullProject(
  project: ProjectView,
  source: string,
  parts: readonly string[],
  confirm: string,
): Promise<OperationRecord> {
  const input = { params: { id: project.id }, body: { source, parts: [...parts], confirm } }
  return held(await client.call('pullProject', input, { ifMatch: etagOf(project) }))
}

export interface CloneBody {
  readonly name: string
  readonly snapshot?: string
}

export function planClone(project: string, db: string, body: CloneBody, signal: AbortSignal): Promise<Plan> {
  return client.plan('cloneDatabase', { params: { id: project, db }, body }, { signal })
}

/** Without `wait` the answer is the operation. */
export async function cloneDatabase(project: string, db: string, body: CloneBody): Promise<OperationRecord> {
  return held((await client.call('cloneDatabase', { params: { id: project, db }, body })) as OperationRecord)
}

function held(operation: OperationRecord): OperationRecord {
  holdOperation(operation)
  return operation
}

function isOperation(made: OperationRecord | Snapshot): made is OperationRecord {
  return 'steps' in made
}

/** The plan is of this generation; when another came, the service refuses. */
function etagOf({ generation }: ProjectView): string {
  return `"${generation}"`
}
