import type {
  Backup,
  BackupScheduleSettings,
  BackupScheduleView,
  CallInput,
  InstanceBackupScheduleState,
  OperationRecord,
  Plan,
  ProjectView,
} from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { holdOperation, holdProject } from './cache.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

/** Keys: `['backups', <project or null>]`; the event `backup.changed` and the end of an operation have them read again. */

export function backupsQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ['backups', project],
    queryFn: ({ signal, pageParam }) =>
      client.call('listBackups', { params: { id: project }, query: page(pageParam) }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  })
}

export const allBackupsQuery = infiniteQueryOptions({
  queryKey: ['backups', null],
  queryFn: ({ signal, pageParam }) => client.call('listAllBackups', { query: page(pageParam) }, { signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.nextCursor,
})

/** Null: of the instance itself, of which nothing is verified. */
export function backupScheduleQuery(project: string | null) {
  return queryOptions({
    queryKey: ['backups', project, 'schedule'],
    queryFn: async ({ signal }): Promise<{ schedule: BackupScheduleView | null }> =>
      project === null
        ? shownAs(await client.call('getInstanceBackupSchedule', {}, { signal }))
        : client.call('getBackupSchedule', { params: { id: project } }, { signal }),
  })
}

export async function putBackupSchedule(project: string | null, body: BackupScheduleSettings): Promise<void> {
  const { verify, ...settings } = body
  const state =
    project === null
      ? shownAs(await client.call('putInstanceBackupSchedule', { body: settings }))
      : await client.call('putBackupSchedule', { params: { id: project }, body: { ...settings, verify } })
  queryClient.setQueryData(backupScheduleQuery(project).queryKey, state)
}

export async function clearBackupSchedule(project: string | null): Promise<void> {
  if (project === null) await client.call('deleteInstanceBackupSchedule', {})
  else await client.call('deleteBackupSchedule', { params: { id: project } })
  queryClient.setQueryData(backupScheduleQuery(project).queryKey, { schedule: null })
}

function shownAs({ schedule }: InstanceBackupScheduleState): { schedule: BackupScheduleView | null } {
  return { schedule: schedule === null ? null : { ...schedule, verify: 'never' } }
}

export type BackupBody = NonNullable<CallInput<'createBackup'>['body']>
export type RestoreBody = CallInput<'restoreBackup'>['body']
export type RestoreAsBody = CallInput<'restoreBackupAs'>['body']

export function planBackup(project: string, body: BackupBody, signal: AbortSignal): Promise<Plan> {
  return client.plan('createBackup', { params: { id: project }, body }, { signal })
}

/** Without `wait` the answer is the operation. */
export async function createBackup(project: string, body: BackupBody): Promise<OperationRecord> {
  return held(await client.call('createBackup', { params: { id: project }, body }))
}

export async function verifyBackup({ id, project }: Backup): Promise<OperationRecord> {
  return held(await client.call('verifyBackup', { params: { id: project.id, backup: id } }))
}

export function planRestore(
  project: ProjectView,
  backup: string,
  body: RestoreBody,
  signal: AbortSignal,
): Promise<Plan> {
  const input = { params: { id: project.id, backup }, body }
  return client.plan('restoreBackup', input, { signal, ifMatch: etagOf(project) })
}

export async function restoreBackup(project: ProjectView, backup: string, body: RestoreBody): Promise<OperationRecord> {
  const input = { params: { id: project.id, backup }, body }
  return held(await client.call('restoreBackup', input, { ifMatch: etagOf(project) }))
}

export function planRestoreAs(backup: string, body: RestoreAsBody, signal: AbortSignal): Promise<Plan> {
  return client.plan('restoreBackupAs', { params: { backup }, body }, { signal })
}

export async function restoreBackupAs(backup: string, body: RestoreAsBody): Promise<ProjectView> {
  const project = (await client.call('restoreBackupAs', { params: { backup }, body })) as unknown as ProjectView
  holdProject(project)
  return project
}

/** Through its project where that is there: a person may be limited to projects. */
export async function deleteBackup({ id, project }: Backup): Promise<void> {
  if (project.deleted) await client.call('deleteAnyBackup', { params: { backup: id } })
  else await client.call('deleteBackup', { params: { id: project.id, backup: id } })
  await readBackupsAgain()
}

/** The browser reads the file while it sends it. */
export async function uploadBackup(file: File): Promise<Backup> {
  const blob = file.slice(0, file.size, 'application/x-tar')
  const { data } = await client.request({ method: 'POST', path: '/backups/upload', blob })
  await readBackupsAgain()
  return data as Backup
}

/** Below `/api/v1`. */
export function downloadPath({ id, project }: Backup): string {
  return project.deleted ? `/backups/${id}/download` : `/projects/${project.id}/backups/${id}/download`
}

export function readBackupsAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ['backups'] })
}

/** The plan is of this generation; when another came, the service refuses. */
function etagOf({ generation }: ProjectView): string {
  return `"${generation}"`
}

function page(cursor: string | null) {
  return cursor === null ? { limit: 50 } : { limit: 50, cursor }
}

function held(answer: unknown): OperationRecord {
  const operation = answer as OperationRecord
  holdOperation(operation)
  return operation
}
