import { ProblemError } from '@stackquay/contract'
import { planProject } from '@stackquay/domain'
import { engineSteps, type StepContext, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { findProject, type OperationDeps } from './operation-deps.ts'

/** Databases are copied at rest: the original's are stopped for as long as that takes, in its own queue. */
export function copyDataSteps(row: ProjectRow, { input }: ProjectOperation, deps: OperationDeps): readonly WorkStep[] {
  const original = input.of
  if (typeof original !== 'string') return []
  const run: WorkStep['run'] = (context) => deps.queues.enter(original, () => copyData(original, row.id, context, deps))
  return [{ id: 'copy-data', title: 'Copy databases and kept data', run }]
}

async function copyData(original: string, copy: string, { signal }: StepContext, deps: OperationDeps): Promise<void> {
  const { store, engine, model, restartHolds } = deps
  const source = await findProject(store, original)
  const names = await engine.dataNames(original, signal)
  const there = new Set(await engine.dataNames(copy, signal))
  const missing = names.filter((name) => !there.has(name))
  await copyVersions(original, copy, deps)
  if (missing.length === 0) return
  const up = (await engine.observe(original, signal)).filter((one) => one.state === 'running')
  const running = up.length > 0
  const { unresolved } = (await model.renew(original)).resolved
  const stuck = up.find(({ ref }) => unresolved.includes(ref.workload))
  // Stopped for the copy it would stay down, and copied while it runs its data would be torn.
  if (stuck !== undefined)
    throw new ProblemError(
      'conflict',
      `${stuck.title ?? stuck.ref.workload} of "${source.slug}" runs and could not be started again, so it is not stopped for a copy.`,
      { hint: `Mend what the status of "${source.slug}" says, or stop it yourself; then copy it again.` },
    )
  const comesBack = running && source.desired === 'running'
  try {
    if (comesBack)
      await restartHolds.hold(
        up.map(({ ref }) => ref),
        up,
        signal,
      )
    if (running) await bringTo(original, 'stopped', unresolved, signal, deps)
    try {
      for (const name of missing) await engine.copyData(original, copy, name, signal)
    } finally {
      if (comesBack) await bringTo(original, 'running', unresolved, signal, deps)
    }
  } finally {
    await restartHolds.release(original)
  }
}

/** Which version wrote the data, and since when nothing uses it. */
async function copyVersions(original: string, copy: string, { store }: OperationDeps): Promise<void> {
  const kept = await store.keptData.of(original)
  await store.transaction(async (tx) => {
    for (const { name, version, keptAt } of kept) {
      await tx.keptData.writtenBy(copy, name, version)
      if (keptAt !== null) await tx.keptData.setKept(copy, name, true)
    }
  })
}

async function bringTo(
  project: string,
  goal: 'running' | 'stopped',
  unresolved: readonly string[],
  asked: AbortSignal,
  { model, engine, reveal, observations }: OperationDeps,
): Promise<void> {
  const { workloads: wanted } = (await model.renew(project)).resolved
  const observed = await engine.observe(project, asked)
  const { changes } = planProject({ wanted, unresolved, observed, goal, keepChanged: true })
  const signal = AbortSignal.timeout(180_000)
  const applied = () => observations.outdate(project)
  for (const step of engineSteps(engine, changes, reveal, applied)) await step.run({ signal, output: () => undefined })
  await observations.current(project)
}
