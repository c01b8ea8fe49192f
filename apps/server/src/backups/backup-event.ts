/** What pages and scripts hear of a backup. It is of its project, also when that is gone; null: of the instance itself. */
export function backupEvent(
  type: 'backup.created' | 'backup.deleted' | 'backup.verified' | 'backup.restored' | 'backup.copied',
  { id, project }: { readonly id: string; readonly project: { readonly id: string } | null },
) {
  return { type, project: project?.id ?? null, data: { id, project: project?.id ?? null } } as const
}

/** Of the schedule of a project or of the instance: it was set, changed or cleared; a backup of it is late. */
export function scheduleEvent(type: 'backup.scheduled' | 'backup.late', project: string | null) {
  return { type, project, data: { project } } as const
}
