import { databaseTypeOf } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { databaseWorkload, type SnapshotSubject } from '@stackquay/domain'
import type { OperationRow, ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import { findSnapshot, requireSnapshotData, subjectOf } from './find-snapshot.ts'
import { howToCopy, requireRoomForCopies } from './how-to-copy.ts'
import { looking, planOfCopy, requireData, type SnapshotDeps } from './snapshot-handlers.ts'

export function cloneHandler(
  deps: SnapshotDeps,
  { find, wait, record }: ProjectAnswers,
): Pick<Handlers, 'cloneDatabase'> {
  const { store, engine } = deps
  return {
    cloneDatabase: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const subject = databaseOf(row, params.db)
      await refuseTakenName(row, subject, body.name, deps, context.signal)
      const snapshot = body.snapshot === undefined ? null : await findSnapshot(row, subject, body.snapshot, store)
      if (snapshot === null) await requireData(row, subject, engine, context.signal)
      else await requireSnapshotData(row, snapshot, engine, context.signal)
      const how = await howToCopy(row, snapshot?.id ?? subject.data, deps, looking(query, context))
      await requireRoomForCopies(row.id, [how], 'The clone', deps, context.signal)
      if (query.dryRun === true) {
        const data = databaseWorkload(subject.type, body.name)
        const step = (title: string) => ({ title, workload: data, because: [] })
        const steps = [step(`Add the database ${body.name}`), ...(row.desired === 'running' ? [step('Start it')] : [])]
        const starts = row.desired === 'running' ? [data] : []
        return { status: 200, body: planOfCopy(subject, how, { steps, starts }) }
      }
      const input = { subject, name: body.name, snapshot: snapshot?.id ?? null }
      const operation = await accept(row, input, context, deps)
      const ended = await wait(operation, query.wait, context)
      return ended.state === 'succeeded'
        ? { status: 201, body: record(row.id, ended) }
        : { status: 202, body: operationView(ended) }
    },
  }
}

function databaseOf(row: ProjectRow, name: string): SnapshotSubject {
  const subject = subjectOf(row, name)
  if (subject.kind === 'database') return subject
  throw new ProblemError(
    'engine_cannot',
    `A project has one ${subject.title}, so there is no second one of its data.`,
    {
      hint: 'Make a snapshot of it, or duplicate the project.',
    },
  )
}

export async function refuseTakenName(
  row: ProjectRow,
  { type }: SnapshotSubject,
  name: string,
  { engine }: SnapshotDeps,
  signal: AbortSignal,
): Promise<void> {
  if (Object.hasOwn(row.spec.databases, name))
    throw new ProblemError('conflict', `The project has a database "${name}" already.`, {
      hint: 'Choose another name.',
    })
  const blocker = databaseTypeOf(type)?.nameBlocker(name) ?? null
  if (blocker !== null)
    throw new ProblemError('validation_failed', blocker, {
      errors: [{ pointer: '/name', code: 'reserved_name', detail: `${blocker} Choose another.` }],
    })
  if ((await engine.dataNames(row.id, signal)).includes(databaseWorkload(type, name)))
    throw new ProblemError('conflict', `Data of a database "${name}" that was dropped is still there.`, {
      hint: `Drop it again (DELETE …/databases/${name}?confirm=${name}), or choose another name.`,
    })
}

async function accept(
  row: ProjectRow,
  input: { readonly subject: SnapshotSubject; readonly name: string; readonly snapshot: string | null },
  context: RequestContext,
  deps: SnapshotDeps,
): Promise<OperationRow> {
  const { store } = deps
  const { subject, name, snapshot } = input
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, input, 'clone')
    const now = await store.projects.find(row.id)
    if (now === null || Object.hasOwn(now.spec.databases, name))
      throw new ProblemError('conflict', `The project has a database "${name}" already.`)
    if (snapshot !== null && (await store.snapshots.find(row.id, snapshot)) === null)
      throw new ProblemError('not_found', 'The snapshot was deleted meanwhile.')
    await tx.audit.append(
      context.audit({
        action: 'database.clone',
        target: `${row.slug}/${subject.name}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { name, snapshot },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
