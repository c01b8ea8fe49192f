import type { LogFrame, LogLine } from '@stackquay/contract'
import { fillPath, queryString } from './address.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

export interface FollowLogsQuery {
  readonly workload?: string | undefined
  /** So many lines from before. */
  readonly tail?: number | undefined
  /** Go on after this line instead. */
  readonly cursor?: string | undefined
}

export interface FollowLogsOptions extends FollowOptions {
  readonly onLines: (lines: readonly LogLine[]) => void
}

/** Log lines from now on, none twice and none lost when the connection is. */
export function followLogs(
  client: ClientOptions,
  id: string,
  query: FollowLogsQuery,
  options: FollowLogsOptions,
): Promise<void> {
  const { workload, tail } = query
  let cursor = query.cursor
  return follow<LogFrame>(
    client,
    {
      path: () =>
        fillPath(routes.watchProjectLogs.path, { id }) +
        queryString(cursor === undefined ? { workload, tail } : { workload, cursor }),
      onFrame: (frame) => {
        if (frame.type !== 'lines' || frame.items.length === 0) return
        cursor = frame.items.at(-1)!.cursor
        options.onLines(frame.items)
      },
      explain: () =>
        request(
          client,
          {
            ...routes.getProjectLogs,
            path: fillPath(routes.getProjectLogs.path, { id }),
            query: { workload, cursor, limit: 1 },
          },
          { signal: options.signal },
        ),
    },
    options,
  )
}
