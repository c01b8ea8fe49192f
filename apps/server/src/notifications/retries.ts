/** A message that could not be delivered for so long is given up. */
export const givesUpAfterMs = 24 * 3600 * 1000
const firstSeconds = 10
const mostSeconds = 3600

/**
 * When a delivery is tried again that has failed `attempts` times; null when its day is over. Twice as long each time, up to an hour; a receiver that
 * asks for patience gets it. `chance` (0 to 1) spreads what failed together over a fifth of the time.
 */
export function nextTry(
  { attempts, createdAt }: { readonly attempts: number; readonly createdAt: string },
  now: Date,
  retryAfterSeconds: number | null,
  chance: number,
): Date | null {
  const usual = Math.min(firstSeconds * 2 ** Math.min(attempts - 1, 20), mostSeconds) * (1 + chance / 5)
  const next = now.getTime() + Math.max(usual, retryAfterSeconds ?? 0) * 1000
  return next - Date.parse(createdAt) > givesUpAfterMs ? null : new Date(next)
}
