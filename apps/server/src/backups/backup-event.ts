import type { Manifest } from '@stackquay/archive'

/** What pages and scripts hear of a backup. It is of its project, also when that is gone. */
export function backupEvent(
  type: 'backup.created' | 'backup.deleted' | 'backup.verified' | 'backup.restored' | 'backup.copied',
  { id, project }: Pick<Manifest, 'id' | 'project'>,
) {
  return { type, project: project.id, data: { id, project: project.id } } as const
}

/** Of a project's schedule: it was set, changed or cleared; a backup of it is late. */
export function scheduleEvent(type: 'backup.scheduled' | 'backup.late', project: string) {
  return { type, project, data: { project } } as const
}
