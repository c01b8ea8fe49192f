import { type Attempts, nextAttempt } from './attempts.ts'
import { isPublicName, isWildcard } from './names.ts'

/** A certificate that is wanted: one for each name, so that a name that fails keeps no other from its own. */
export interface Wanted {
  /** The first of its names. */
  readonly subject: string
  readonly names: readonly string[]
}

export interface WantedOptions {
  /** These, in place of every public name of here. */
  readonly names: readonly string[] | null
  /** One certificate for all names of the base domain. */
  readonly wildcard: boolean
  readonly baseDomain: string
  readonly hosts: readonly string[]
}

export function wantedCertificates({ names, wildcard, baseDomain, hosts }: WantedOptions): readonly Wanted[] {
  const wide = [`*.${baseDomain}`, baseDomain, `*.share.${baseDomain}`]
  const singles = (names ?? hosts.filter(isPublicName)).filter((name) => !wildcard || !isCovered(name, wide))
  const all = [...new Set(singles.map((name) => name.toLowerCase()))].toSorted()
  return [
    ...(wildcard ? [{ subject: wide[0]!, names: wide }] : []),
    ...all.map((subject) => ({ subject, names: [subject] })),
  ]
}

function isCovered(name: string, by: readonly string[]): boolean {
  return by.some(
    (one) =>
      one === name || (isWildcard(one) && !isWildcard(name) && name.slice(name.indexOf('.') + 1) === one.slice(2)),
  )
}

export interface Scheduled extends Wanted {
  readonly attempts: Attempts
  /** What there is now; null without one. */
  readonly certificate: {
    readonly names: readonly string[]
    readonly notAfter: string
    readonly nextRenewal: string | null
  } | null
}

const hour = 60 * 60 * 1000
/** Names that fail, however many: whoever adds a thousand of them does not use up what the authority allows all others. */
export const mostFailuresPerHour = 30

/** When this one is to be asked for. */
export function dueAt({ names, attempts, certificate }: Scheduled, now: Date): Date {
  const earliest = nextAttempt(attempts, now)
  const isOther = certificate === null || certificate.names.toSorted().join() !== names.toSorted().join()
  const renewal = isOther ? now : new Date(certificate.nextRenewal ?? certificate.notAfter)
  return new Date(Math.max(earliest.getTime(), renewal.getTime()))
}

/** Which one comes next, and when to look again. What is served and ends first comes first; what failed often comes last. */
export function nextDue<One extends Scheduled>(
  all: readonly One[],
  now: Date,
): { readonly one: One | null; readonly lookAt: Date | null } {
  const failed = all
    .flatMap(({ attempts }) => attempts.failedProofs)
    .filter((at) => Date.parse(at) > now.getTime() - hour)
  const isSpent = failed.length >= mostFailuresPerHour
  const moments = all.map((one) => ({ one, at: dueAt(one, now) }))
  const due = moments
    .filter(({ one, at }) => at <= now && (!isSpent || one.certificate !== null))
    .map(({ one }) => one)
    .toSorted(byUrgency)
  const later = moments.filter(({ at }) => at > now).map(({ at }) => at.getTime())
  const room = isSpent ? [Date.parse(failed.toSorted()[failed.length - mostFailuresPerHour]!) + hour] : []
  const times = [...later, ...room]
  return { one: due[0] ?? null, lookAt: times.length === 0 ? null : new Date(Math.min(...times)) }
}

function byUrgency(a: Scheduled, b: Scheduled): number {
  const end = ({ certificate }: Scheduled) =>
    certificate === null ? Number.POSITIVE_INFINITY : Date.parse(certificate.notAfter)
  const ends = end(a) === end(b) ? 0 : end(a) - end(b)
  return ends || a.attempts.failures - b.attempts.failures || a.subject.localeCompare(b.subject)
}
