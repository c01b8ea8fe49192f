import type { ProjectRow } from '@stackquay/store'

/** What a schedule backs up: a project, or null, the instance itself. */
export type Subject = Pick<ProjectRow, 'id' | 'slug'> | null

type Act = 'create' | 'verify' | 'copy' | 'copy.delete' | 'schedule' | 'late'

/** How the audit log names what is done for it. */
export function actOn(subject: Subject, act: Act, backup?: string) {
  if (subject === null) return { action: `instance.backup.${act}`, target: backup ?? null, project: null }
  const { id, slug } = subject
  return { action: `backup.${act}`, target: backup === undefined ? slug : `${slug}/${backup}`, project: id }
}
