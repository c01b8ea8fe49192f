import { type Plan, ProblemError } from '@stackquay/contract'
import {
  copyTitle,
  type SnapshotSubject,
  secretsOfPart,
  snapshotBlocker,
  snapshotName,
  snapshotSecret,
} from '@stackquay/domain'
import { newId, type OperationRow, type ProjectRow, type SnapshotRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin, busy } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import { findSnapshot, snapshotsOf, snapshotView, subjectOf } from './find-snapshot.ts'
import { type HowToCopy, howText, howToCopy, requireRoomForCopies } from './how-to-copy.ts'

export interface SnapshotDeps extends ChangeDeps {
  readonly config: Pick<Config, 'home'>
  readonly now: () => Date
}

export function snapshotHandlers(
  deps: SnapshotDeps,
  { find, wait }: ProjectAnswers,
): Pick<Handlers, 'listSnapshots' | 'createSnapshot' | 'deleteSnapshot'> {
  const { store, engine } = deps
  return {
    listSnapshots: async ({ params }) => {
      const row = await find(params.id)
      const known = await snapshotsOf(row, subjectOf(row, params.db), store)
      return { status: 200, body: { items: known.map(snapshotView) } }
    },

    createSnapshot: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const subject = subjectOf(row, params.db)
      const known = await snapshotsOf(row, subject, store)
      const name = body?.name ?? snapshotName(deps.now(), 'snapshot', known)
      refuseBlocked(known, name)
      await requireData(row, subject, engine, context.signal)
      const how = await howToCopy(row, subject.data, deps, looking(query, context))
      await requireRoomForCopies(row.id, [how], 'The snapshot', deps, context.signal)
      if (query.dryRun === true) return { status: 200, body: planOfCopy(subject, how) }
      const request = { id: newId('snp'), name, source: 'manual' as const }
      const operation = await accept(row, subject, request, context, deps)
      const ended = await wait(operation, query.wait, context)
      const made = ended.state === 'succeeded' ? await store.snapshots.find(row.id, request.id) : null
      return made === null || made.source === 'base'
        ? { status: 202, body: operationView(ended) }
        : {
            status: 201,
            body: snapshotView({ ...made, source: made.source }),
            headers: { location: pathOf(row, made) },
          }
    },

    deleteSnapshot: async ({ params }, context) => {
      const row = await find(params.id)
      const snapshot = await findSnapshot(row, subjectOf(row, params.db), params.snapshot, store)
      await remove(row, snapshot, context, deps)
      return { status: 204 }
    },
  }
}

function refuseBlocked(known: readonly SnapshotRow[], name: string): void {
  const blocker = snapshotBlocker(known, name)
  if (blocker !== null) throw new ProblemError('conflict', blocker)
}

export async function requireData(
  { slug, id }: ProjectRow,
  { title, data }: SnapshotSubject,
  engine: SnapshotDeps['engine'],
  signal: AbortSignal,
): Promise<void> {
  if ((await engine.dataNames(id, signal)).includes(data)) return
  throw new ProblemError('engine_cannot', `${title} of "${slug}" has no data yet.`, { hint: 'Start it once.' })
}

/** Sizes are for the plan. */
export function looking({ dryRun }: { readonly dryRun?: boolean | undefined }, { signal }: RequestContext) {
  return { signal, isShown: dryRun === true }
}

/** How it is done, and what stops for it. */
export function planOfCopy(subject: SnapshotSubject, how: HowToCopy, more: Partial<Plan['plan']> = {}): Plan {
  const { title, data } = subject
  const step = { title: copyTitle(title, how.manner), workload: data, because: [howText(how)] }
  const stopped = how.manner === 'stop' ? [data] : []
  return planShown({
    ...more,
    steps: [step, ...(more.steps ?? [])],
    restarts: [...stopped, ...(more.restarts ?? [])],
    warnings: [
      ...(how.manner === 'stop'
        ? [`${title} stops while its data is copied; requests wait meanwhile, at most half a minute.`]
        : []),
      ...(more.warnings ?? []),
    ],
  })
}

async function accept(
  row: ProjectRow,
  subject: SnapshotSubject,
  request: { readonly id: string; readonly name: string },
  context: RequestContext,
  deps: SnapshotDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { subject, request }, 'snapshot')
    // Two requests may have looked at once.
    refuseBlocked(await snapshotsOf(row, subject, store), request.name)
    await tx.audit.append(
      context.audit({
        action: 'database.snapshot.create',
        target: `${row.slug}/${subject.name}/${request.name}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { id: request.id },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}

/** The row first: data without one is swept by the next start, and nobody can begin to restore it. */
async function remove(
  row: ProjectRow,
  { id, name, database, part, type }: SnapshotRow,
  context: RequestContext,
  { store, engine }: SnapshotDeps,
): Promise<void> {
  await store.transaction(async (tx) => {
    const users = await store.operations.unfinishedOf(row.id)
    // Also the one that a restore has just made of what it replaces: it may have to put that back.
    const user = users.find(({ input }) => JSON.stringify(input).includes(id))
    if (user !== undefined) throw busy(user, row)
    await tx.snapshots.delete(row.id, id)
    for (const secret of secretsOfPart({ id: part, type })) await tx.secrets.delete(row.id, snapshotSecret(id, secret))
    await tx.audit.append(
      context.audit({ action: 'database.snapshot.delete', target: `${row.slug}/${database}/${name}`, project: row.id }),
    )
  })
  const steps = engine.plan({ type: 'deleteData', project: row.id, data: id })
  const applying = { signal: AbortSignal.timeout(300_000), output: () => undefined, reveal: async () => '' }
  for (const step of steps) await engine.apply(step, applying)
}

function pathOf({ id }: ProjectRow, { database, id: snapshot }: SnapshotRow): string {
  return `/api/v1/projects/${id}/databases/${database}/snapshots/${snapshot}`
}
