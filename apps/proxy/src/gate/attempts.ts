/** Wrong passwords of one address in front of one route. */
export interface Attempts {
  /** Seconds to wait; 0 when another may be tried. */
  waitOf(client: string | null, now: number): number
  failed(client: string | null, now: number): void
  succeeded(client: string | null): void
  /** One after the other: many guesses at the same moment would each find that one more is free. */
  inTurn<T>(client: string | null, attempt: () => Promise<T>): Promise<T>
}

const freeAttempts = 10
const windowMs = 15 * 60_000
const longestMs = 15 * 60_000
/** A client can invent addresses (IPv6); the oldest are forgotten first. */
const mostKept = 20_000

/** Ten are free, then each further one doubles the wait, from a second to a quarter of an hour. */
export function createAttempts(): Attempts {
  const known = new Map<string, { count: number; since: number; until: number }>()
  const turns = new Map<string, Promise<unknown>>()
  return {
    waitOf(client, now) {
      const one = known.get(keyOf(client))
      return one === undefined || now >= one.until ? 0 : Math.ceil((one.until - now) / 1000)
    },
    failed(client, now) {
      const key = keyOf(client)
      const before = known.get(key)
      const fresh = before === undefined || now - before.since > windowMs + (before.until - before.since)
      const count = fresh ? 1 : before.count + 1
      const wait = count < freeAttempts ? 0 : Math.min(longestMs, 1000 * 2 ** (count - freeAttempts))
      known.delete(key)
      known.set(key, { count, since: fresh ? now : before.since, until: now + wait })
      if (known.size > mostKept) known.delete(known.keys().next().value!)
    },
    succeeded(client) {
      known.delete(keyOf(client))
    },
    inTurn(client, attempt) {
      const key = keyOf(client)
      const mine = (turns.get(key) ?? Promise.resolve()).then(attempt)
      const settled = mine
        .catch(() => {})
        .then(() => {
          if (turns.get(key) === settled) turns.delete(key)
        })
      turns.set(key, settled)
      return mine
    },
  }
}

/** The owner of one address of an IPv6 network has all of its /64. */
function keyOf(client: string | null): string {
  if (client === null) return 'unknown'
  if (!client.includes(':')) return client
  const groups = client.split('::', 1)[0]!.split(':')
  return `${groups.slice(0, 4).join(':')}::`
}
