import { setTimeout as sleep } from 'node:timers/promises'
import { CancelledError } from '@stackquay/orchestrator'
import type { RunRow, Store } from '@stackquay/store'
import { problemOfFailure } from '../projects/progress-log.ts'
import { type CarriedOut, type CarryOutDeps, carryOut, type RunProgress } from './carry-out.ts'
import { mostAtOnce } from './queue-run.ts'
import { runError, withoutCommand } from './run-outcome.ts'
import { planOf } from './run-plan.ts'
import { isOver, runEvent } from './run-view.ts'

/** A run that goes on. */
export interface Entry {
  row: RunRow
  started: boolean
  changed: PromiseWithResolvers<void>
  ended: Promise<void>
  readonly cancel: AbortController
}

export interface CourseDeps extends CarryOutDeps {
  readonly store: Store
  readonly now: () => Date
}

/** Of one action or suite. */
const keptRuns = 100
const keptOutputs = 20
const writeAgainMs = 2_000

/** Carries runs out to their end, whatever happens, and forgets old ones. `begin` makes the entry, which goes with the run. */
export function createCourse(
  entries: Map<string, Entry>,
  life: AbortSignal,
  deps: CourseDeps,
): { begin(row: RunRow): void } {
  const { store, onError } = deps
  const begin = (row: RunRow) => {
    const cancel = new AbortController()
    const entry: Entry = { row, started: false, changed: Promise.withResolvers(), ended: Promise.resolve(), cancel }
    if (planOf(row).cancelled) cancel.abort(new CancelledError('It was cancelled.'))
    entries.set(row.id, entry)
    entry.ended = run(entry)
      .catch((error: unknown) => {
        if (!life.aborted) onError(error, `the run ${row.id}`)
      })
      .finally(() => {
        entries.delete(row.id)
        change(entry, {})
      })
  }

  const run = async (entry: Entry) => {
    const { row } = entry
    const progress: RunProgress = {
      cancel: entry.cancel.signal,
      life,
      write: writeTo(entry, store),
      started: () => change(entry, { started: true }),
    }
    let end: CarriedOut
    try {
      end = await carryOut(row, progress, deps)
    } catch (error) {
      if (life.aborted || (await isGone(row, store))) return
      onError(error, `the run ${row.id}`)
      end = { outcome: withoutCommand('failed', runError(problemOfFailure(error))), cases: null }
    }
    await conclude(entry, end, life, deps)
    // What cannot be removed now is swept by the next start.
    await deps.results.remove(row.id).catch((error: unknown) => onError(error, `removing the results of ${row.id}`))
    await forgetOld(row, deps)
  }

  return { begin }
}

function change(entry: Entry, next: Partial<Pick<Entry, 'row' | 'started'>>): void {
  Object.assign(entry, next)
  entry.changed.resolve()
  entry.changed = Promise.withResolvers()
}

function writeTo(entry: Entry, store: Store): RunProgress['write'] {
  return async ({ plan, ...rest }) => {
    const row = await store.transaction(async (tx) => {
      const before = await store.runs.find(entry.row.id)
      const updated = await tx.runs.update(entry.row.id, {
        ...rest,
        ...(plan === undefined ? {} : { plan: { ...planOf(before ?? entry.row), ...plan } }),
      })
      await tx.events.append({ type: 'run.changed', project: updated.project, data: runEvent(updated) })
      return updated
    })
    change(entry, { row })
    return row
  }
}

/** A full disk must not leave a run that goes on for ever: it is tried until it can be written, or the service ends. */
async function conclude(
  entry: Entry,
  { outcome, cases }: CarriedOut,
  life: AbortSignal,
  { store, now, onError }: CourseDeps,
): Promise<void> {
  const { id } = entry.row
  while (!life.aborted) {
    try {
      const row = await store.transaction(async (tx) => {
        if (cases !== null) await tx.runs.putCases(id, cases)
        const ended = await tx.runs.update(id, { ...outcome, phase: null, finishedAt: now().toISOString() })
        await tx.events.append({ type: 'run.changed', project: ended.project, data: runEvent(ended) })
        if (ended.kind === 'cron' && ended.state === 'failed') await tx.events.append(cronFailed(ended))
        return ended
      })
      change(entry, { row })
      return
    } catch (error) {
      if (await isGone(entry.row, store)) return
      onError(error, `writing down the end of the run ${id}`)
      await sleep(writeAgainMs, undefined, { signal: life }).catch(() => undefined)
    }
  }
}

/** For webhooks: what a person wants to know of it without asking. */
function cronFailed({ id, project, name, exitCode, signal, error, plan }: RunRow) {
  const data = { run: id, name, exitCode, signal, error: error?.detail ?? null, dueAt: planOf({ plan }).dueAt }
  return { type: 'cron.failed', project, data } as const
}

/** Its project was deleted, and it with that. */
async function isGone({ id }: RunRow, store: Store): Promise<boolean> {
  return (await store.runs.find(id).catch(() => undefined)) === null
}

async function forgetOld({ project, kind, name }: RunRow, { store, engine }: CourseDeps): Promise<void> {
  const forgotten = await store.transaction((tx) => tx.runs.keepNewest(project, kind, name, keptRuns))
  const runs = await store.runs.list({ project, kind, name, limit: keptRuns + mostAtOnce })
  const silent = runs.filter(isOver).slice(keptOutputs)
  for (const id of [...forgotten, ...silent.map((run) => run.id)]) await engine.commands.remove({ project, id })
}
