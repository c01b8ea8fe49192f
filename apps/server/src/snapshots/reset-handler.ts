import { type Plan, ProblemError } from '@stackquay/contract'
import { type SnapshotSubject, snapshotName } from '@stackquay/domain'
import { newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import { requireSeeds, type SeedDeps, seedTitle } from '../dumps/seed-files.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { snapshotsOf, subjectOf } from './find-snapshot.ts'
import { type HowToCopy, howText, howToCopy, requireRoomForCopies } from './how-to-copy.ts'
import { requireName } from './restore-handler.ts'
import { looking, type SnapshotDeps } from './snapshot-handlers.ts'

export interface ResetDeps extends SnapshotDeps, Pick<SeedDeps, 'filesOf'> {}

export function resetHandler(deps: ResetDeps, { find, holds, wait }: ProjectAnswers): Pick<Handlers, 'resetDatabase'> {
  const { store } = deps
  return {
    resetDatabase: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const database = Object.hasOwn(row.spec.databases, params.db) ? row.spec.databases[params.db] : undefined
      if (database === undefined) throw new ProblemError('not_found', `There is no database "${params.db}".`)
      const subject = subjectOf(row, params.db)
      if (query.dryRun !== true) requireName(subject, body.confirm, 'reset', context)
      holds(row, context)
      const seed = database.seed ?? []
      await requireSeeds(row, [{ database: params.db, paths: seed }], deps, context.signal)
      const how = await howToCopy(row, subject.data, deps, looking(query, context))
      await requireRoomForCopies(row.id, [how], 'The reset', deps, context.signal)
      if (query.dryRun === true) return { status: 200, body: await plan(row, subject, seed, how, deps) }
      const known = await snapshotsOf(row, subject, store)
      const name = snapshotName(deps.now(), 'before-reset', known)
      const before = { id: newId('snp'), name, source: 'before-reset' as const }
      const operation = await accept(row, { subject, before }, seed, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

async function plan(
  row: ProjectRow,
  subject: SnapshotSubject,
  seed: readonly string[],
  how: HowToCopy,
  { engine, model }: ResetDeps,
): Promise<Plan> {
  const observed = await engine.observe(row.id, AbortSignal.timeout(30_000))
  const { kinds } = (model.find(row.id) ?? (await model.renew(row.id))).resolved
  const restarts = usersOfParts(row, [subject.part], observed, kinds)
  const running = observed.filter(({ state }) => state === 'running').map(({ ref }) => ref.workload)
  const isRunning = restarts.includes(subject.data)
  const hasData = (await engine.dataNames(row.id, AbortSignal.timeout(30_000))).includes(subject.data)
  const step = (title: string, because: string[] = []) => ({ title, workload: subject.data, because })
  return planShown({
    steps: [
      ...(restarts.length === 0 ? [] : [{ ...step(`Stop what uses it: ${restarts.join(', ')}`), workload: null }]),
      ...(hasData ? [step(`Keep ${subject.title} as a snapshot`, [howText(how)]), step(`Empty ${subject.title}`)] : []),
      ...(isRunning && seed.length > 0 ? [step(seedTitle({ title: subject.title, paths: seed }))] : []),
      ...(restarts.length === 0 ? [] : [{ ...step('Start what ran'), workload: null }]),
    ],
    restarts: [...restarts],
    keepsRunning: running.filter((name) => !restarts.includes(name)),
    deletesData: hasData ? [subject.data] : [],
    warnings: [
      ...(seed.length === 0 ? [`${subject.title} has no seed in the settings: it is empty then.`] : []),
      ...(seed.length > 0 && !isRunning
        ? [`${subject.title} does not run: its next start fills it from its seed.`]
        : []),
    ],
  })
}

async function accept(
  row: ProjectRow,
  { subject, before }: { readonly subject: SnapshotSubject; readonly before: { id: string; name: string } },
  seed: readonly string[],
  context: RequestContext,
  deps: ResetDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { subject, snapshot: null, before }, 'reset', 'restore')
    await tx.audit.append(
      context.audit({
        action: 'database.reset',
        target: `${row.slug}/${subject.name}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { before: before.id, seed: [...seed] },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
