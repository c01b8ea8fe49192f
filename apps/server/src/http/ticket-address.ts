import type { IncomingMessage } from 'node:http'

/**
 * A ticket stands in the address for a moment only: it is taken out before anything else reads the request, so that no log,
 * problem, audit entry or handler can have it.
 */
export function takeTicket(message: IncomingMessage): string {
  const url = message.url ?? '/'
  // Nearly every request ends here.
  if (!url.includes('ticket=')) return url
  const start = url.indexOf('?')
  if (start === -1) return url
  const parts = url.slice(start + 1).split('&')
  const others = parts.filter((part) => !part.startsWith(prefix))
  if (others.length === parts.length) return url
  const found = parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
  // Of two, neither: who sends more than one does not know what he asks for.
  tickets.set(message, found.length === 1 ? found[0]! : '')
  return url.slice(0, start) + (others.length === 0 ? '' : `?${others.join('&')}`)
}

/** The ticket that the request came with; empty for one that cannot be right. */
export function ticketOf(message: IncomingMessage): string | undefined {
  return tickets.get(message)
}

/** Path and query, written the one way in which they are compared. */
export function targetOf({ pathname, search }: URL): string {
  return pathname + search
}

/** The same of a request, after `takeTicket`. */
export function requestTarget(message: IncomingMessage): string {
  return targetOf(new URL(message.url ?? '/', 'http://service'))
}

const prefix = 'ticket='
const tickets = new WeakMap<IncomingMessage, string>()
