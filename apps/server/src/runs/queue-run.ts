import { ProblemError } from '@stackquay/contract'
import { newId, type ProjectRow, type RunRow, type Store, type Transaction } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { newPlan, planOf, type RunPlan } from './run-plan.ts'
import { isOver, runEvent } from './run-view.ts'

export interface WantedRun {
  readonly kind: RunRow['kind']
  readonly name: string
  readonly label: string
  readonly runtime: string | null
  readonly filter: string | null
  /** Of a cron job. */
  readonly plan?: Pick<RunPlan, 'dueAt' | 'limitSeconds'>
  /** Runs of the same name may be under way beside it. */
  readonly overlaps?: boolean
}

export const mostAtOnce = 8

/** The run, the audit entry and the event in one transaction. Throws `busy` when one like it is on its way, or too many are. */
export async function queueRun(
  project: ProjectRow,
  wanted: WantedRun,
  context: RequestContext,
  store: Store,
): Promise<RunRow> {
  return store.transaction(async (tx) => {
    refuseUnready(await store.projects.find(project.id))
    refuseTooMany(
      (await store.runs.unfinished()).filter((one) => one.project === project.id),
      wanted,
    )
    const queued = await insertRun(tx, project, wanted, context)
    const { id, name, filter } = queued
    await tx.audit.append(
      context.audit({
        action: `${wanted.kind}.run`,
        target: project.slug,
        project: project.id,
        changes: { run: id, name, ...(filter === null ? {} : { filter }) },
      }),
    )
    return queued
  })
}

/** The run and the event, inside a transaction that says who asked for it. */
export async function insertRun(
  tx: Transaction,
  project: Pick<ProjectRow, 'id'>,
  { plan, overlaps: _overlaps, ...wanted }: WantedRun,
  { actor, requestId }: Pick<RequestContext, 'actor'> & { readonly requestId: string | null },
): Promise<RunRow> {
  const own = { id: newId('run'), project: project.id, actor, requestId, plan: { ...newPlan, ...plan } }
  const queued = await tx.runs.insert({ ...wanted, ...own })
  await tx.events.append({ type: 'run.changed', project: project.id, data: runEvent(queued) })
  return queued
}

/** Who asked for the end of a run. One that is over already stays what it is. */
export async function writeCancellation(
  row: RunRow,
  project: ProjectRow,
  context: RequestContext,
  store: Store,
): Promise<void> {
  await store.transaction(async (tx) => {
    const now = await store.runs.find(row.id)
    if (now !== null && !isOver(now)) await tx.runs.update(row.id, { plan: { ...planOf(now), cancelled: true } })
    await tx.audit.append(
      context.audit({
        action: 'run.cancel',
        target: project.slug,
        project: project.id,
        changes: { run: row.id, name: row.name },
      }),
    )
  })
}

/** The service ends it: its place is needed. */
export async function writeReplacement({ id }: RunRow, store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    const now = await store.runs.find(id)
    if (now !== null && !isOver(now)) await tx.runs.update(id, { plan: { ...planOf(now), cancelled: true } })
  })
}

function refuseTooMany(onTheirWay: readonly RunRow[], { kind, name, label, overlaps }: WantedRun): void {
  const same = overlaps === true ? undefined : onTheirWay.find((run) => run.kind === kind && run.name === name)
  if (same !== undefined)
    throw new ProblemError('busy', `"${label}" runs already: ${same.id}, by ${same.actor}.`, {
      hint: 'Follow that run, wait for its end, or cancel it.',
      extensions: { run: same.id },
    })
  if (onTheirWay.length >= mostAtOnce)
    throw new ProblemError('busy', `The project has ${onTheirWay.length} runs already, which is the most at once.`, {
      hint: 'Wait for one of them, or cancel one.',
      extensions: { run: onTheirWay[0]!.id },
    })
}
