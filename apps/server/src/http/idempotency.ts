import { createHmac, randomBytes } from 'node:crypto'
import { type Operation, ProblemError } from '@stackquay/contract'
import type { Store, StoredAnswer } from '@stackquay/store'
import type { Principal } from './handler.ts'

/** An answer ready to be stored, when its body is text, or sent. */
export interface Answer<Body extends string | Buffer = string> {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

export interface KeyedRequest {
  readonly operation: Operation
  readonly principal: Principal
  /** The Idempotency-Key header. */
  readonly key: string
  /** Path and query as sent. */
  readonly url: string
  readonly body: unknown
}

/**
 * Runs a POST at most once per caller and key. What is remembered for 24 hours: every answer that a repetition would
 * not improve. Forgotten at once, so that the same key can be used again: failures of the service, and refusals that
 * waiting mends (`retryable`, such as `busy`).
 */
export interface Idempotency {
  run(request: KeyedRequest, work: () => Promise<Answer>): Promise<Answer>
}

export interface IdempotencyDeps {
  readonly store: Pick<Store, 'transaction' | 'secrets'>
  readonly log: { error(details: object, message: string): void }
  readonly now: () => number
}

export function createIdempotency({ store, log, now }: IdempotencyDeps): Idempotency {
  /** Requests of this process. A stored "running" that is not among them died with an earlier process. */
  const running = new Set<string>()
  const answers = createStoredAnswers({ store, log })
  const fingerprintOf = createFingerprints(store)
  let expiredAt = 0

  const runOnce = async (caller: string, key: string, work: () => Promise<Answer>): Promise<Answer> => {
    try {
      const answer = await work()
      if (isFinal(answer)) await answers.complete(caller, key, answer)
      else await answers.forget(caller, key)
      return answer
    } catch (error) {
      await answers.forget(caller, key)
      throw error
    }
  }
  const expireHourly = () => {
    if (now() - expiredAt < 3_600_000) return
    expiredAt = now()
    answers.expire(new Date(now() - 24 * 3_600_000))
  }

  return {
    async run(request, work) {
      const key = keyIn(request.key)
      const caller = callerOf(request.principal)
      const place = `${caller} ${key}`
      if (running.has(place)) throw inProgress()
      running.add(place)
      expireHourly()
      try {
        const fingerprint = await fingerprintOf(request)
        const stored = await answers.reserve(caller, key, fingerprint)
        if (stored !== null) return replay(stored, fingerprint)
        return await runOnce(caller, key, work)
      } finally {
        running.delete(place)
      }
    },
  }
}

function createStoredAnswers({ store, log }: Pick<IdempotencyDeps, 'store' | 'log'>) {
  const failed = (message: string) => (error: unknown) => log.error({ err: error }, message)
  return {
    /** The answer of the first request; null for that request itself. */
    reserve: (caller: string, key: string, fingerprint: string): Promise<StoredAnswer | null> =>
      store.transaction(async (tx) => {
        const first = await tx.idempotency.reserve(caller, key, fingerprint)
        if (first.reserved) return null
        if (first.stored.state === 'done' || first.stored.fingerprint !== fingerprint) return first.stored
        // The process that ran it ended in the middle. Whatever it did, doing it again is safe: names are unique and
        // reaching a state twice is reaching it once.
        return null
      }),
    /** The work is done, so its answer is sent even when it cannot be stored. */
    complete: (caller: string, key: string, { status, headers, body }: Answer): Promise<void> =>
      store
        .transaction((tx) => tx.idempotency.complete(caller, key, { status, headers: { ...headers }, body }))
        .catch(failed('The answer of an idempotent request could not be stored.')),
    forget: (caller: string, key: string): Promise<void> =>
      store
        .transaction((tx) => tx.idempotency.forget(caller, key))
        .catch(failed('The key of a failed request could not be forgotten.')),
    expire: (before: Date): void => {
      store
        .transaction((tx) => tx.idempotency.expire(before.toISOString()))
        .catch(failed('Old idempotency keys could not be removed.'))
    },
  }
}

/**
 * Keyed with a sealed secret: bodies may hold passwords and variables, and a plain hash of one in the database would
 * let whoever reads the file try guesses.
 */
function createFingerprints(store: IdempotencyDeps['store']): (request: KeyedRequest) => Promise<string> {
  const name = 'idempotency-fingerprint'
  let sealingKey: Promise<string> | undefined
  const readSealingKey = async (): Promise<string> => {
    const known = await store.secrets.find(null, name)
    if (known) return (await store.secrets.reveal(known.secret)).expose()
    const text = randomBytes(32).toString('base64url')
    await store.transaction((tx) => tx.secrets.put(null, name, text))
    return text
  }
  return async ({ operation, url, body }) => {
    sealingKey ??= readSealingKey()
    const hmac = createHmac('sha256', await sealingKey)
    return hmac.update(`${operation.method} ${url}\n${JSON.stringify(body) ?? ''}`).digest('hex')
  }
}

function replay(stored: StoredAnswer, fingerprint: string): Answer {
  if (stored.fingerprint !== fingerprint) {
    throw new ProblemError(
      'idempotency_mismatch',
      'This Idempotency-Key was used for a request with another path or body.',
    )
  }
  if (stored.state === 'running') throw inProgress()
  return { status: stored.status, headers: { ...stored.headers, 'idempotency-replayed': 'true' }, body: stored.body }
}

function inProgress(): ProblemError {
  return new ProblemError('idempotency_in_progress', 'The first request with this Idempotency-Key is still running.', {
    headers: { 'retry-after': '1' },
  })
}

function isFinal({ status, headers, body }: Answer): boolean {
  if (status >= 500) return false
  if (headers['content-type'] !== 'application/problem+json') return true
  return (JSON.parse(body) as { retryable: boolean }).retryable === false
}

/** 1 to 255 printable characters; the quotes of the IETF draft's form do not count. */
function keyIn(header: string): string {
  const key = header.trim().replace(/^"(.*)"$/, '$1')
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw new ProblemError('invalid_request', 'The Idempotency-Key must be 1 to 255 printable characters without spaces.')
}

function callerOf(principal: Principal): string {
  switch (principal.kind) {
    case 'token':
      return principal.token.id
    case 'session':
    case 'key':
      return principal.user.id
    case 'anonymous':
      throw new TypeError('Only callers with credentials have idempotency keys.')
    default:
      return principal satisfies never
  }
}
