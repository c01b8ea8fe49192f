import type { LogFrame, LogLine, logLevels } from '@stackquay/contract'
import { fillPath, queryString } from './address.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

type LogLevel = (typeof logLevels)[number]

export interface FollowLogsQuery {
  readonly workload?: string | undefined
  /** Only lines that contain this text, or with `regex` match it. */
  readonly q?: string | undefined
  readonly regex?: 'true' | undefined
  /** This bad and worse. */
  readonly level?: LogLevel | undefined
  /** RFC 3339 UTC. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** So many lines from before. */
  readonly tail?: number | undefined
  /** Go on after this line instead. */
  readonly cursor?: string | undefined
}

export interface FollowLogsOptions extends FollowOptions {
  /** The next batch waits for a promise. */
  readonly onLines: (lines: readonly LogLine[]) => void | Promise<void>
}

/** Log lines from now on, none twice and none lost when the connection is. */
export function followLogs(
  client: ClientOptions,
  id: string,
  query: FollowLogsQuery,
  options: FollowLogsOptions,
): Promise<void> {
  const { tail, cursor: _, ...filters } = query
  let cursor = query.cursor
  return follow<LogFrame>(
    client,
    {
      path: () =>
        fillPath(routes.watchProjectLogs.path, { id }) +
        queryString(cursor === undefined ? { ...filters, tail } : { ...filters, cursor }),
      onFrame: (frame) => {
        if (frame.type !== 'lines' || frame.items.length === 0) return undefined
        const move = () => {
          cursor = frame.items.at(-1)!.cursor
        }
        const taken = options.onLines(frame.items)
        return taken === undefined ? move() : taken.then(move)
      },
      explain: (signal) =>
        request(
          client,
          {
            ...routes.getProjectLogs,
            path: fillPath(routes.getProjectLogs.path, { id }),
            query: { ...filters, cursor, limit: 1 },
          },
          { signal },
        ),
    },
    options,
  )
}
