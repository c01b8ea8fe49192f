import { type FieldError, ProblemError } from '@stackquay/contract'
import {
  baseFor,
  databaseWorkload,
  type RestorableRange,
  type SnapshotSubject,
  snapshotSubject,
} from '@stackquay/domain'
import type { OperationRow, ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import { refuseTakenName } from '../snapshots/clone-handler.ts'
import { requireSnapshotData } from '../snapshots/find-snapshot.ts'
import { howText, howToCopy, requireRoomForCopies } from '../snapshots/how-to-copy.ts'
import { looking, planOfCopy } from '../snapshots/snapshot-handlers.ts'
import type { PointInTimeDeps } from './handlers.ts'
import { lookAtArchives, rangesOf, type SeenArchive } from './look-at-archives.ts'
import type { MomentInput } from './moment.ts'
import { requireKind } from './require-kind.ts'

export function restoreToHandler(
  deps: PointInTimeDeps,
  { find, wait, record }: ProjectAnswers,
): Pick<Handlers, 'restoreDatabaseTo'> {
  const { store, engine, now } = deps
  return {
    restoreDatabaseTo: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      requireKind(row, params.db)
      const subject = snapshotSubject(row.spec, params.db) as SnapshotSubject
      const moment = new Date(body.to)
      if (moment > now()) throw invalid('in_future', `${body.to} is in the future.`)
      await refuseTakenName(row, subject, body.name, deps, context.signal)
      const seen = await lookAtArchives(row, params.db, deps, context.signal)
      const { base, archive } = chosenFor(subject, seen, moment, body.to)
      const snapshot = await store.snapshots.find(row.id, base)
      if (snapshot === null) throw new ProblemError('conflict', 'The base of that moment was removed. Try again.')
      await requireSnapshotData(row, snapshot, engine, context.signal)
      const how = await howToCopy(row, base, deps, looking(query, context))
      await requireRoomForCopies(row.id, [how], 'The restored database', deps, context.signal)
      if (query.dryRun === true) {
        const data = databaseWorkload(subject.type, body.name)
        const step = (title: string, because: string[] = []) => ({ title, workload: data, because })
        const runs = row.desired === 'running'
        const steps = [
          step(`Play its changes back to ${body.to}`),
          step(`Add the database ${body.name}`),
          ...(runs ? [step('Start it')] : []),
        ]
        const because = [`its base backup is of ${snapshot.createdAt}`, howText(how)]
        const plan = planOfCopy(subject, { ...how, manner: 'rest' }, { steps, starts: runs ? [data] : [] })
        return { status: 200, body: { plan: { ...plan.plan, steps: withReasons(plan.plan.steps, because) } } }
      }
      const input = { subject, name: body.name, snapshot: base, moment: { to: body.to, archive } }
      const ended = await wait(await accept(row, input, context, deps), query.wait, context)
      return ended.state === 'succeeded'
        ? { status: 201, body: record(row.id, ended) }
        : { status: 202, body: operationView(ended) }
    },
  }
}

function withReasons<Step extends { because: string[] }>([first, ...rest]: readonly Step[], because: string[]): Step[] {
  return first === undefined ? [] : [{ ...first, because }, ...rest]
}

/** Throws `validation_failed` with what can be restored. */
function chosenFor(
  { title }: SnapshotSubject,
  seen: readonly SeenArchive[],
  moment: Date,
  to: string,
): { readonly base: string; readonly archive: string } {
  const ranges = rangesOf(seen)
  const found = baseFor(ranges, moment)
  if (found !== null) return { base: found.base.id, archive: found.range.archive }
  if (ranges.length > 0) throw invalid('out_of_range', `${to} cannot be restored. ${rangeText(title, ranges)}`)
  throw new ProblemError('engine_cannot', `Nothing is kept of ${title} from which a moment could be restored.`, {
    hint:
      seen.length === 0
        ? 'Switch "pointInTime" on: what is written from then on can be restored.'
        : 'Its first base is not there yet, or its program is not here. Look at its state.',
  })
}

function rangeText(title: string, ranges: readonly RestorableRange[]): string {
  const texts = ranges.map(({ from, to }) => `from ${from.toISOString()} to ${to.toISOString()}`)
  return `${title} can be restored ${texts.join(', and ')}.`
}

function invalid(code: string, detail: string): ProblemError {
  const error: FieldError = { pointer: '/to', code, detail }
  return new ProblemError('validation_failed', detail, { errors: [error] })
}

interface RestoreToInput {
  readonly subject: SnapshotSubject
  readonly name: string
  /** The base. */
  readonly snapshot: string
  readonly moment: MomentInput
}

async function accept(
  row: ProjectRow,
  input: RestoreToInput,
  context: RequestContext,
  deps: PointInTimeDeps,
): Promise<OperationRow> {
  const { store } = deps
  const { subject, name, snapshot, moment } = input
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { ...input }, 'clone', 'restore')
    const now = await store.projects.find(row.id)
    if (now === null || Object.hasOwn(now.spec.databases, name))
      throw new ProblemError('conflict', `The project has a database "${name}" already.`)
    if ((await store.snapshots.find(row.id, snapshot)) === null)
      throw new ProblemError('conflict', 'The base of that moment was removed. Try again.')
    await tx.audit.append(
      context.audit({
        action: 'database.restore-to',
        target: `${row.slug}/${subject.name}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { name, to: moment.to },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
