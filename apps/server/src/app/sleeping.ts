import { type Awake, createAwake } from '../sleep/fall-asleep-and-wake.ts'
import { openSleeper, type Sleeper } from '../sleep/sleeper.ts'
import { createUses, type ProjectUses } from '../sleep/uses.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resumption } from './resumption.ts'

export interface Sleeping extends Sleeper {
  /** What says here that a project is used. */
  readonly uses: ProjectUses
  readonly awake: Awake
}

/** Who puts projects to sleep, and wakes them. */
export function openSleeping(
  {
    instance: { store, engine },
    projects: { model, keeper },
    operations: { orchestrator },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine'>
    readonly projects: Pick<KnownProjects, 'model' | 'keeper'>
    readonly operations: Pick<Operations, 'orchestrator'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config, now, onError, sleepLookMs }: Pick<AppContext, 'config' | 'now' | 'onError' | 'sleepLookMs'>,
): Sleeping {
  const uses = createUses(now)
  const sleeper = openSleeper({
    store,
    model,
    orchestrator,
    keeper,
    uses,
    memory: { mostBytes: () => config.awakeMaxBytes, engine },
    ready,
    now,
    onError,
    lookEveryMs: sleepLookMs,
  })
  return { uses, awake: createAwake({ store, model, orchestrator, now }), close: sleeper.close }
}
