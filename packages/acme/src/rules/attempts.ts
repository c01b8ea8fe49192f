import type { AcmeFailure, AcmeFailureCode } from '../failure.ts'

/**
 * What has been tried for one certificate. It is kept by the caller, in the store: a service that restarts, or crashes in every
 * attempt, asks a certificate authority no more often than one that runs.
 */
export interface Attempts {
  /** In a row, since the last success. */
  readonly failures: number
  /** Of the last hour: when proofs were asked for and failed. */
  readonly failedProofs: readonly string[]
  /** Of the last week: when certificates were given. */
  readonly issued: readonly string[]
  /** Nothing is asked before; null for at once. */
  readonly notBefore: string | null
  readonly failure: (AcmeFailure & { readonly at: string }) | null
}

export const noAttempts: Attempts = { failures: 0, failedProofs: [], issued: [], notBefore: null, failure: null }

const minute = 60_000
const hour = 60 * minute
const week = 7 * 24 * hour
const firstPause = 2 * minute
const longestPause = 12 * hour
/** Let's Encrypt refuses after five failed proofs for a name in an hour; the fifth is left to a person. */
const mostFailedProofs = 4
/** Let's Encrypt gives five certificates for the same names in a week; the fifth is left to a person. */
const mostIssued = 4

/** What only a person can mend: asking more often changes nothing. */
const needsPerson: ReadonlySet<AcmeFailureCode> = new Set([
  'terms_not_agreed',
  'external_account_required',
  'challenge_unavailable',
])
const countsAsProof: ReadonlySet<AcmeFailureCode> = new Set(['challenge_failed', 'name_refused', 'interrupted'])

/** When the next attempt may begin. */
export function nextAttempt(attempts: Attempts, now: Date): Date {
  const earliest = [
    now.getTime(),
    attempts.notBefore === null ? 0 : Date.parse(attempts.notBefore),
    afterMany(attempts.failedProofs, hour, mostFailedProofs, now),
    afterMany(attempts.issued, week, mostIssued, now),
  ]
  return new Date(Math.max(...earliest))
}

/** When one of so many falls out of the span; 0 when there is room. */
function afterMany(moments: readonly string[], span: number, most: number, now: Date): number {
  const recent = since(moments, span, now)
  return recent.length < most ? 0 : Date.parse(recent[recent.length - most]!) + span
}

function since(moments: readonly string[], span: number, now: Date): readonly string[] {
  return moments
    .filter((moment) => Date.parse(moment) > now.getTime() - span)
    .sort()
    .slice(-10)
}

/** Written down before anything is asked: whoever is killed in the middle has failed once, and waits. */
export function begun(attempts: Attempts, now: Date, random: number): Attempts {
  const interrupted: AcmeFailure = {
    code: 'interrupted',
    detail: 'The service ended while the certificate was being obtained. It is tried again.',
    name: null,
    notBefore: null,
  }
  return afterFailure(attempts, interrupted, now, random)
}

/** `before` is what stood there when the attempt began, not what `begun` made of it. */
export function afterFailure(before: Attempts, failure: AcmeFailure, now: Date, random: number): Attempts {
  const failures = before.failures + 1
  const pause = needsPerson.has(failure.code)
    ? longestPause
    : Math.min(firstPause * 2 ** Math.min(failures - 1, 20), longestPause)
  // Only later, never earlier: many instances that failed together do not come back together.
  const own = now.getTime() + pause * (1 + random / 4)
  const theirs = failure.notBefore === null ? 0 : Date.parse(failure.notBefore) + random * minute
  return {
    failures,
    failedProofs: [
      ...since(before.failedProofs, hour, now),
      ...(countsAsProof.has(failure.code) ? [now.toISOString()] : []),
    ],
    issued: since(before.issued, week, now),
    notBefore: new Date(Math.max(own, theirs)).toISOString(),
    failure: { ...failure, at: now.toISOString() },
  }
}

export function afterSuccess(before: Attempts, now: Date): Attempts {
  return {
    ...noAttempts,
    failedProofs: since(before.failedProofs, hour, now),
    issued: [...since(before.issued, week, now), now.toISOString()],
  }
}

/** A person changed something, or asks for it now: the pause of our own is over, what the authority said holds. */
export function askedByPerson(attempts: Attempts): Attempts {
  return { ...attempts, notBefore: attempts.failure?.notBefore ?? null }
}
