import type { EventFrame, EventRecord } from '@stackquay/contract'
import { queryString } from './address.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, refuse, send } from './transport.ts'

export interface FollowEventsQuery {
  /** Sequence number of the last event already known. */
  readonly after?: number | undefined
  /** Id or slug: only events of this project. */
  readonly project?: string | undefined
  /** Only these: `run.changed`; `run.*` is all of runs. */
  readonly types?: readonly string[] | undefined
}

export interface FollowEventsOptions extends FollowOptions {
  readonly onEvent: (event: EventRecord) => void
  /**
   * Events may be missing: the position is no longer kept, or the connection was lost before there was one. Called when
   * the stream is live again, so that what is read then, together with the events that follow, is complete.
   */
  readonly onGap?: () => void
}

export function followEvents(
  client: ClientOptions,
  query: FollowEventsQuery,
  options: FollowEventsOptions,
): Promise<void> {
  const { project } = query
  const types = query.types === undefined || query.types.length === 0 ? undefined : query.types.join(',')
  let after = query.after
  let connections = 0
  let gap = false
  const path = () => {
    if (connections++ > 0 && after === undefined) gap = true
    return routes.watchEvents.path + queryString({ after, project, types })
  }
  return follow<EventFrame>(
    client,
    {
      path,
      onFrame: (frame) => {
        if (gap) {
          gap = false
          options.onGap?.()
        }
        // The first frame says where the stream begins, so that nothing is missed when it breaks before an event.
        after = frame.seq
        if (frame.type === 'event') options.onEvent(frame.event)
      },
      explain: async (signal) => {
        const response = await send(client, { ...routes.streamEvents, query: { after, project, types } }, { signal })
        if (!response.ok) return refuse(client, response)
        await response.body?.cancel()
      },
      recover: (problem) => {
        if (problem.status !== 410) return false
        after = undefined
        gap = true
        return true
      },
    },
    options,
  )
}
