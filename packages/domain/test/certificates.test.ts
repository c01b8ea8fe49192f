import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  certificateFor,
  certificateTroubles,
  isLeafDue,
  type KnownCertificate,
  leafTimes,
  localDomains,
  localLeaves,
  nameCovers,
  renewalOf,
  servedNames,
  wildcardOf,
} from '../src/index.ts'

const now = new Date('2026-11-27T12:00:00.000Z')
const day = 24 * 3600_000
const inDays = (days: number) => new Date(now.getTime() + days * day).toISOString()

function certificate(id: string, names: readonly string[], traits: Partial<KnownCertificate> = {}): KnownCertificate {
  return { id, names, source: 'own', notBefore: inDays(-10), notAfter: inDays(80), ...traits }
}

test('a wildcard stands for one label, and for no name above or below it', () => {
  assert.equal(nameCovers('*.example.org', 'shop.example.org'), true)
  for (const host of ['example.org', 'a.shop.example.org', 'shopexample.org', '.example.org', '*.shop.example.org'])
    assert.equal(nameCovers('*.example.org', host), false, host)
  assert.equal(nameCovers('*.example.org', '*.example.org'), true)
})

test('no wildcard is made that clients do not take', () => {
  assert.equal(wildcardOf('shop.localhost'), null)
  assert.equal(wildcardOf('localhost'), null)
  assert.equal(wildcardOf('storage.shop.localhost'), '*.shop.localhost')
})

test('valid over expired, then by source, then an exact name, then the one that lasts longest', () => {
  const local = certificate('local', ['shop.example.org'], { source: 'local', notAfter: inDays(300) })
  const acme = certificate('acme', ['*.example.org'], { source: 'acme' })
  const own = certificate('own', ['*.example.org'])
  const exact = certificate('exact', ['shop.example.org'])
  const later = certificate('later', ['shop.example.org'], { notAfter: inDays(81) })
  const expired = certificate('expired', ['shop.example.org'], { notAfter: inDays(-1) })
  const early = certificate('early', ['shop.example.org'], { notBefore: inDays(1) })
  const chosen = (...all: KnownCertificate[]) => certificateFor('shop.example.org', all, now)?.id ?? null
  assert.equal(chosen(local, acme, own, exact, later, expired), 'later')
  assert.equal(chosen(local, acme, own, exact), 'exact')
  assert.equal(chosen(local, acme, own), 'own')
  assert.equal(chosen(local, acme), 'acme')
  assert.equal(chosen(expired, early, local), 'local')
  assert.equal(chosen(expired), 'expired')
  assert.equal(chosen(certificate('other', ['example.org'])), null)
})

test('whoever takes an exact name over a wildcard, else the first, chooses the same from what it is told', () => {
  const sources = ['own', 'acme', 'local'] as const
  const names = ['shop.example.org', '*.example.org', 'a.example.org', '*.a.example.org']
  const hosts = ['shop.example.org', 'a.example.org', 'b.example.org', 'x.a.example.org']
  // Every pair of names, sources and ends.
  const all = sources.flatMap((source) =>
    [-1, 30, 60].flatMap((days) =>
      names.map((name) => certificate(`${source} ${days} ${name}`, [name], { source, notAfter: inDays(days) })),
    ),
  )
  let compared = 0
  for (const one of all) {
    for (const other of all) {
      if (one === other) continue
      const told = servedNames([one, other], now)
      for (const host of hosts) {
        const wanted = certificateFor(host, [one, other], now)
        const exact = told.find((entry) => entry.names.includes(host))
        const got = exact ?? told.find((entry) => entry.names.some((name) => nameCovers(name, host)))
        const rank = (of: KnownCertificate | null | undefined) =>
          of == null ? null : [of.source, of.notAfter > now.toISOString()].join()
        assert.equal(
          rank(got?.certificate),
          rank(wanted),
          `${host}: ${got?.certificate.id} in place of ${wanted?.id} (${one.id}, ${other.id})`,
        )
        compared += 1
      }
    }
  }
  assert.equal(compared, all.length * (all.length - 1) * hosts.length)
})

test('the local authority speaks for private names and the base domain alone', () => {
  const domains = localDomains('dev.example.org')
  assert.deepEqual(domains, ['localhost', 'test', 'internal', 'local', 'lan', 'home.arpa', 'dev.example.org'])
  for (const base of ['apps.test', 'localhost', 'dev', 'com'])
    assert.equal(localDomains(base).includes(base), base === 'localhost')
  const needed = [
    { host: 'shop.dev.example.org', project: 'a' },
    { host: 'queue--shop.dev.example.org', project: 'a' },
    { host: 'storage.shop.dev.example.org', project: 'a' },
    { host: 'shop.example.com', project: 'a' },
    { host: 'blog.test', project: 'b' },
  ]
  assert.deepEqual(
    [...localLeaves(needed, { baseDomain: 'dev.example.org', domains })],
    [
      ['instance', ['*.dev.example.org', '*.share.dev.example.org', 'dev.example.org']],
      ['a', ['storage.shop.dev.example.org']],
      ['b', ['blog.test']],
    ],
  )
})

test('below "localhost" every name is named, because no client takes its wildcard', () => {
  const domains = localDomains('localhost')
  const leaves = localLeaves(
    [
      { host: 'shop.localhost', project: 'a' },
      { host: 'blog.localhost', project: 'b' },
      { host: 'storage.blog.localhost', project: 'b' },
    ],
    { baseDomain: 'localhost', domains },
  )
  assert.deepEqual(Object.fromEntries(leaves), {
    instance: ['*.share.localhost'],
    a: ['shop.localhost'],
    b: ['blog.localhost', 'storage.blog.localhost'],
  })
})

test('a leaf is renewed after two thirds of its time, is never longer than a browser takes, nor than its authority', () => {
  const { notBefore, notAfter } = leafTimes(now, new Date(inDays(3000)))
  assert.equal((notAfter.getTime() - notBefore.getTime()) / day, 397)
  assert.equal(leafTimes(now, new Date(inDays(5))).notAfter.toISOString(), inDays(5))
  for (const chance of [0, 0.5, 1]) {
    const at = (renewalOf({ notBefore, notAfter }, chance).getTime() - notBefore.getTime()) / (397 * day)
    assert.ok(at >= 0.666 && at <= 0.72, String(at))
  }
  const leaf = { names: ['a', 'b'], notAfter: inDays(300), nextRenewal: inDays(1) }
  assert.equal(isLeafDue(leaf, ['b', 'a'], now), false)
  assert.equal(isLeafDue(leaf, ['a'], now), true)
  assert.equal(isLeafDue({ ...leaf, nextRenewal: inDays(-1) }, ['a', 'b'], now), true)
})

test('trouble is told of what hosts depend on, and of nothing else', () => {
  const needed = [{ host: 'shop.example.org', project: 'a' }]
  const of = (...all: readonly (KnownCertificate & { lastFailure?: null | { at: string; detail: string } })[]) =>
    certificateTroubles(
      all.map((one) => ({ lastFailure: null, ...one })),
      needed,
      now,
    ).map(({ id, kind }) => `${id} ${kind}`)
  const soon = certificate('soon', ['shop.example.org'], { notAfter: inDays(20) })
  const gone = certificate('gone', ['shop.example.org'], { notAfter: inDays(-1) })
  const failure = { at: inDays(-1), detail: 'no answer' }
  assert.deepEqual(of(soon), ['soon expiring'])
  assert.deepEqual(of(gone), ['gone expired'])
  assert.deepEqual(of({ ...soon, source: 'acme' }), [])
  assert.deepEqual(of({ ...soon, source: 'acme', lastFailure: failure }), ['soon failing'])
  assert.deepEqual(of(gone, certificate('next', ['*.example.org'])), [], 'another one serves it')
  assert.deepEqual(of(certificate('other', ['other.org'], { notAfter: inDays(-1) })), [], 'nothing here has that name')
})
