import { ProblemError } from '@stackquay/contract'
import { newId, type ProjectRow, type RunRow, type Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { newPlan, planOf } from './run-plan.ts'
import { isOver, runEvent } from './run-view.ts'

export interface WantedRun {
  readonly kind: RunRow['kind']
  readonly name: string
  readonly label: string
  readonly runtime: string | null
  readonly filter: string | null
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
    const queued = await tx.runs.insert({
      ...wanted,
      id: newId('run'),
      project: project.id,
      actor: context.actor,
      requestId: context.requestId,
      plan: { ...newPlan },
    })
    const { id, name, filter } = queued
    await tx.audit.append(
      context.audit({
        action: wanted.kind === 'action' ? 'action.run' : 'test.run',
        target: project.slug,
        project: project.id,
        changes: { run: id, name, ...(filter === null ? {} : { filter }) },
      }),
    )
    await tx.events.append({ type: 'run.changed', project: project.id, data: runEvent(queued) })
    return queued
  })
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

function refuseTooMany(onTheirWay: readonly RunRow[], { kind, name, label }: WantedRun): void {
  const same = onTheirWay.find((run) => run.kind === kind && run.name === name)
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
