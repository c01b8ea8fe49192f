import type { BackupScheduleView, ScheduledCopy } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { fields } from '../output/table.ts'
import { ago } from '../output/time.ts'

export function scheduleText(schedule: BackupScheduleView, { style, world }: Context): string {
  const { last, daily, weekly, monthly } = schedule.keep
  const rows: [string, string][] = [
    ['When', `${plainText(schedule.cron)} (${plainText(schedule.timezone)})`],
    ['Next', schedule.nextAt ?? 'never'],
    ['Last', schedule.lastBackupAt === null ? 'none yet' : ago(schedule.lastBackupAt, world.now())],
    ['Keeps', `the newest ${last}, and one for each of ${daily} days, ${weekly} weeks and ${monthly} months`],
    ['Verifies', { always: 'every backup', weekly: 'one a week', never: 'none' }[schedule.verify]],
  ]
  if (schedule.dueAt !== null) rows.push(['Waiting', `the one of ${schedule.dueAt}`])
  if (schedule.late) rows.push(['Late', style.colors.yellow('half a period passed since one was due, or a copy of it')])
  if (schedule.problem !== null) rows.push(['Problem', style.colors.red(plainText(schedule.problem))])
  for (const copy of schedule.copies) rows.push(['Copy', copyText(copy, world.now())])
  return fields(rows, style)
}

function copyText({ name, state, at, late, problem }: ScheduledCopy, now: number): string {
  return [
    `${plainText(name)}: ${state === null || at === null ? 'none of the newest' : `${state}, ${ago(at, now)}`}`,
    ...(late ? ['late'] : []),
    ...(problem === null ? [] : [plainText(problem)]),
  ].join(', ')
}
