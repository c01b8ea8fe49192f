import type { DiagnosticCheck } from '@stackquay/contract'
import { latenessOf, pastBackups } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'
import { scheduledBackups } from '../backups/scheduled-backups.ts'

export interface SchedulesCheckDeps {
  readonly store: Store
  readonly backups: Pick<Backups, 'known' | 'copies'>
  readonly now: () => Date
}

/** Whether backups come as their schedules say. Looked at here and not remembered: the scheduler itself may be what stands still. */
export async function schedulesCheck({ store, backups, now }: SchedulesCheckDeps): Promise<readonly DiagnosticCheck[]> {
  const schedules = await store.backupSchedules.all()
  if (schedules.size === 0) return []
  const slugs = new Map((await store.projects.all()).map(({ id, slug }) => [id, slug]))
  const late = [...schedules].flatMap(([project, schedule]) => {
    const past = pastBackups(scheduledBackups(backups, project), now())
    const { any, backup, targets } = latenessOf(schedule, past, now())
    const last = past[0]?.createdAt
    const reasons = [
      ...(backup ? [last === undefined ? 'none yet' : `last ${last}`] : []),
      ...targets.map((id) => `no new copy on ${backups.copies.nameOf(id)}`),
    ]
    return any ? [{ slug: slugs.get(project) ?? project, reasons }] : []
  })
  if (late.length === 0)
    return [check('ok', `Projects that are backed up by schedule: ${schedules.size}. None is late.`)]
  const texts = late.slice(0, 5).map(({ slug, reasons }) => `${slug} (${reasons.join(', ')})`)
  const detail = `Late: ${texts.join(', ')}${late.length > 5 ? ' …' : ''}.`
  const hint = 'The schedule says why the last backup failed, or what the next one waits for.'
  return [check('warning', detail, hint, `stq backup schedule show ${late[0]?.slug}`)]
}

function check(
  status: DiagnosticCheck['status'],
  detail: string,
  hint: string | null = null,
  fix: string | null = null,
): DiagnosticCheck {
  return { id: 'backup-schedules', category: 'storage', title: 'Backup schedules', status, detail, hint, fix }
}
