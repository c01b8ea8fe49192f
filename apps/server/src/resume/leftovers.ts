import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { planProject } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import { removeGivenFolder } from '@stackquay/engines'
import type { Store } from '@stackquay/store'
import type { Model } from '../projects/model.ts'
import type { Sources } from '../projects/sources.ts'
import { straysOf } from '../projects/strays.ts'
import type { TestEnvironments } from '../runs/test-environments.ts'
import { drillOf, isTestEnvironment } from '../test-environment-id.ts'

/**
 * Ends processes of projects that are gone, a deletion that was cut off, and deletes their logs. Their data is left alone. Only
 * on an engine that holds nothing of anybody else: what another holds for no project is listed, and an administrator decides.
 */
export async function endOrphans(model: Model, engines: readonly Engine[]): Promise<void> {
  for (const engine of engines) if (engine.capabilities.exclusive) await endOrphansOf(engine, model)
}

async function endOrphansOf(engine: Engine, model: Model): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  for (const id of await engine.projects(signal)) {
    if (model.find(id) !== null || isTestEnvironment(id)) continue
    const observed = await engine.observe(id, signal)
    const strays = straysOf(engine, id, { commands: true })
    const { changes } = planProject({ wanted: [], observed, goal: 'stopped', ...strays })
    for (const step of changes.flatMap((change) => engine.plan(change))) {
      await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
    }
    await engine.removeLogs(id, signal)
  }
}

/** Data of test runs and drills that are over goes; one that goes on keeps its own, and whoever waits for its end deletes it then. */
export async function endLeftData({
  store,
  testEnvironments,
  onError,
}: {
  readonly store: Store
  readonly testEnvironments: TestEnvironments
  onError(error: unknown, what: string): void
}): Promise<void> {
  const [runs, operations] = await Promise.all([store.runs.unfinished(), store.operations.unfinished()])
  const goesOn = new Set([...runs.map((run) => run.id), ...operations.map(({ id }) => drillOf(id))])
  // Not being able to is no reason to leave projects down: it is tried again by the next start.
  await testEnvironments
    .sweep((run) => goesOn.has(run))
    .catch((error: unknown) => onError(error, 'deleting data that test runs left'))
}

/** Folders of projects that are gone: creations and deletions that were cut off, and caches that projects once shared. */
export async function sweepLeftFolders({
  home,
  model,
  sources,
  signal,
  onError,
}: {
  readonly home: string
  readonly model: Model
  readonly sources: Pick<Sources, 'sweep'>
  readonly signal: AbortSignal
  onError(error: unknown, what: string): void
}): Promise<void> {
  const isKnown = (project: string) => model.find(project) !== null
  const tools = join(home, 'tools')
  const left = await readdir(tools).catch(() => [])
  const removals = left
    .filter((name) => name === 'cache' || (name.startsWith('prj_') && !isKnown(name)))
    .map((name) => removeGivenFolder(join(tools, name), signal))
  for (const result of await Promise.allSettled([sources.sweep(isKnown, signal), ...removals]))
    if (result.status === 'rejected' && !signal.aborted)
      onError(result.reason, 'removing folders of projects that are gone')
}
