import type { EventsHub } from './events-hub.ts'
import type { StreamHandler } from './handler.ts'

/** Events as frames. The frames' `seq` is the event's, so that `?after=<seq>` of the last frame resumes without loss. */
export function watchEventsHandler(hub: EventsHub): StreamHandler<'watchEvents'> {
  return async ({ query }, { principal }, socket) => {
    const position = await hub.begin(query.after)
    await socket.send({ type: 'start', seq: position })
    for await (const events of hub.follow(position, principal, socket.signal)) {
      for (const event of events) await socket.send({ type: 'event', seq: event.seq, event })
    }
  }
}
