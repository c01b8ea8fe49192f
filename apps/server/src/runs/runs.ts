import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import { CancelledError } from '@stackquay/orchestrator'
import { newId, type ProjectRow, type RunRow, type Store } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { RequestContext } from '../http/handler.ts'
import { problemOfFailure } from '../projects/journal.ts'
import { onDeletion } from '../projects/on-deletion.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { type CarriedOut, type CarryOutDeps, carryOut, type RunProgress } from './carry-out.ts'
import { runError, withoutCommand } from './run-outcome.ts'
import { newPlan, planOf } from './run-plan.ts'
import { isOver, runEvent } from './run-view.ts'

export interface Runs {
  /** Queues a run and begins to carry it out. Throws `busy` when one like it is on its way. */
  start(project: ProjectRow, wanted: WantedRun, context: RequestContext): Promise<RunRow>
  /** A run that goes on, as it is now; null when it is over or unknown. */
  find(id: string): RunInProgress | null
  /** Writes down who asked for the end of a run, and ends it. One that is over already is a success. */
  cancel(row: RunRow, project: ProjectRow, context: RequestContext): Promise<void>
  /** Ends when the run has, or when the signal aborts; whichever is first. */
  ended(id: string, signal: AbortSignal): Promise<void>
  /** Whether the engine holds any command of a project: runs and terminals, also those that ended. */
  holdsAny(project: string, signal: AbortSignal): Promise<boolean>
  /** Ends every command of a project, terminals too, and waits until the runs among them are over. */
  endAll(project: string, signal: AbortSignal): Promise<void>
  /** Removes the output of every command of a project, once all have ended. */
  forgetAll(project: string, signal: AbortSignal): Promise<void>
  /** Goes on with what was on its way when the service ended. Once, before anybody is served. */
  takeUp(): Promise<void>
  /** Lets go of everything. Commands go on; the next start takes them up. */
  close(): Promise<void>
}

export interface WantedRun {
  readonly kind: RunRow['kind']
  readonly name: string
  readonly label: string
  readonly runtime: string | null
  readonly filter: string | null
}

export interface RunInProgress {
  readonly row: RunRow
  /** There is a command, whose output can be read. */
  readonly started: boolean
  /** Ends with the next change of either. */
  readonly changed: Promise<void>
}

export interface RunsDeps extends CarryOutDeps {
  readonly store: Store
  readonly now: () => Date
}

const mostAtOnce = 8
/** Of one action or suite. */
const keptRuns = 100
const keptOutputs = 20
const writeAgainMs = 2_000

interface Entry {
  row: RunRow
  started: boolean
  changed: PromiseWithResolvers<void>
  ended: Promise<void>
  readonly cancel: AbortController
}

export function createRuns(deps: RunsDeps): Runs {
  const { store, engine, now, onError } = deps
  const entries = new Map<string, Entry>()
  const life = new AbortController()
  const closing = new Error('the service is ending')
  let tidying: Promise<void> = Promise.resolve()

  const change = (entry: Entry, next: Partial<Pick<Entry, 'row' | 'started'>>) => {
    Object.assign(entry, next)
    entry.changed.resolve()
    entry.changed = Promise.withResolvers()
  }

  const writeTo =
    (entry: Entry): RunProgress['write'] =>
    async ({ plan, ...rest }) => {
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

  const begin = (row: RunRow) => {
    const cancel = new AbortController()
    const entry: Entry = { row, started: false, changed: Promise.withResolvers(), ended: Promise.resolve(), cancel }
    if (planOf(row).cancelled) cancel.abort(new CancelledError('It was cancelled.'))
    entries.set(row.id, entry)
    entry.ended = run(entry)
      .catch((error: unknown) => {
        if (!life.signal.aborted) onError(error, `the run ${row.id}`)
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
      life: life.signal,
      write: writeTo(entry),
      started: () => change(entry, { started: true }),
    }
    let end: CarriedOut
    try {
      end = await carryOut(row, progress, deps)
    } catch (error) {
      if (life.signal.aborted || (await isGone(row))) return
      onError(error, `the run ${row.id}`)
      end = { outcome: withoutCommand('failed', runError(problemOfFailure(error))), cases: null }
    }
    await conclude(entry, end)
    // What cannot be removed now is swept by the next start.
    await deps.results.remove(row.id).catch((error: unknown) => onError(error, `removing the results of ${row.id}`))
    await forgetOld(row)
  }

  /** A full disk must not leave a run that goes on for ever: it is tried until it can be written, or the service ends. */
  const conclude = async (entry: Entry, { outcome, cases }: CarriedOut) => {
    const { id } = entry.row
    while (!life.signal.aborted) {
      try {
        const row = await store.transaction(async (tx) => {
          if (cases !== null) await tx.runs.putCases(id, cases)
          const ended = await tx.runs.update(id, { ...outcome, phase: null, finishedAt: now().toISOString() })
          await tx.events.append({ type: 'run.changed', project: ended.project, data: runEvent(ended) })
          return ended
        })
        change(entry, { row })
        return
      } catch (error) {
        if (await isGone(entry.row)) return
        onError(error, `writing down the end of the run ${id}`)
        await sleep(writeAgainMs, undefined, { signal: life.signal }).catch(() => undefined)
      }
    }
  }

  /** Its project was deleted, and it with that. */
  const isGone = async ({ id }: RunRow) => (await store.runs.find(id).catch(() => undefined)) === null

  const forgetOld = async ({ project, kind, name }: RunRow) => {
    const forgotten = await store.transaction((tx) => tx.runs.keepNewest(project, kind, name, keptRuns))
    const runs = await store.runs.list({ project, kind, name, limit: keptRuns + mostAtOnce })
    const silent = runs.filter(isOver).slice(keptOutputs)
    for (const id of [...forgotten, ...silent.map((run) => run.id)]) await engine.commands.remove({ project, id })
  }

  const ended: Runs['ended'] = async (id, signal) => {
    const entry = entries.get(id)
    if (entry !== undefined) await Promise.race([entry.ended, aborted(signal)])
  }

  const heldOf = async (project: string, signal: AbortSignal) =>
    (await engine.commands.list(signal)).filter((ref) => ref.project === project)

  /** Commands that nobody remembers: their project was deleted, or the service was killed while it forgot them. */
  const removeOrphans = async () => {
    // Looked for first: whatever is started after this look is remembered before it is started.
    const held = await engine.commands.list(life.signal)
    const known = new Set([...(await store.runs.ids()), ...(await store.terminals.all()).map(({ id }) => id)])
    for (const ref of held) {
      if (known.has(ref.id) || !/^(run|term)_/.test(ref.id)) continue
      await engine.commands.end(ref, life.signal)
      await engine.commands.remove(ref)
    }
  }

  const cancelAll = (project: string) => {
    const mine = [...entries.values()].filter((entry) => entry.row.project === project)
    for (const { cancel } of mine) cancel.abort(new CancelledError('The project is being deleted.'))
    return mine
  }

  const stopListening = onDeletion(store, cancelAll)

  return {
    find: (id) => {
      const entry = entries.get(id)
      return entry === undefined ? null : { row: entry.row, started: entry.started, changed: entry.changed.promise }
    },
    ended,
    start: async (project, wanted, context) => {
      const row = await store.transaction(async (tx) => {
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
      begin(row)
      return row
    },
    cancel: async (row, project, context) => {
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
      entries.get(row.id)?.cancel.abort(new CancelledError('It was cancelled.'))
    },
    holdsAny: async (project, signal) =>
      [...entries.values()].some((entry) => entry.row.project === project) ||
      (await heldOf(project, signal)).length > 0,
    endAll: async (project, signal) => {
      const mine = cancelAll(project)
      await Promise.all(mine.map(({ row }) => ended(row.id, signal)))
      signal.throwIfAborted()
      await Promise.all((await heldOf(project, signal)).map((ref) => engine.commands.end(ref, signal)))
    },
    forgetAll: async (project, signal) => {
      for (const ref of await heldOf(project, signal)) await engine.commands.remove(ref)
    },
    takeUp: async () => {
      const unfinished = await store.runs.unfinished()
      for (const row of unfinished) begin(row)
      const goesOn = new Set(unfinished.map(({ id }) => id))
      // In the background: a project must not wait for what others left behind.
      tidying = Promise.allSettled([removeOrphans(), deps.results.sweep((run) => goesOn.has(run))]).then((results) => {
        for (const result of results)
          if (result.status === 'rejected' && !life.signal.aborted) onError(result.reason, 'removing what runs left')
      })
    },
    close: async () => {
      stopListening()
      life.abort(closing)
      await Promise.allSettled([...entries.values()].map((entry) => entry.ended))
      await tidying
    },
  }
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
