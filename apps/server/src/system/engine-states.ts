import type { EngineState } from '@stackquay/contract'
import type { Engine, Readiness } from '@stackquay/engine-api'
import type { Engines } from '@stackquay/engines'
import type { ProjectRow, Store } from '@stackquay/store'

/** The engines of this instance, the one of new projects first: what they are, and what of ours is on them. */
export async function engineStates(
  { engine, store }: { readonly engine: Pick<Engines, 'all'>; readonly store: Pick<Store, 'projects'> },
  signal: AbortSignal,
): Promise<readonly EngineState[]> {
  const counts = projectsOn(await store.projects.all())
  return Promise.all(
    engine.all.map(async (one, index): Promise<EngineState> => {
      const readiness = await readinessOf(one, signal)
      // One that does not answer is told as such already.
      const usage = readiness.ready ? await one.usage(signal).catch(() => []) : []
      return {
        id: one.id,
        usual: index === 0,
        projects: counts(one.id),
        ready: readiness.ready,
        detail: readiness.ready ? readiness.detail : readiness.reason,
        hint: readiness.ready ? (readiness.warnings[0] ?? null) : readiness.hint,
        usage: [...usage],
      }
    }),
  )
}

/** An engine that throws when it is asked whether it is there is not there. */
export async function readinessOf(engine: Pick<Engine, 'probe'>, signal: AbortSignal): Promise<Readiness> {
  try {
    return await engine.probe(signal)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ready: false, reason: `The engine does not answer: ${reason}`, hint: 'See whether it runs.' }
  }
}

/** How many projects are on an engine. */
export function projectsOn(rows: readonly Pick<ProjectRow, 'engine'>[]): (engine: string) => number {
  return (engine) => rows.filter((row) => row.engine === engine).length
}
