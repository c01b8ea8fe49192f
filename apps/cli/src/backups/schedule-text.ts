import type { BackupScheduleView, ScheduledCopy } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { fields } from '../output/table.ts'
import { ago } from '../output/time.ts'

/** Of a project, or of the instance, of which nothing is verified. */
export function scheduleText(
  schedule: Omit<BackupScheduleView, 'verify'> & Partial<Pick<BackupScheduleView, 'verify'>>,
  { style, world }: Context,
): string {
  const { keepOnTargets, verify } = schedule
  const rows: [string, string][] = [
    ['When', `${plainText(schedule.cron)} (${plainText(schedule.timezone)})`],
    ['Next', schedule.nextAt ?? 'never'],
    ['Last', schedule.lastBackupAt === null ? 'none yet' : ago(schedule.lastBackupAt, world.now())],
    ['Keeps', keptText(schedule.keep)],
  ]
  if (verify !== undefined)
    rows.push(['Verifies', { always: 'every backup', weekly: 'one a week', never: 'none' }[verify]])
  if (schedule.copies.length > 0)
    rows.push(['On targets', keepOnTargets === null ? 'all copies stay' : keptText(keepOnTargets)])
  if (schedule.dueAt !== null) rows.push(['Waiting', `the one of ${schedule.dueAt}`])
  if (schedule.late) rows.push(['Late', style.colors.yellow('half a period passed since one was due, or a copy of it')])
  if (schedule.problem !== null) rows.push(['Problem', style.colors.red(plainText(schedule.problem))])
  for (const copy of schedule.copies) rows.push(['Copy', copyText(copy, world.now())])
  return fields(rows, style)
}

function keptText({ last, daily, weekly, monthly }: BackupScheduleView['keep']): string {
  return `the newest ${last}, and one for each of ${daily} days, ${weekly} weeks and ${monthly} months`
}

function copyText({ name, state, at, late, problem, keepProblem }: ScheduledCopy, now: number): string {
  return [
    `${plainText(name)}: ${state === null || at === null ? 'none of the newest' : `${state}, ${ago(at, now)}`}`,
    ...(late ? ['late'] : []),
    ...(problem === null ? [] : [plainText(problem)]),
    ...(keepProblem === null ? [] : [`old copies stay: ${plainText(keepProblem)}`]),
  ].join(', ')
}
