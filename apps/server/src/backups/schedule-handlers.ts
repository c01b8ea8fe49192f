import { isDeepStrictEqual } from 'node:util'
import { type BackupScheduleSettings, type BackupScheduleView, ProblemError } from '@stackquay/contract'
import { type BackupSchedule, scheduleBlocker, withSettings } from '@stackquay/domain'
import type { Store, Transaction } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { scheduleEvent } from './backup-event.ts'
import { type ScheduleViewDeps, scheduleView, settingsOf } from './schedule-view.ts'
import { actOn, type Subject } from './scheduled-subject.ts'

type ScheduleHandlers = Pick<
  Handlers,
  | 'getBackupSchedule'
  | 'putBackupSchedule'
  | 'deleteBackupSchedule'
  | 'getInstanceBackupSchedule'
  | 'putInstanceBackupSchedule'
  | 'deleteInstanceBackupSchedule'
>

/** Of projects, and of the instance itself: a subject that is null. */
export function scheduleHandlers(deps: ScheduleViewDeps, { find }: Pick<ProjectAnswers, 'find'>): ScheduleHandlers {
  return {
    getBackupSchedule: async ({ params }) => ({
      status: 200,
      body: { schedule: await read(await find(params.id), deps) },
    }),
    putBackupSchedule: async ({ params, body }, context) => {
      const row = await find(params.id)
      return { status: 200, body: { schedule: await put(row, body, context, deps) } }
    },
    deleteBackupSchedule: async ({ params }, context) => clear(await find(params.id), context, deps),

    getInstanceBackupSchedule: async () => ({ status: 200, body: { schedule: ofInstance(await read(null, deps)) } }),
    putInstanceBackupSchedule: async ({ body }, context) => {
      const schedule = await put(null, { ...body, verify: 'never' }, context, deps)
      return { status: 200, body: { schedule: ofInstance(schedule) } }
    },
    deleteInstanceBackupSchedule: (_, context) => clear(null, context, deps),
  }
}

async function read(subject: Subject, deps: ScheduleViewDeps): Promise<BackupScheduleView | null> {
  const project = subject?.id ?? null
  const schedule = await deps.store.backupSchedules.of(project)
  return schedule === null ? null : scheduleView(project, schedule, deps)
}

async function put(
  subject: Subject,
  settings: BackupScheduleSettings,
  context: RequestContext,
  deps: ScheduleViewDeps,
): Promise<BackupScheduleView> {
  const { store, now } = deps
  const project = subject?.id ?? null
  refuseNever(settings, now())
  const schedule = await store.transaction(async (tx) => {
    const before = await store.backupSchedules.of(project)
    refuseRestricted(settings, before, context)
    await refuseTargets(settings.targets, store)
    const after = withSettings(before, settings, now())
    if (before !== null && isDeepStrictEqual(before, after)) return before
    await tx.backupSchedules.put(project, after)
    await record(tx, subject, { before, after }, context)
    return after
  })
  return scheduleView(project, schedule, deps)
}

async function clear(subject: Subject, context: RequestContext, { store }: ScheduleViewDeps) {
  const project = subject?.id ?? null
  await store.transaction(async (tx) => {
    const before = await store.backupSchedules.of(project)
    if (before === null) return
    await tx.backupSchedules.delete(project)
    await record(tx, subject, { before, after: null }, context)
  })
  return { status: 204 } as const
}

/** No drill looks at a backup of the instance. */
function ofInstance(schedule: BackupScheduleView | null): Omit<BackupScheduleView, 'verify'> | null {
  if (schedule === null) return null
  const { verify: _, ...shown } = schedule
  return shown
}

function refuseNever(times: Pick<BackupSchedule, 'cron' | 'timezone'>, now: Date): void {
  const blocker = scheduleBlocker(times, now)
  if (blocker === null) return
  const errors = [{ pointer: `/${blocker.field}`, code: 'invalid_schedule', detail: blocker.detail }]
  throw new ProblemError('validation_failed', blocker.detail, { errors })
}

/**
 * A token that may neither copy to targets nor delete there by hand names no new ones, and does not change what goes from them: the numbers, and
 * the times, which would use the numbers up.
 */
function refuseRestricted(
  { targets, keepOnTargets, cron, timezone }: BackupScheduleSettings,
  before: BackupSchedule | null,
  { principal }: Pick<RequestContext, 'principal'>,
): void {
  if (principal.kind !== 'token' || principal.projects.length === 0) return
  const isNew = (id: string) => before?.targets.some(({ target }) => target === id) !== true
  const kept = before?.keepOnTargets ?? null
  const isTimed = kept === null || (before?.cron === cron && before.timezone === timezone)
  if (isTimed && isDeepStrictEqual(kept, keepOnTargets) && !targets.some(isNew)) return
  throw new ProblemError(
    'token_restricted',
    'The token is restricted to projects, and targets are of the whole instance.',
  )
}

/** Targets that are not there. Inside the transaction, so that none goes meanwhile. */
async function refuseTargets(ids: readonly string[], { backupTargets }: Pick<Store, 'backupTargets'>): Promise<void> {
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
  subject: Subject,
  { before, after }: { readonly before: BackupSchedule | null; readonly after: BackupSchedule | null },
  context: Pick<RequestContext, 'audit'>,
): Promise<void> {
  const shown = (schedule: BackupSchedule | null) => (schedule === null ? null : settingsOf(schedule))
  const changes = { before: shown(before), after: shown(after) }
  await tx.audit.append(context.audit({ ...actOn(subject, 'schedule'), changes }))
  await tx.events.append(scheduleEvent('backup.scheduled', subject?.id ?? null))
}
