import type { Operation } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { createAdmission } from './admission.ts'
import { type EventWishes, eventFilter } from './event-filter.ts'
import { resumePosition, streamEvents } from './event-stream.ts'
import type { EventsHub } from './events-hub.ts'
import { parserOf } from './parse.ts'
import { requireRaised } from './rights.ts'
import type { RightsWatch } from './rights-watch.ts'

export interface EventRouteDeps {
  readonly hub: EventsHub
  readonly store: Pick<Store, 'projects'>
  readonly admit: ReturnType<typeof createAdmission>
  readonly rights: RightsWatch
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
  readonly log: { error(details: object, message: string): void }
}

/** `GET /events`: refusals are problems as everywhere; once it flows, the connection belongs to the stream. */
export function eventRoute(operation: Operation, { hub, store, admit, rights, stopping, log }: EventRouteDeps) {
  const parse = parserOf(operation)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { raw: message, id: requestId, principal } = request
    const { query } = parse(request) as { query: { after?: number } & EventWishes }
    requireRaised(principal, operation, { query })
    let caller = principal
    const passes = await eventFilter(query, () => caller, store)
    const position = await hub.begin(resumePosition(message, query.after))
    const check = async () => {
      const now = await admit({ operation, params: {}, message, again: principal })
      if (now.refusal === null) caller = now.principal
      return now.refusal
    }
    reply.hijack()
    await streamEvents({ hub, response: reply.raw, requestId, passes, position, signal: stopping }, (end) =>
      rights.add({ check, end }),
    ).catch((error: unknown) => log.error({ err: error, requestId }, 'The event stream failed.'))
  }
}
