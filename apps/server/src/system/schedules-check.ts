import type { DiagnosticCheck } from '@stackquay/contract'
import { type BackupSchedule, latenessOf, pastBackups } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import { type SeenBackups, scheduledBackups } from '../backups/scheduled-backups.ts'

export interface SchedulesCheckDeps {
  readonly store: Store
  readonly backups: SeenBackups
  readonly now: () => Date
}

/** Whether backups come as their schedules say. Looked at here and not remembered: the scheduler itself may be what stands still. */
export async function schedulesCheck(deps: SchedulesCheckDeps): Promise<readonly DiagnosticCheck[]> {
  const { store } = deps
  const schedules = await store.backupSchedules.all()
  const slugs = new Map<string | null, string>((await store.projects.all()).map(({ id, slug }) => [id, slug]))
  const seen = await Promise.all(
    [...schedules].map(async ([project, schedule]) => ({
      name: project === null ? 'the instance' : (slugs.get(project) ?? project),
      show: project === null ? 'stq instance backup schedule' : `stq backup schedule show ${slugs.get(project)}`,
      reasons: await whyLate(project, schedule, deps),
      keeps: schedule.targets.flatMap(({ target, keepProblem }) =>
        keepProblem === null ? [] : [deps.backups.copies.nameOf(target)],
      ),
    })),
  )
  return [
    ...(schedules.size === 0 ? [] : [checkOf(seen)]),
    ...keepCheck(seen),
    ...(schedules.get(null)?.targets.length === 0 ? [onThisMachine] : []),
    ...(schedules.has(null) || slugs.size === 0 ? [] : [noneOfInstance]),
  ]
}

interface Seen {
  readonly name: string
  readonly show: string
  /** Why it is late; empty when it is not. */
  readonly reasons: readonly string[]
  /** Names of targets that old copies could not be deleted on. */
  readonly keeps: readonly string[]
}

async function whyLate(
  project: string | null,
  schedule: BackupSchedule,
  { backups, now }: SchedulesCheckDeps,
): Promise<readonly string[]> {
  const past = pastBackups(await scheduledBackups(backups, project), now())
  const { backup, targets } = latenessOf(schedule, past, now())
  const last = past[0]?.createdAt
  const { nameOf } = backups.copies
  return [
    ...(backup ? [last === undefined ? 'none yet' : `last ${last}`] : []),
    ...targets.map((id) => `no new copy on ${nameOf(id)}`),
  ]
}

function checkOf(seen: readonly Seen[]): DiagnosticCheck {
  const late = seen.filter(({ reasons }) => reasons.length > 0)
  if (late.length === 0) return check('ok', `Backup schedules: ${seen.length}. None is late.`)
  const texts = late.slice(0, 5).map(({ name, reasons }) => `${name} (${reasons.join(', ')})`)
  const detail = `Late: ${texts.join(', ')}${late.length > 5 ? ' …' : ''}.`
  const hint = 'The schedule says why the last backup failed, or what the next one waits for.'
  return check('warning', detail, hint, late[0]?.show ?? null)
}

function keepCheck(seen: readonly Seen[]): readonly DiagnosticCheck[] {
  const kept = seen.filter(({ keeps }) => keeps.length > 0)
  if (kept.length === 0) return []
  const texts = kept.slice(0, 5).map(({ name, keeps }) => `${name} (${keeps.join(', ')})`)
  const detail = `Old copies could not be deleted: ${texts.join(', ')}${kept.length > 5 ? ' …' : ''}.`
  const hint = 'The schedule says why. Give the target the right to delete, or let all copies stay there.'
  return [check('warning', detail, hint, kept[0]?.show ?? null)]
}

const instanceCheck = { id: 'instance-backups', category: 'storage', title: 'Backups of the instance' } as const

/** Off until a person sets it: only they know a place for it that outlives the machine. */
const noneOfInstance: DiagnosticCheck = {
  ...instanceCheck,
  status: 'info',
  detail: 'No backups of the instance itself are made by schedule: its users, settings, secrets and audit log.',
  hint: 'Set a schedule with a backup target, and keep the secret key elsewhere.',
  fix: 'stq instance backup schedule set "15 2 * * *" --target <name>',
}

const onThisMachine: DiagnosticCheck = {
  ...instanceCheck,
  status: 'info',
  detail: 'Backups of the instance by schedule lie on this machine alone.',
  hint: 'Name a backup target in the schedule.',
  fix: null,
}

function check(
  status: DiagnosticCheck['status'],
  detail: string,
  hint: string | null = null,
  fix: string | null = null,
): DiagnosticCheck {
  return { id: 'backup-schedules', category: 'storage', title: 'Backup schedules', status, detail, hint, fix }
}
