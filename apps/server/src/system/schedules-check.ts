import type { DiagnosticCheck } from '@stackquay/contract'
import { isScheduleLate } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'
import { lastScheduledAt } from '../backups/scheduled-backups.ts'

export interface SchedulesCheckDeps {
  readonly store: Store
  readonly backups: Pick<Backups, 'known'>
  readonly now: () => Date
}

/** Whether backups come as their schedules say. Looked at here and not remembered: the scheduler itself may be what stands still. */
export async function schedulesCheck({ store, backups, now }: SchedulesCheckDeps): Promise<readonly DiagnosticCheck[]> {
  const schedules = await store.backupSchedules.all()
  if (schedules.size === 0) return []
  const slugs = new Map((await store.projects.all()).map(({ id, slug }) => [id, slug]))
  const late = [...schedules].flatMap(([project, schedule]) => {
    const last = lastScheduledAt(backups.known, project, now())
    return isScheduleLate(schedule, last, now()) ? [{ slug: slugs.get(project) ?? project, last }] : []
  })
  if (late.length === 0)
    return [check('ok', `Projects that are backed up by schedule: ${schedules.size}. None is late.`)]
  const texts = late.slice(0, 5).map(({ slug, last }) => `${slug} (${last === null ? 'none yet' : `last ${last}`})`)
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
