import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TlsCertificatePut } from '@stackquay/contract'
import { chainWarning, checkOwn } from '../src/certificates/check-own.ts'
import { UnusableCertificate } from '../src/certificates/read-certificate.ts'
import { makePair, pemOf, rsaKey } from './certificates-support.ts'

const names = ['shop.example.org', '*.example.org']

function refusal(input: TlsCertificatePut): string {
  try {
    checkOwn(input, new Date())
  } catch (error) {
    if (error instanceof UnusableCertificate) return `${error.fault.field} ${error.fault.code}: ${error.fault.detail}`
    throw error
  }
  return 'taken'
}

async function chain() {
  const root = await makePair({ subject: 'CN=Test Root', isAuthority: true })
  const middle = await makePair({ subject: 'CN=Test Middle', isAuthority: true, signer: root })
  const leaf = await makePair({ names, subject: 'CN=shop', signer: middle })
  return { root, middle, leaf }
}

test('a chain in order is taken, without the root that clients have or do not trust', async () => {
  const { root, middle, leaf } = await chain()
  const text = leaf.certificate + middle.certificate + root.certificate
  const made = checkOwn({ certificate: text, key: leaf.key }, new Date())
  assert.deepEqual(made.names, ['*.example.org', 'shop.example.org'])
  assert.equal(made.certificate.match(/BEGIN CERTIFICATE/g)?.length, 2)
  const apart = { certificate: leaf.certificate, chain: middle.certificate, key: leaf.key }
  assert.equal(checkOwn(apart, new Date()).certificate, made.certificate, 'the chain may come apart')
  assert.match(
    chainWarning(leaf.certificate) ?? '',
    /"Test Middle", which signed that of "\*\.example\.org", is not with/,
  )
  assert.match(chainWarning((await makePair({ names })).certificate) ?? '', /signed itself/)
})

test('what cannot be used is refused with what is wrong and what to do', async () => {
  const { root, middle, leaf } = await chain()
  const other = await makePair({ names })
  const [certificate, key] = [leaf.certificate, leaf.key]
  const rsa = (bits: number) => ({ certificate, key: pemOf(rsaKey(bits)) })
  const cases: readonly (readonly [TlsCertificatePut, RegExp])[] = [
    [{ certificate: 'nothing', key }, /^certificate not_a_certificate: .*BEGIN CERTIFICATE.*openssl x509 -inform der/],
    [{ certificate: key, key }, /^certificate not_a_certificate: There is a key in it/],
    [{ certificate, key: certificate }, /^key not_a_key: It holds no private key/],
    [{ certificate, key: pemOf(createPrivateKey(key), 'secret') }, /^key key_encrypted: .*openssl pkey -in/],
    [{ certificate, key: other.key }, /^key key_mismatch: .*"\*\.example\.org"/],
    [rsa(1024), /^key key_weak: RSA with 1024 bits/],
    [rsa(2048), /^key key_mismatch/],
    [{ certificate, key: pemOf(generateKeyPairSync('ed25519').privateKey) }, /^key key_weak: Browsers take/],
    [{ certificate, key: pemOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey) }, /^key key_weak/],
    [{ certificate: middle.certificate + certificate, key }, /^certificate chain_broken: .* at place 2\. Put it first/],
    [{ certificate: certificate + root.certificate, key }, /chain_broken: .*"Test Root".*which "Test Middle" signed/],
    [{ certificate: (await makePair()).certificate, key }, /^key key_mismatch/],
  ]
  for (const [input, expected] of cases) assert.match(refusal(input), expected)

  const made = async (traits: Parameters<typeof makePair>[0]) => {
    const pair = await makePair(traits)
    return refusal({ certificate: pair.certificate, key: pair.key })
  }
  assert.match(await made({ names, days: [-30, -1] }), /^certificate expired: .* ended on \d{4}-/)
  assert.match(await made({}), /^certificate no_names/)
  assert.match(await made({ names, use: '1.3.6.1.5.5.7.3.2' }), /^certificate not_for_servers/)
  assert.equal(await made({ names, use: '1.3.6.1.5.5.7.3.1' }), 'taken')
  assert.equal(await made({ names, days: [2, 90] }), 'taken', 'what begins later is kept for then')
})

test('garbage is refused or taken, and nothing else: cut, changed and mixed texts', async () => {
  const { middle, leaf } = await chain()
  const whole = { certificate: leaf.certificate + middle.certificate, key: leaf.key }
  // The same at each run, so that a failure can be looked at.
  let seed = 20261127
  const random = (below: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff
    return seed % below
  }
  const letters = 'ABCabc019+/=-\n\r \0é{"'
  const mutate = (text: string): string => {
    const at = random(text.length)
    switch (random(5)) {
      case 0:
        return text.slice(0, at)
      case 1:
        return text.slice(0, at) + letters[random(letters.length)] + text.slice(at + 1)
      case 2:
        return text.slice(0, at) + text.slice(at + 1 + random(40))
      case 3:
        return text.slice(at) + text.slice(0, at)
      default:
        return text.slice(0, at) + text.slice(random(text.length), at + random(200)) + text.slice(at)
    }
  }
  const found = new Map<string, number>()
  for (let round = 0; round < 1500; round += 1) {
    const certificate = random(3) === 0 ? whole.certificate : mutate(whole.certificate)
    const key = random(3) > 0 ? whole.key : mutate(whole.key)
    const outcome = refusal({ certificate, key }).split(':')[0]!
    found.set(outcome, (found.get(outcome) ?? 0) + 1)
  }
  assert.ok((found.get('taken') ?? 0) > 50 && found.size > 4, JSON.stringify([...found]))
})
