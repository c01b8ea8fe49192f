import { planProject, type Resolved } from '@stackquay/domain'
import type { Change, Engine, SecretRef } from '@stackquay/engine-api'

/** Starts all of them beside each other. When one cannot be, none is started any more, and its reason is thrown. */
export async function startServices(
  run: string,
  resolved: Resolved,
  engine: Engine,
  context: {
    readonly signal: AbortSignal
    /** Titles of what is being done: `Start PostgreSQL main`. */
    onPhase(title: string): void
    reveal(ref: SecretRef): Promise<string>
  },
): Promise<void> {
  const { onPhase, signal } = context
  if (resolved.workloads.length === 0) return
  const { changes } = planProject({
    wanted: resolved.workloads,
    observed: await engine.observe(run, signal),
    goal: 'running',
  })
  const failed = new AbortController()
  const applying = { ...context, signal: AbortSignal.any([signal, failed.signal]), output: () => undefined }
  const begun = changes.map(async (change) => {
    try {
      for (const step of engine.plan(change)) {
        onPhase(step.title)
        await engine.apply(step, applying)
      }
    } catch (error) {
      // The first reason is the one to tell; the others are ended before anything is taken down.
      if (!failed.signal.aborted) failed.abort(error)
      throw error
    }
  })
  await Promise.allSettled(begun)
  signal.throwIfAborted()
  if (failed.signal.aborted) throw failed.signal.reason
}

/** Ends and deletes all that the engine has of a run. Nothing there is a success. */
export async function deleteServices(run: string, engine: Engine, signal: AbortSignal): Promise<void> {
  const apply = async (change: Change) => {
    for (const step of engine.plan(change)) {
      await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
    }
  }
  const observed = await engine.observe(run, signal)
  const data = await engine.dataNames(run, signal)
  // A job that was cut off may run on for a workload that was never started; its data has the workload's name.
  const unseen = data.filter((name) => !observed.some(({ ref }) => ref.workload === name))
  for (const change of planProject({ wanted: [], observed, goal: 'stopped' }).changes) await apply(change)
  for (const workload of unseen)
    await apply({ type: 'remove', ref: { project: run, workload }, title: workload, stop: quickly })
  for (const name of data) await apply({ type: 'deleteData', project: run, data: name })
  await engine.removeLogs(run, signal)
}

const quickly = { signal: 'SIGTERM', deadlineSeconds: 5 } as const
