import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AcmeFailure,
  type AcmeFailureCode,
  type Attempts,
  afterFailure,
  afterSuccess,
  askedByPerson,
  begun,
  challengeRefusal,
  isPublicName,
  mostFailuresPerHour,
  nextAttempt,
  nextDue,
  nextWindowQuestion,
  noAttempts,
  normalNames,
  renewalTime,
  type Scheduled,
  wantedCertificates,
} from '../src/index.ts'
import { retryAfter } from '../src/protocol/retry-after.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const start = Date.parse('2026-03-01T00:00:00Z')
const at = (ms: number) => new Date(start + ms)

const failure = (code: AcmeFailureCode, notBefore: Date | null = null): AcmeFailure => ({
  code,
  detail: 'because',
  name: null,
  notBefore: notBefore?.toISOString() ?? null,
})

test('a certificate of 90 days is renewed at two thirds of its life, a little earlier by chance, one of six days at half', () => {
  const life = { notBefore: at(0), notAfter: at(90 * day) }
  assert.deepEqual(renewalTime(life, null, 0), at(60 * day))
  const early = renewalTime(life, null, 1).getTime()
  assert.ok(early >= at(58 * day).getTime() && early < at(60 * day).getTime())
  assert.deepEqual(renewalTime({ notBefore: at(0), notAfter: at(6 * day) }, null, 0), at(3 * day))
})

test('the window that the authority gives comes first, also one in the past; nonsense does not', () => {
  const life = { notBefore: at(0), notAfter: at(90 * day) }
  const window = (from: number, to: number) => ({ start: at(from), end: at(to), askAgainAt: null })
  assert.deepEqual(renewalTime(life, window(20 * day, 22 * day), 0.5), at(21 * day))
  assert.deepEqual(renewalTime(life, window(-5 * day, -4 * day), 0), at(-5 * day))
  assert.deepEqual(renewalTime(life, window(200 * day, 210 * day), 0), at(60 * day))
  assert.deepEqual(renewalTime(life, window(22 * day, 20 * day), 0), at(60 * day))
})

test('a window is asked for again no sooner than in a minute and no later than in a day', () => {
  const window = (askAgainAt: Date | null) => ({ start: at(0), end: at(1), askAgainAt })
  assert.deepEqual(nextWindowQuestion(window(at(0)), at(0)), at(minute))
  assert.deepEqual(nextWindowQuestion(window(at(50 * day)), at(0)), at(day))
  assert.deepEqual(nextWindowQuestion(window(null), at(0)), at(6 * hour))
})

/** Lives for a while in which every attempt ends in this way, with restarts at each minute, and counts the attempts. */
function attemptsWithin(span: number, end: (before: Attempts, now: Date, random: number) => Attempts): number {
  let attempts = noAttempts
  let count = 0
  for (let now = 0; now < span; now += minute) {
    // A service that starts knows nothing but what is stored.
    attempts = JSON.parse(JSON.stringify(attempts))
    if (nextAttempt(attempts, at(now)).getTime() > at(now).getTime()) continue
    count += 1
    attempts = end(attempts, at(now), 0.5)
  }
  return count
}

for (const code of ['challenge_failed', 'server_unreachable', 'dns_provider_failed'] as const)
  test(`a week of ${code}, with a restart each minute, is a handful of attempts: never five in an hour`, () => {
    const fails = (before: Attempts, now: Date, random: number) => afterFailure(before, failure(code), now, random)
    assert.ok(attemptsWithin(hour, fails) <= 5, String(attemptsWithin(hour, fails)))
    assert.ok(attemptsWithin(7 * day, fails) < 30, String(attemptsWithin(7 * day, fails)))
    assert.ok(attemptsWithin(7 * day, fails) > 10)
  })

test('a service that crashes in the middle of every attempt makes no storm either', () => {
  assert.ok(attemptsWithin(hour, begun) <= 4, String(attemptsWithin(hour, begun)))
  assert.ok(attemptsWithin(7 * day, begun) < 30)
})

test('in any hour at most four proofs fail, however often a person asks for it at once', () => {
  let attempts = noAttempts
  let count = 0
  for (let now = 0; now < hour; now += 10_000) {
    attempts = askedByPerson(attempts)
    if (nextAttempt(attempts, at(now)).getTime() > at(now).getTime()) continue
    count += 1
    attempts = afterFailure(attempts, failure('challenge_failed'), at(now), 0)
  }
  assert.equal(count, 4)
})

test('what is obtained again and again without being kept stops before the limit of a week', () => {
  assert.equal(
    attemptsWithin(6 * day, (before, now) => afterSuccess(before, now)),
    4,
  )
})

test('what the authority said is waited for, also when a person asks; what only a person can mend waits long', () => {
  const limited = afterFailure(noAttempts, failure('rate_limited', at(30 * hour)), at(0), 0.5)
  assert.ok(nextAttempt(limited, at(1)).getTime() >= at(30 * hour).getTime())
  assert.ok(nextAttempt(askedByPerson(limited), at(1)).getTime() >= at(30 * hour).getTime())
  const terms = afterFailure(noAttempts, failure('terms_not_agreed'), at(0), 0)
  assert.ok(nextAttempt(terms, at(1)).getTime() >= at(12 * hour).getTime())
  assert.deepEqual(nextAttempt(askedByPerson(terms), at(1)), at(1))
})

test('a success ends the pauses, and forgets no failed proof of this hour', () => {
  let attempts = noAttempts
  for (let turn = 0; turn < 3; turn += 1) attempts = afterFailure(attempts, failure('challenge_failed'), at(turn), 0)
  attempts = afterSuccess(attempts, at(minute))
  assert.equal(attempts.failure, null)
  assert.equal(attempts.failures, 0)
  assert.equal(attempts.failedProofs.length, 3)
})

test('Retry-After as seconds and as a date; nonsense is none, and nobody holds us for ever', () => {
  assert.deepEqual(retryAfter('120', at(0)), at(2 * minute))
  assert.deepEqual(retryAfter(at(hour).toUTCString(), at(0)), at(hour))
  assert.equal(retryAfter('soon', at(0)), null)
  assert.equal(retryAfter(undefined, at(0)), null)
  assert.deepEqual(retryAfter('9999999999', at(0)), at(30 * day))
  assert.deepEqual(retryAfter(at(-day).toUTCString(), at(0)), at(0))
})

test('a challenge whose port is not ours is refused with what to do; a wildcard only by DNS', () => {
  const none = { http: false, https: false }
  assert.equal(challengeRefusal('http-01', ['shop.example.org'], none)?.code, 'port_80_elsewhere')
  assert.equal(challengeRefusal('tls-alpn-01', ['shop.example.org'], none)?.code, 'port_443_elsewhere')
  assert.equal(challengeRefusal('dns-01', ['*.example.org'], none), null)
  const both = { http: true, https: true }
  assert.equal(challengeRefusal('http-01', ['shop.example.org'], both), null)
  assert.equal(challengeRefusal('http-01', ['*.example.org'], both)?.code, 'wildcard_needs_dns')
})

test('which names are public', () => {
  for (const name of ['example.org', '*.example.org', 'xn--bcher-kva.example.org', 'a.b.c.example.io'])
    assert.equal(isPublicName(name), true, name)
  for (const name of [
    'localhost',
    'shop.localhost',
    'nas.local',
    'a.test',
    '127.0.0.1',
    'x..org',
    'org',
    '-a.org',
    'a b.org',
    'db.internal',
  ])
    assert.equal(isPublicName(name), false, name)
})

test('names are ordered once, in small letters, and none that a wildcard beside it covers', () => {
  assert.deepEqual(
    normalNames(['Shop.Example.org', '*.example.org', 'example.org.', 'shop.example.org', 'a.b.example.org']),
    ['*.example.org', 'a.b.example.org', 'example.org'],
  )
})

test('each public host gets a certificate of its own; with the wildcard those of the base domain share one', () => {
  const hosts = ['shop.example.org', 'a--shop.example.org', 'www.other.net', 'shop.localhost']
  const subjects = (change: object) =>
    wantedCertificates({ names: null, wildcard: false, baseDomain: 'example.org', hosts, ...change }).map(
      ({ subject }) => subject,
    )
  assert.deepEqual(subjects({}), ['a--shop.example.org', 'shop.example.org', 'www.other.net'])
  assert.deepEqual(subjects({ wildcard: true }), ['*.example.org', 'www.other.net'])
  assert.deepEqual(subjects({ names: ['Shop.localhost', 'shop.localhost'] }), ['shop.localhost'])
  const [wide] = wantedCertificates({ names: [], wildcard: true, baseDomain: 'example.org', hosts })
  assert.deepEqual(wide?.names, ['*.example.org', 'example.org', '*.share.example.org'])
})

function scheduled(subject: string, change: Partial<Scheduled> = {}): Scheduled {
  return { subject, names: [subject], attempts: noAttempts, certificate: null, ...change }
}

test('what ends first is renewed first, then what has no certificate; what failed most comes last', () => {
  const held = (days: number) => ({
    names: ['x'],
    notAfter: at(days * day).toISOString(),
    nextRenewal: at(-day).toISOString(),
  })
  const failedOnce = afterFailure(noAttempts, failure('challenge_failed'), at(-2 * day), 0)
  let all = [
    scheduled('failed', { attempts: failedOnce }),
    scheduled('new'),
    scheduled('late', { names: ['x'], certificate: held(20) }),
    scheduled('soon', { names: ['x'], certificate: held(3) }),
  ]
  const order: string[] = []
  for (let next = nextDue(all, at(0)).one; next !== null; next = nextDue(all, at(0)).one) {
    order.push(next.subject)
    all = all.filter((one) => one !== next)
  }
  assert.deepEqual(order, ['soon', 'late', 'new', 'failed'])
})

test('a certificate whose names are others now is due at once, one that is fine at its time', () => {
  const certificate = { names: ['x'], notAfter: at(90 * day).toISOString(), nextRenewal: at(60 * day).toISOString() }
  assert.equal(nextDue([scheduled('x', { certificate })], at(0)).one, null)
  assert.deepEqual(nextDue([scheduled('x', { certificate })], at(0)).lookAt, at(60 * day))
  assert.equal(nextDue([scheduled('x', { certificate, names: ['x', 'y'] })], at(0)).one?.subject, 'x')
})

test('thousands of names that fail use up no more than so many proofs an hour, and keep no renewal waiting', () => {
  const names = new Map(Array.from({ length: 200 }, (_, index) => [`n${index}`, scheduled(`n${index}`)]))
  const certificate = { names: ['kept'], notAfter: at(day).toISOString(), nextRenewal: at(30 * minute).toISOString() }
  let proofs = 0
  let renewed: number | null = null
  for (let now = 0; now < hour; now += 10_000) {
    const kept = renewed === null ? [scheduled('kept', { certificate })] : []
    const { one } = nextDue([...names.values(), ...kept], at(now))
    if (one === null) continue
    if (one.subject === 'kept') renewed = now
    else {
      proofs += 1
      names.set(one.subject, { ...one, attempts: afterFailure(one.attempts, failure('challenge_failed'), at(now), 0) })
    }
  }
  assert.equal(proofs, mostFailuresPerHour)
  assert.equal(renewed, 30 * minute)
})
