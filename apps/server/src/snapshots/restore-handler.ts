import { type Plan, ProblemError } from '@stackquay/contract'
import { restoreBlockers, type SnapshotSubject, secretsOfPart, snapshotName, snapshotSecret } from '@stackquay/domain'
import { newId, type OperationRow, type ProjectRow, type SnapshotRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseErrors } from '../projects/prepare.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { requireConfirmed } from '../projects/require-confirmed.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { findSnapshot, requireSnapshotData, snapshotsOf, subjectOf } from './find-snapshot.ts'
import { type HowToCopy, howText, howToCopy, requireRoomForCopies } from './how-to-copy.ts'
import { looking, type SnapshotDeps } from './snapshot-handlers.ts'

export function restoreSnapshotHandler(
  deps: SnapshotDeps,
  { find, holds, wait }: ProjectAnswers,
): Pick<Handlers, 'restoreSnapshot'> {
  const { store } = deps
  return {
    restoreSnapshot: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const subject = subjectOf(row, params.db)
      const snapshot = await findSnapshot(row, subject, params.snapshot, store)
      if (query.dryRun !== true) requireName(subject, body.confirm, 'restore', context)
      holds(row, context)
      refuseErrors(restoreBlockers([{ ...snapshot, id: snapshot.part, title: subject.title }], row.spec))
      await requireSnapshotData(row, snapshot, deps.engine, context.signal)
      const [now, back] = await Promise.all([
        howToCopy(row, subject.data, deps, looking(query, context)),
        howToCopy(row, snapshot.id, deps, looking(query, context)),
      ])
      // First what is replaced is copied, then that goes and the snapshot is.
      const most = now.bytes > back.bytes ? now : back
      await requireRoomForCopies(row.id, [most], 'The restore', deps, context.signal)
      if (query.dryRun === true) return { status: 200, body: await plan(row, subject, snapshot, back, deps) }
      const known = await snapshotsOf(row, subject, store)
      const name = snapshotName(deps.now(), 'before-restore', known)
      const before = { id: newId('snp'), name, source: 'before-restore' as const }
      const operation = await accept(row, { subject, snapshot, before }, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

export function requireName(
  { name }: SnapshotSubject,
  confirm: string,
  act: 'restore' | 'reset',
  context: RequestContext,
): void {
  requireConfirmed(confirm, { wanted: name, called: 'the name of the database', act }, context)
}

async function plan(
  row: ProjectRow,
  subject: SnapshotSubject,
  snapshot: SnapshotRow,
  how: HowToCopy,
  deps: SnapshotDeps,
): Promise<Plan> {
  const { engine, model } = deps
  const observed = await engine.observe(row.id, AbortSignal.timeout(30_000))
  const { kinds } = (model.find(row.id) ?? (await model.renew(row.id))).resolved
  const restarts = usersOfParts(row, [subject.part], observed, kinds)
  const running = observed.filter(({ state }) => state === 'running').map(({ ref }) => ref.workload)
  const step = (title: string, because: string[] = []) => ({ title, workload: subject.data, because })
  return planShown({
    steps: [
      ...(restarts.length === 0 ? [] : [{ ...step(`Stop what uses it: ${restarts.join(', ')}`), workload: null }]),
      step(`Keep ${subject.title} as a snapshot`, [howText(how)]),
      step(`Put ${subject.title} back to "${snapshot.name}"`),
      ...(restarts.length === 0 ? [] : [{ ...step('Start what ran'), workload: null }]),
    ],
    restarts: [...restarts],
    keepsRunning: running.filter((name) => !restarts.includes(name)),
    deletesData: [subject.data],
    warnings: await credentialWarnings(row, subject, snapshot, deps),
  })
}

/** The data knows the passwords that it was made with, so they are the project's again. */
async function credentialWarnings(
  { id: project }: ProjectRow,
  { title }: SnapshotSubject,
  { id, part, type }: SnapshotRow,
  { store: { secrets } }: SnapshotDeps,
): Promise<string[]> {
  for (const name of secretsOfPart({ id: part, type })) {
    const [then, now] = [await secrets.find(project, snapshotSecret(id, name)), await secrets.find(project, name)]
    if (then === null || now === null) continue
    const text = await secrets.reveal(then.secret)
    if (!(await secrets.reveal(now.secret)).equals(text))
      return [`The credentials of ${title} become those of the snapshot again. Rotate them afterwards.`]
  }
  return []
}

async function accept(
  row: ProjectRow,
  {
    subject,
    snapshot,
    before,
  }: {
    readonly subject: SnapshotSubject
    readonly snapshot: SnapshotRow
    readonly before: { readonly id: string; readonly name: string }
  },
  context: RequestContext,
  deps: SnapshotDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const input = { subject, snapshot: snapshot.id, before }
    const made = await acceptAlone(tx, store, row, context, input, 'restore-snapshot', 'restore')
    if ((await store.snapshots.find(row.id, snapshot.id)) === null)
      throw new ProblemError('not_found', `The snapshot "${snapshot.name}" was deleted meanwhile.`)
    await tx.audit.append(
      context.audit({
        action: 'database.snapshot.restore',
        target: `${row.slug}/${subject.name}/${snapshot.name}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { snapshot: snapshot.id, before: before.id },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
