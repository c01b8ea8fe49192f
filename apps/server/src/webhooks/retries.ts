/** Seconds from one attempt to the next; after the last of them a delivery has failed: about three days in all. */
export const retrySeconds = [
  5,
  5 * 60,
  30 * 60,
  2 * 3600,
  5 * 3600,
  10 * 3600,
  14 * 3600,
  20 * 3600,
  24 * 3600,
] as const

/** A webhook that has failed for so long, without one delivery that arrived, is switched off. */
export const givesUpAfterMs = 5 * 24 * 3600 * 1000

/**
 * When a delivery is tried again that has failed `attempts` times; null when that was the last. A receiver that asks for
 * patience (`Retry-After`) gets it, up to a day. `chance` (0 to 1) spreads what failed together over a tenth of the time.
 */
export function nextAttempt(
  attempts: number,
  now: Date,
  retryAfterSeconds: number | null,
  chance: number,
): Date | null {
  const seconds = retrySeconds[attempts - 1]
  if (seconds === undefined) return null
  const wanted = Math.max(seconds * (1 + chance / 10), Math.min(retryAfterSeconds ?? 0, 24 * 3600))
  return new Date(now.getTime() + wanted * 1000)
}

/** `Retry-After` is seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, (date - now.getTime()) / 1000)
}
