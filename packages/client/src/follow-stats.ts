import type { Stats, StatsFrame } from '@stackquay/contract'
import { fillPath } from './address.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

export interface FollowStatsOptions extends FollowOptions {
  readonly onStats: (items: Stats['items']) => void
}

export function followStats(client: ClientOptions, id: string, options: FollowStatsOptions): Promise<void> {
  return follow<StatsFrame>(
    client,
    {
      path: () => fillPath(routes.watchProjectStats.path, { id }),
      onFrame: (frame) => {
        if (frame.type === 'stats') options.onStats(frame.items)
      },
      explain: (signal) =>
        request(client, { ...routes.getProjectStats, path: fillPath(routes.getProjectStats.path, { id }) }, { signal }),
    },
    options,
  )
}
