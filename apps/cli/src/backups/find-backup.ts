import type { Backup } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'

/** Which backup a command is about. Without a project it is looked for among all, those of deleted projects too. */
export interface BackupRef {
  readonly project: string | null
  readonly backup: string
}

export const backupArguments = {
  project: 'id or slug; without it the project of this folder',
  backup:
    'id, or "latest" (default). An id alone is looked for in all projects, deleted ones too, which takes scope admin',
} as const

/** `shop bak_…`, `shop latest`, `shop`, nothing (the newest of the project of this folder), or `bak_…` alone. */
export async function backupRef(
  context: Context,
  first: string | undefined,
  second: string | undefined,
): Promise<BackupRef> {
  if (first !== undefined && second === undefined && isId(first)) return { project: null, backup: first }
  const project = await projectRef(context, first)
  const wanted = second ?? 'latest'
  if (isId(wanted)) return { project, backup: wanted }
  if (wanted !== 'latest') throw usageError(`"${wanted}" is not a backup.`, `See: stq backup list ${project}`)
  const client = await context.client()
  const { items } = await client.call(
    'listBackups',
    { params: { id: project }, query: { limit: 1 } },
    { signal: context.signal },
  )
  if (items[0] !== undefined) return { project, backup: items[0].id }
  const hint = `Make one with: stq backup create ${project}`
  throw new CliError(`${project} has no backup.`, { exitCode: exitCodes.notFound, hint })
}

export async function readBackup(context: Context, { project, backup }: BackupRef): Promise<Backup> {
  const client = await context.client()
  const { signal } = context
  return project === null
    ? client.call('getAnyBackup', { params: { backup } }, { signal })
    : client.call('getBackup', { params: { id: project, backup } }, { signal })
}

/** Below `/api/v1`. */
export function backupPath({ project, backup }: BackupRef): string {
  const end = `backups/${encodeURIComponent(backup)}`
  return project === null ? `/${end}` : `/projects/${encodeURIComponent(project)}/${end}`
}

function isId(text: string): boolean {
  return /^bak_[a-z0-9]+$/.test(text)
}

/** A backup of the instance itself. */
export function isOfInstance(backup: string): boolean {
  return /^ibk_[a-z0-9]+$/.test(backup)
}
