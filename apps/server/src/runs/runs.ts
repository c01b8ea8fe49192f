import { CancelledError } from '@stackquay/orchestrator'
import type { ProjectRow, RunRow } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { RequestContext } from '../http/handler.ts'
import { onDeletion } from '../projects/on-deletion.ts'
import { operationOfHook } from './hook-command.ts'
import { queueRun, type WantedRun, writeCancellation, writeReplacement } from './queue-run.ts'
import { type CourseDeps, createCourse, type Entry } from './run-course.ts'

export interface Runs {
  /** Queues a run and begins to carry it out. Throws `busy` when one like it is on its way. */
  start(project: ProjectRow, wanted: WantedRun, context: RequestContext): Promise<RunRow>
  /** Carries out a run that was stored by somebody else. */
  begin(row: RunRow): void
  /** Ends a run because its place is needed. One that is over already is a success. */
  replace(row: RunRow): Promise<void>
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
  resume(options: { readonly sweeps: boolean }): Promise<void>
  /** Lets go of everything. Commands go on; the next start takes them up. */
  close(): Promise<void>
}

export interface RunInProgress {
  readonly row: RunRow
  /** There is a command, whose output can be read. */
  readonly started: boolean
  /** Ends with the next change of either. */
  readonly changed: Promise<void>
}

export function createRuns(deps: CourseDeps): Runs {
  const { store, engine, onError } = deps
  const entries = new Map<string, Entry>()
  const life = new AbortController()
  const closing = new Error('the service is ending')
  const { begin } = createCourse(entries, life.signal, deps)
  let tidying: Promise<void> = Promise.resolve()

  const ended: Runs['ended'] = async (id, signal) => {
    const entry = entries.get(id)
    if (entry !== undefined) await Promise.race([entry.ended, aborted(signal)])
  }

  const heldOf = async (project: string, signal: AbortSignal) =>
    (await engine.commands.list(signal)).filter((ref) => ref.project === project)

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
      const row = await queueRun(project, wanted, context, store)
      begin(row)
      return row
    },
    begin,
    replace: async (row) => {
      await writeReplacement(row, store)
      entries.get(row.id)?.cancel.abort(new CancelledError('Its next time has come.'))
    },
    cancel: async (row, project, context) => {
      await writeCancellation(row, project, context, store)
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
    resume: async ({ sweeps }) => {
      const unfinished = await store.runs.unfinished()
      for (const row of unfinished) begin(row)
      if (!sweeps) return
      const goesOn = new Set(unfinished.map(({ id }) => id))
      // In the background: a project must not wait for what others left behind.
      tidying = Promise.allSettled([
        removeOrphans(deps, life.signal),
        deps.results.sweep((run) => goesOn.has(run)),
      ]).then((results) => {
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

/** Commands that nobody remembers: their project was deleted, or the service was killed while it forgot them. */
async function removeOrphans({ store, engine }: CourseDeps, signal: AbortSignal): Promise<void> {
  // Looked for first: whatever is started after this look is remembered before it is started.
  const held = await engine.commands.list(signal)
  const known = new Set([...(await store.runs.ids()), ...(await store.terminals.all()).map(({ id }) => id)])
  const atWork = new Set((await store.operations.unfinished()).map(({ id }) => id))
  for (const ref of held) {
    const operation = operationOfHook(ref.id)
    if (operation !== null && atWork.has(operation)) continue
    if (known.has(ref.id) || !/^(run|term|hook)_/.test(ref.id)) continue
    await engine.commands.end(ref, signal)
    await engine.commands.remove(ref)
  }
}
