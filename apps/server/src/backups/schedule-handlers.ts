import { isDeepStrictEqual } from 'node:util'
import { ProblemError } from '@stackquay/contract'
import { type BackupSchedule, scheduleBlocker, withSettings } from '@stackquay/domain'
import type { ProjectRow, Store, Transaction } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { scheduleEvent } from './backup-event.ts'
import { type ScheduleViewDeps, scheduleView, settingsOf } from './schedule-view.ts'

type ScheduleHandlers = Pick<Handlers, 'getBackupSchedule' | 'putBackupSchedule' | 'deleteBackupSchedule'>

export function scheduleHandlers(deps: ScheduleViewDeps, { find }: Pick<ProjectAnswers, 'find'>): ScheduleHandlers {
  const { store, now } = deps
  const answer = async ({ id }: ProjectRow, schedule: BackupSchedule | null) => ({
    status: 200,
    body: { schedule: schedule === null ? null : await scheduleView(id, schedule, deps) },
  })

  return {
    getBackupSchedule: async ({ params }) => {
      const row = await find(params.id)
      return answer(row, await store.backupSchedules.of(row.id))
    },

    putBackupSchedule: async ({ params, body }, context) => {
      const row = await find(params.id)
      refuseNever(body, now())
      const schedule = await store.transaction(async (tx) => {
        const before = await store.backupSchedules.of(row.id)
        await refuseTargets(body.targets, before, context, store)
        const after = withSettings(before, body, now())
        if (before !== null && isDeepStrictEqual(before, after)) return before
        await tx.backupSchedules.put(row.id, after)
        await record(tx, row, { before, after }, context)
        return after
      })
      return answer(row, schedule)
    },

    deleteBackupSchedule: async ({ params }, context) => {
      const row = await find(params.id)
      await store.transaction(async (tx) => {
        const before = await store.backupSchedules.of(row.id)
        if (before === null) return
        await tx.backupSchedules.delete(row.id)
        await record(tx, row, { before, after: null }, context)
      })
      return { status: 204 }
    },
  }
}

function refuseNever(times: Pick<BackupSchedule, 'cron' | 'timezone'>, now: Date): void {
  const blocker = scheduleBlocker(times, now)
  if (blocker === null) return
  const errors = [{ pointer: `/${blocker.field}`, code: 'invalid_schedule', detail: blocker.detail }]
  throw new ProblemError('validation_failed', blocker.detail, { errors })
}

/**
 * Targets that are not there, and new ones of a token that may not copy to them by hand either. Inside the transaction, so that none
 * goes meanwhile.
 */
async function refuseTargets(
  ids: readonly string[],
  before: BackupSchedule | null,
  { principal }: Pick<RequestContext, 'principal'>,
  { backupTargets }: Pick<Store, 'backupTargets'>,
): Promise<void> {
  const isNew = (id: string) => before?.targets.some(({ target }) => target === id) !== true
  if (principal.kind === 'token' && principal.projects.length > 0 && ids.some(isNew))
    throw new ProblemError(
      'token_restricted',
      'The token is restricted to projects, and targets are of the whole instance.',
    )
  const there = (await backupTargets.all()).map(({ id }) => id)
  const errors = ids.flatMap((id, at) =>
    there.includes(id)
      ? []
      : [{ pointer: `/targets/${at}`, code: 'unknown_target', detail: `There is no backup target "${id}".` }],
  )
  if (errors[0] !== undefined) throw new ProblemError('validation_failed', errors[0].detail, { errors })
}

async function record(
  tx: Transaction,
  { id, slug }: ProjectRow,
  { before, after }: { readonly before: BackupSchedule | null; readonly after: BackupSchedule | null },
  context: Pick<RequestContext, 'audit'>,
): Promise<void> {
  const shown = (schedule: BackupSchedule | null) => (schedule === null ? null : settingsOf(schedule))
  const changes = { before: shown(before), after: shown(after) }
  await tx.audit.append(context.audit({ action: 'backup.schedule', target: slug, project: id, changes }))
  await tx.events.append(scheduleEvent('backup.scheduled', id))
}
