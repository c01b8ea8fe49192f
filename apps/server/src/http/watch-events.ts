import type { Store } from '@stackquay/store'
import { eventFilter } from './event-filter.ts'
import type { EventsHub } from './events-hub.ts'
import type { StreamHandler } from './handler.ts'

/** Events as frames. The frames' `seq` is the event's, so that `?after=<seq>` of the last frame resumes without loss. */
export function watchEventsHandler(hub: EventsHub, store: Pick<Store, 'projects'>): StreamHandler<'watchEvents'> {
  return async ({ query }, context, socket) => {
    const passes = await eventFilter(query, () => context.principal, store)
    const position = await hub.begin(query.after)
    await socket.send({ type: 'start', seq: position })
    for await (const events of hub.follow(position, passes, socket.signal)) {
      for (const event of events) await socket.send({ type: 'event', seq: event.seq, event })
    }
  }
}
