import { join } from 'node:path'
import { type MetricsKeeper, openMetricsKeeper } from '../metrics/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resumption } from './resumption.ts'

/** Who writes down what projects use. */
export function openMetrics(
  {
    instance: { store, engine },
    projects: { keeper },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine'>
    readonly projects: Pick<KnownProjects, 'keeper'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): MetricsKeeper {
  return openMetricsKeeper({
    store,
    engine,
    keeper,
    file: join(config.home, 'metrics.db'),
    days: () => config.metricsDays,
    now,
    ready,
    onError,
  })
}
