import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRecoveryCodes, recoveryCodeHash } from '../src/access/factors/recovery-codes.ts'
import { relyingPartyOf } from '../src/access/factors/relying-party.ts'
import { createSignedChallenges } from '../src/access/factors/signed-challenges.ts'
import { base32, codeAt, fromBase32, matchingStep, newTotpSecret, stepAt, totpUri } from '../src/access/factors/totp.ts'

const secret = Buffer.from('12345678901234567890')

test('codes are those of RFC 6238, appendix B', () => {
  const vectors: readonly [seconds: number, code: string][] = [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ]
  for (const [seconds, code] of vectors) assert.equal(codeAt(secret, stepAt(seconds * 1000), 8), code)
})

test('a code is right for its step, the one before and the one after, and for no other', () => {
  const text = base32(secret)
  const at = 1_234_567_890_000
  const step = stepAt(at)
  for (let away = -3; away <= 3; away++) {
    const found = matchingStep(text, codeAt(secret, step + away), at)
    assert.equal(found, Math.abs(away) <= 1 ? step + away : null, `${away}`)
  }
  const spaced = codeAt(secret, step).replace(/^(...)/, '$1 ')
  assert.equal(matchingStep(text, spaced, at), step)
  for (const wrong of ['', '12345', '1234567', 'abcdef', '١٢٣٤٥٦', '12345６'])
    assert.equal(matchingStep(text, wrong, at), null)
})

test('base32 is that of RFC 4648, and a secret has 160 bits', () => {
  for (const [text, coded] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const) {
    assert.equal(base32(Buffer.from(text)), coded)
    assert.equal(fromBase32(coded).toString(), text)
  }
  assert.equal(fromBase32(newTotpSecret()).length, 20)
  assert.throws(() => fromBase32('MZ0'), RangeError)
})

test('the address for apps names instance and account, whatever characters they have', () => {
  const uri = totpUri({ secret: 'MZXW6', issuer: 'Stackquay (quay.example.org:8700)', account: 'ada' })
  const url = new URL(uri)
  assert.equal(decodeURIComponent(url.pathname), '/Stackquay (quay.example.org 8700):ada')
  const issuer = 'Stackquay (quay.example.org 8700)'
  assert.deepEqual(Object.fromEntries(url.searchParams), { secret: 'MZXW6', issuer })
  assert.ok(!uri.includes('+'), 'some apps show a plus as it is')
})

test('recovery codes are ten, of 80 bits, and are known however they were copied', () => {
  const codes = newRecoveryCodes()
  assert.equal(new Set(codes).size, 10)
  for (const code of codes) {
    assert.match(code, /^([a-z2-7]{4}-){3}[a-z2-7]{4}$/)
    assert.equal(recoveryCodeHash(` ${code.toUpperCase().replaceAll('-', ' ')}`), recoveryCodeHash(code))
  }
})

test('a challenge holds for what it was made for, until its end, and is used once', () => {
  let time = 1_000_000
  const challenges = createSignedChallenges(() => time)
  const made = Buffer.from(challenges.make(['sign', 'https://a', 'ses_1'])).toString('base64url')
  assert.equal(challenges.holds(made, ['sign', 'https://a', 'ses_1']), true)
  assert.equal(challenges.holds(made, ['sign', 'https://a', 'ses_2']), false)
  assert.equal(challenges.holds(made, ['make', 'https://a', 'ses_1']), false)
  assert.equal(challenges.holds(`${made.slice(0, -2)}AA`, ['sign', 'https://a', 'ses_1']), false)
  assert.equal(challenges.holds('', []), false)
  assert.deepEqual([challenges.use(made), challenges.use(made)], [true, false])
  assert.equal(createSignedChallenges(() => time).holds(made, ['sign', 'https://a', 'ses_1']), false, 'another key')
  time += 5 * 60_000
  assert.equal(challenges.holds(made, ['sign', 'https://a', 'ses_1']), false)
})

test('passkeys are for the addresses that the service was told, whatever a request says of itself', () => {
  const party = (publicUrl: string, headers: Record<string, string>) => {
    try {
      const { id, origin } = relyingPartyOf(
        { header: (name) => headers[name] ?? null },
        { publicUrl, listen: { port: 8700 } },
      )
      return `${id} ${origin}`
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
  const local = 'http://127.0.0.1:8700'
  assert.equal(
    party(local, { origin: 'http://localhost:8700', host: 'localhost:8700' }),
    'localhost http://localhost:8700',
  )
  assert.equal(party(local, { host: 'localhost:8700' }), 'localhost http://localhost:8700')
  // A project's program in front of ours sends what it likes.
  assert.equal(party(local, { origin: 'http://localhost:23591', host: 'localhost:23591' }), 'passkey_unavailable')
  assert.equal(party(local, { origin: local, host: '127.0.0.1:8700' }), 'passkey_unavailable')
  assert.equal(party('http://192.0.2.7:8700', { origin: 'http://192.0.2.7:8700' }), 'passkey_unavailable')
  assert.equal(party('http://quay.example.org', { origin: 'http://quay.example.org' }), 'passkey_unavailable')
  const quay = 'https://quay.example.org'
  assert.equal(party(quay, { origin: quay, host: '10.0.0.1' }), `quay.example.org ${quay}`)
  assert.equal(party(quay, { origin: 'https://evil.example.org' }), 'passkey_unavailable')
  assert.equal(party(quay, { origin: 'http://localhost:8700' }), 'localhost http://localhost:8700')
})
