/** RFC 9773: between these moments the certificate authority wants a certificate renewed. */
export interface RenewalWindow {
  readonly start: Date
  readonly end: Date
  /** When it may be asked again; null when it did not say. */
  readonly askAgainAt: Date | null
}

export interface Lifetime {
  readonly notBefore: Date
  readonly notAfter: Date
}

const minute = 60_000
const day = 24 * 60 * minute
/** Certificates of days leave less room for attempts: half of life instead of a third. */
const shortLifeMs = 10 * day
/** So much of the life the moment is moved to the front at random: thousands of instances do not come at once. */
const jitterPart = 0.02

/** When to renew. `random` (0 to 1) is drawn once for a certificate and kept, so that the moment does not wander. */
export function renewalTime({ notBefore, notAfter }: Lifetime, window: RenewalWindow | null, random: number): Date {
  const life = notAfter.getTime() - notBefore.getTime()
  const part = life < shortLifeMs ? 1 / 2 : 2 / 3
  const usual = notBefore.getTime() + life * (part - jitterPart * random)
  const wanted = window === null ? null : within(window, random)
  // A window in the past asks for a renewal now (a revocation, for example); one beyond the end is nonsense.
  const at = wanted === null || wanted >= notAfter.getTime() - minute ? usual : wanted
  return new Date(at)
}

function within({ start, end }: RenewalWindow, random: number): number | null {
  const span = end.getTime() - start.getTime()
  return Number.isFinite(span) && span >= 0 ? start.getTime() + span * random : null
}

/** RFC 9773, 4.3: asked about four times a day, never more often than each minute, whatever the server says. */
export function nextWindowQuestion(window: RenewalWindow | null, now: Date): Date {
  const usual = now.getTime() + 6 * 60 * minute
  const asked = window?.askAgainAt?.getTime() ?? usual
  return new Date(Math.min(Math.max(asked, now.getTime() + minute), now.getTime() + day))
}
