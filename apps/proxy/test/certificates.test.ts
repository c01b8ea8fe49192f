import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CertificatesError, parseCertificates } from '../src/certificates.ts'
import { ByName } from '../src/tls/by-name.ts'
import { Handshakes } from '../src/tls/handshakes.ts'
import { given, makeCertificate, shopCertificate } from './tls-support.ts'

test('what cannot be used is refused with the place and the reason, and never with a key', () => {
  const other = makeCertificate(['other.localhost'])
  const weak = makeCertificate(['weak.localhost'], { key: ['-newkey', 'rsa:1024'] })
  const one = (more: object) => given([{ ...shopCertificate, ...more } as never])
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [null, /^certificates must be an object$/],
    [{ ...given([]), generation: 'x' }, /^generation must be a whole number$/],
    [{ ...given([]), more: 1 }, /^certificates\.more is not known to this proxy$/],
    [one({ names: ['Shop.localhost'] }), /^certificates\[0\]\.names\[0\] must be a host name in lower case$/],
    [one({ certificate: 'x' }), /^certificates\[0\]\.certificate holds no certificate in PEM$/],
    [
      one({ certificate: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' }),
      /^certificates\[0\]\.certificate holds something at place 1 that is no certificate$/,
    ],
    [one({ key: 'x' }), /^certificates\[0\]\.key is no private key in PEM, or has a password$/],
    [one({ key: other.key }), /^certificates\[0\]\.key is not the key of the certificate$/],
    [one(weak), /^certificates\[0\]\.key is an RSA key of less than 2048 bits$/],
    [one({ redirect: 1 }), /^certificates\[0\]\.redirect must be true or false$/],
    [one({ hstsSeconds: -1 }), /^certificates\[0\]\.hstsSeconds must be seconds, or null$/],
    [{ ...given([]), http01: [{ name: 'a.b', token: '../x', answer: 'y' }] }, /^http01\[0\]\.token must be base64url$/],
    [{ ...given([]), tlsAlpn01: [{ name: 'a.b', ...other, key: '' }] }, /^tlsAlpn01\[0\]\.key is no private key/],
  ]
  for (const [input, reason] of cases)
    assert.throws(
      () => parseCertificates(input),
      (error) => error instanceof CertificatesError && reason.test(error.message) && !/PRIVATE/.test(error.message),
    )
  const chain = given([{ ...shopCertificate, certificate: `${shopCertificate.certificate}\n${other.certificate}` }])
  assert.deepEqual(parseCertificates(chain), chain)
})

test('an exact name wins over a wildcard, a wildcard is one label, and of several the first counts', () => {
  const byName = new ByName([
    ['*.example.org', 'wild'],
    ['shop.example.org', 'own'],
    ['shop.example.org', 'second'],
    ['*.example.org', 'later'],
  ])
  assert.deepEqual(
    ['shop.example.org', 'other.example.org', 'a.b.example.org', 'example.org'].map((host) => byName.get(host)),
    ['own', 'wild', undefined, undefined],
  )
})

test('one client alone cannot take all handshakes, and all clients together only so many', () => {
  const handshakes = new Handshakes({ many: 3, most: 5, ofOne: 2 })
  const begin = (remoteAddress: string) => handshakes.begin({ remoteAddress })
  const first = begin('192.0.2.1')
  assert.ok(first)
  // While there are few, one may have more than its part.
  assert.ok(begin('192.0.2.1') && begin('192.0.2.1'))
  assert.equal(begin('192.0.2.1'), null)
  assert.ok(begin('2001:db8::1'))
  assert.ok(begin('2001:db8::2'))
  assert.equal(begin('198.51.100.1'), null)
  first()
  first()
  assert.equal(handshakes.count, 4)
  // Two addresses of one network are one client.
  assert.equal(begin('2001:db8::3'), null)
  assert.ok(begin('198.51.100.1'))
})
