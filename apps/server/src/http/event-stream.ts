import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type EventRecord, ProblemError, problemOf } from '@stackquay/contract'
import type { EventFilter } from './event-filter.ts'
import type { EventsHub } from './events-hub.ts'
import { apiHeaders } from './security-headers.ts'

export interface EventStreamDeps {
  readonly hub: EventsHub
  readonly response: ServerResponse
  readonly requestId: string
  readonly passes: EventFilter
  readonly position: number
  /** Aborts when the service stops. */
  readonly signal: AbortSignal
}

/** Where a reader wants to go on. The header is newer than the address: a browser keeps the address when it reconnects. */
export function resumePosition(message: IncomingMessage, after: number | undefined): number | undefined {
  const header = message.headers['last-event-id']
  if (header === undefined || header === '') return after
  if (/^\d{1,15}$/.test(String(header))) return Number(header)
  throw new ProblemError('invalid_request', 'Last-Event-ID is not a sequence number.')
}

/** Server-sent events: `id` is the sequence number, `event` the type, `data` the whole record. Ends with the reader. */
export async function streamEvents(
  deps: EventStreamDeps,
  rights: (end: (reason: ProblemError) => void) => () => void,
): Promise<void> {
  const { hub, response, requestId, passes, position } = deps
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, deps.signal])
  response.on('close', () => ended.abort())
  response.on('error', () => ended.abort())
  const unwatch = rights((reason) => {
    response.write(`event: error\ndata: ${JSON.stringify(problemOf(reason, { requestId }))}\n\n`)
    ended.abort()
  })
  const beat = setInterval(() => {
    // Nothing was taken since the last beat either: the reader is gone, or hopelessly behind, and can resume.
    if (needsDrain(response)) response.destroy()
    else response.write(': \n\n')
  }, beatMilliseconds)

  try {
    response.writeHead(200, {
      ...apiHeaders,
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
      'x-request-id': requestId,
    })
    await write(`retry: 2000\nid: ${position}\nevent: start\ndata: {"seq":${position}}\n\n`)
    for await (const events of hub.follow(position, passes, signal)) await write(events.map(eventText).join(''))
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearInterval(beat)
    unwatch()
    response.end()
  }

  async function write(text: string): Promise<void> {
    if (!response.write(text)) await once(response, 'drain', { signal })
  }
}

const beatMilliseconds = 15_000

/** An answer by HTTP/2 does not say so itself, its stream does. */
function needsDrain(response: ServerResponse): boolean {
  const { stream } = response as { readonly stream?: { readonly writableNeedDrain: boolean } }
  return response.writableNeedDrain ?? stream?.writableNeedDrain ?? false
}

function eventText(event: EventRecord): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
