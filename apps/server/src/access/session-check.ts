import { timingSafeEqual } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import { type KnownSession, type Store, ticketBeginMs, ticketDownloadMs } from '@stackquay/store'
import { hashOf } from './token-value.ts'

/** The two halves of a session as they came; neither is anybody without the other. */
export interface SessionHalves {
  /** The secrets of the cookies of our name. */
  readonly cookies: readonly string[]
  readonly key: string | undefined
}

export interface TicketUse {
  readonly cookies: readonly string[]
  readonly ticket: string
  /** Path and query of the request without the ticket. */
  readonly target: string
  /** Goes on with a download that it began: `Range` with `If-Range`. */
  readonly resumes: boolean
}

export interface SessionCheck {
  /** Null for a caller who has not both halves; throws `unauthorized` for two that do not belong together. */
  byHalves(halves: SessionHalves): Promise<KnownSession | null>
  /** Takes the ticket: nobody begins with it again. Throws `ticket_invalid`. */
  byTicket(use: TicketUse): Promise<KnownSession>
  /** The session that an open stream began under. */
  again(session: string): Promise<KnownSession>
}

export function createSessionCheck(
  store: Pick<Store, 'sessions' | 'tickets' | 'transaction'>,
  now: () => number,
): SessionCheck {
  return {
    async byHalves({ cookies, key }) {
      if (key === undefined || cookies.length === 0) return null
      const known = await store.sessions.byKey(hashOf(key))
      if (known === null || !holds(cookies, known.session.cookieHash)) throw ended()
      return known
    },

    async byTicket({ cookies, ticket, target, resumes }) {
      const hash = hashOf(ticket)
      const row = await store.tickets.find(hash)
      const known = row === null ? null : await store.sessions.byId(row.session)
      // Which of these it is would tell a stranger with a found ticket whether it is one.
      if (row === null || known === null || !holds(cookies, known.session.cookieHash))
        throw invalid('The ticket is not one of this session, or its time is over.')
      if (row.target !== target) throw invalid('The ticket was made for another address.')
      if (resumes && row.begunAt !== null) {
        if (now() <= Date.parse(row.begunAt) + ticketDownloadMs) return known
        throw invalid('The download began more than an hour ago.')
      }
      if (row.begunAt !== null) throw invalid('The ticket was used already.')
      if (now() > Date.parse(row.createdAt) + ticketBeginMs) throw invalid('The ticket is older than 30 seconds.')
      if (!(await store.transaction((tx) => tx.tickets.begin(hash)))) throw invalid('The ticket was used already.')
      return known
    },

    async again(session) {
      const known = await store.sessions.byId(session)
      if (known === null) throw ended()
      return known
    },
  }
}

/** Looks at every cookie, so that the time does not tell which of them was right. */
function holds(cookies: readonly string[], cookieHash: string): boolean {
  const wanted = Buffer.from(cookieHash)
  let found = false
  for (const cookie of cookies) found = timingSafeEqual(Buffer.from(hashOf(cookie)), wanted) || found
  return found
}

function ended(): ProblemError {
  return new ProblemError('unauthorized', 'The session has ended.', { hint: 'Log in again.', headers })
}

function invalid(detail: string): ProblemError {
  return new ProblemError('ticket_invalid', detail, { headers })
}

const headers = { 'www-authenticate': 'Bearer realm="stackquay"' }
