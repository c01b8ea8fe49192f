import { ProblemError } from '@stackquay/contract'
import type { Change, Observed } from '@stackquay/engine-api'
import { engineSteps, type StepContext, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { findDump, isEmpty } from '../dumps/find-dump.ts'
import { emptyDatabase, loadDump } from '../dumps/load-dump.ts'
import { lookThrough } from '../dumps/receive-dump.ts'
import { type DueSeed, dueSeeds, requireDueSeeds, seedContent, seedTitle } from '../dumps/seed-files.ts'
import { forever, type OperationDeps } from './operation-deps.ts'

export interface SeedPlan {
  /** Of databases that run already: before anything else. */
  readonly first: readonly WorkStep[]
  /** Of one that this change starts: behind its steps, and what uses it waits. */
  after(change: Change): readonly WorkStep[]
}

/**
 * What fills databases from their seeds before anything that uses them starts. Throws, before anything is touched, what keeps a new
 * database from being filled.
 */
export async function planSeeds(
  row: ProjectRow,
  { changes, observed }: { readonly changes: readonly Change[]; readonly observed: readonly Observed[] },
  failed: (data: string, error: unknown) => void,
  deps: OperationDeps,
): Promise<SeedPlan> {
  const starting = changes.flatMap((change) =>
    change.type === 'start' || change.type === 'replace' ? [change.workload.ref.workload] : [],
  )
  const stopping = changes.flatMap((change) => (change.type === 'stop' ? [change.ref.workload] : []))
  const running = observed
    .filter(({ state, ref }) => state === 'running' && !stopping.includes(ref.workload))
    .map(({ ref }) => ref.workload)
  const due = (await dueSeeds(row, deps)).filter(({ data }) => starting.includes(data) || running.includes(data))
  await requireDueSeeds(row, due, deps, forever)
  const step = (seed: DueSeed, started: boolean): WorkStep => ({
    id: `seed:${seed.database}`,
    title: seedTitle(seed),
    run: (context) =>
      fill(row, seed, context, deps).catch(async (error: unknown) => {
        await undo(row, seed, started, context, deps)
        failed(seed.data, error)
        throw error
      }),
  })
  return {
    first: due.filter(({ data }) => !starting.includes(data)).map((seed) => step(seed, false)),
    after: (change) => {
      if (change.type !== 'start' && change.type !== 'replace') return []
      return due.filter(({ data }) => data === change.workload.ref.workload).map((seed) => step(seed, true))
    },
  }
}

async function fill(row: ProjectRow, seed: DueSeed, context: StepContext, deps: OperationDeps): Promise<void> {
  const { store } = deps
  const { signal, output } = context
  const dump = await findDump(row, seed.database, deps, signal)
  if (seed.turn === 'look' && !(await isEmpty(dump, deps, signal))) {
    output({ stream: 'stdout', text: 'There is something in it already, so it stays as it is.\n' })
    await store.transaction((tx) => tx.seeds.set(row.id, seed.data, 'done'))
    return
  }
  await store.transaction((tx) => tx.seeds.set(row.id, seed.data, 'begun'))
  for (const [index, path] of seed.paths.entries()) {
    const mode = index === 0 ? 'replace' : 'append'
    const { id, written } = deps.receivedDumps.receive(seedContent(row, path, deps.filesOf, signal))
    try {
      const seen = await lookThrough(written, dump, mode).catch((error: unknown) => {
        if (!(error instanceof ProblemError) || error.code !== 'dump_unreadable') throw error
        throw new ProblemError('dump_unreadable', `The seed ${path} cannot be read. ${error.message}`, { cause: error })
      })
      const content = deps.receivedDumps.read(id)
      await loadDump(dump, { ...seen, content, mode, act: `The seed ${path}` }, context, deps)
      output({ stream: 'stdout', text: `${path} is read.\n` })
    } finally {
      await deps.receivedDumps.remove(id)
    }
  }
  await store.transaction((tx) => tx.seeds.set(row.id, seed.data, 'done'))
}

/**
 * Nothing of it stays, so that the next start begins anew; and a database that was started for it stops, so that nobody takes it for filled.
 * Where it cannot be emptied now, the next start does.
 */
async function undo(
  row: ProjectRow,
  seed: DueSeed,
  started: boolean,
  { output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, engine, reveal, observations } = deps
  const context = { signal: forever, output }
  try {
    if ((await store.seeds.find(row.id, seed.data)) === 'begun') {
      await emptyDatabase(await findDump(row, seed.database, deps, forever), { ...context, output: () => {} }, deps)
      await store.transaction((tx) => tx.seeds.forget(row.id, seed.data))
    }
    if (!started) return
    const ref = { project: row.id, workload: seed.data }
    const stop: Change = { type: 'stop', ref, title: seed.title, stop: { signal: 'SIGTERM', deadlineSeconds: 30 } }
    for (const step of engineSteps(engine, [stop], reveal, () => observations.outdate(row.id))) await step.run(context)
  } catch (error) {
    const text = `It could not be emptied: ${error instanceof Error ? error.message : String(error)}. The next start does.\n`
    output({ stream: 'stderr', text })
  }
}
