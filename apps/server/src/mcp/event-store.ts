import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

const mostEvents = 100
const mostBytes = 256 * 1024

/**
 * What was sent in one session, for a client whose connection broke and that comes back with `Last-Event-ID`. The newest alone: who
 * stays away for longer asks again.
 */
export function createEventStore(): EventStore {
  const events: {
    readonly id: string
    readonly stream: string
    readonly message: JSONRPCMessage
    readonly bytes: number
  }[] = []
  let count = 0
  let bytes = 0

  return {
    async storeEvent(stream, message) {
      const size = JSON.stringify(message).length
      const id = `${stream}_${count++}`
      events.push({ id, stream, message, bytes: size })
      bytes += size
      while (events.length > mostEvents || (bytes > mostBytes && events.length > 1)) bytes -= events.shift()!.bytes
      return id
    },
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.stream
    },
    async replayEventsAfter(id, { send }) {
      const at = events.findIndex((event) => event.id === id)
      if (at === -1) throw new Error('The event is no longer kept.')
      const { stream } = events[at]!
      for (const event of events.slice(at + 1)) if (event.stream === stream) await send(event.id, event.message)
      return stream
    },
  }
}
