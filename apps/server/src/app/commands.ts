import type { Provision } from '../isolation/provision.ts'
import type { Projects } from '../projects/open-projects.ts'
import { provisionProject } from '../projects/prepare.ts'
import { createResultsFolders } from '../runs/results-folder.ts'
import { createRuns, type Runs } from '../runs/runs.ts'
import { createTestEnvironments, type TestEnvironments } from '../runs/test-environments.ts'
import { createTerminals, type Terminals } from '../terminals/terminals.ts'
import type { Workers } from '../workers/workers.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Resolving } from './resolving.ts'

/** What people run in projects. */
export interface Commands {
  readonly runs: Runs
  readonly terminals: Terminals
  /** The databases and services of test runs. */
  readonly testEnvironments: TestEnvironments
}

export function openCommands(
  {
    instance: { store, engine, isolation, testPorts, reveal },
    resolving: { resolver, files, filesOf },
    projects: { model, queues },
    provision,
    workers,
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine' | 'isolation' | 'testPorts' | 'reveal'>
    readonly resolving: Pick<Resolving, 'resolver' | 'files' | 'filesOf'>
    readonly projects: Pick<Projects, 'model' | 'queues'>
    readonly provision: Provision
    readonly workers: Workers
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Commands {
  const testEnvironments = createTestEnvironments({ store, resolver, engine, config, held: testPorts, reveal })
  const runs = createRuns({
    store,
    engine,
    resolver,
    accounts: isolation.accounts,
    files,
    testEnvironments,
    workers,
    results: createResultsFolders(config.home, files),
    maxMinutes: () => config.runMaxMinutes,
    reveal,
    provision: (project, signal) => provisionProject(project, { store, model, engine, config, provision }, signal),
    exclusively: queues.enter,
    now,
    onError,
  })
  const idleHours = () => config.terminalIdleHours
  const terminals = createTerminals({ store, engine, resolver, filesOf, idleHours, reveal, now, onError })
  return { runs, terminals, testEnvironments }
}
