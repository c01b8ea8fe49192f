import { apiPrefix, operationList, ProblemError } from '@stackquay/contract'
import { type Store, ticketBeginMs } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { createOperationPaths } from '../http/operation-paths.ts'
import { targetOf } from '../http/ticket-address.ts'
import { newSessionSecret } from './session-cookie.ts'
import { sessionOf } from './session-of.ts'
import { hashOf } from './token-value.ts'

export interface TicketDeps {
  readonly store: Pick<Store, 'transaction'>
  readonly now: () => number
}

const paths = createOperationPaths(apiPrefix, operationList)

/** Whether the session may read what stands at the address is asked when it is opened, by what holds then. */
export function ticketHandlers({ store, now }: TicketDeps) {
  return {
    async createTicket({ body }, context) {
      const { sessionId } = sessionOf(context)
      const target = ticketed(body.path)
      const ticket = newSessionSecret()
      await store.transaction((tx) => tx.tickets.insert({ hash: hashOf(ticket), session: sessionId, target }))
      return { status: 201, body: { ticket, expiresAt: new Date(now() + ticketBeginMs).toISOString() } }
    },
  } satisfies Partial<Handlers>
}

/** The address in the form in which a request for it arrives. */
function ticketed(path: string): string {
  const url = path.startsWith('/') ? URL.parse(path, 'http://service') : null
  const takesOne =
    url !== null &&
    url.host === 'service' &&
    url.hash === '' &&
    !url.searchParams.has('ticket') &&
    paths.at(url.pathname).some(({ operation }) => operation.ticket !== undefined)
  if (takesOne) return targetOf(url)
  const detail = 'This is no address that a ticket opens.'
  throw new ProblemError('validation_failed', `"path": ${detail}`, {
    hint: `Send path and query of a stream or a download, beginning with ${apiPrefix}. Everything else takes the header X-CSRF-Token.`,
    errors: [{ pointer: '/path', code: 'takes_no_ticket', detail }],
  })
}
