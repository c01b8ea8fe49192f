import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, inputOf } from '../src/lib/acme-form.ts'

test('what is kept goes into the form and comes out the same; secrets that are not typed are left out', () => {
  const settings = {
    directory: 'https://ca.example.org/dir',
    roots: 'PEM',
    email: 'ops@example.org',
    challenge: 'dns-01',
    names: ['shop.example.org', 'mail.example.org'],
    wildcard: true,
    forwardedPorts: [],
    resolvers: ['192.0.2.1:53'],
    dns: { provider: 'rfc2136', settings: { server: 'ns.example.org', port: 53, hasSecret: true } },
    externalAccount: { keyId: 'kid' },
  } as const
  const input = inputOf(
    draftOf({ ...settings, names: [...settings.names], resolvers: [...settings.resolvers] } as never, 'x'),
  )
  const { dns, ...shown } = settings
  assert.deepEqual(input, {
    ...shown,
    termsAgreed: true,
    dns: { provider: 'rfc2136', settings: { server: 'ns.example.org', port: 53 } },
  })
})

test('a form that is new asks Let’s Encrypt for all public names over HTTP, without DNS', () => {
  const input = inputOf({
    ...draftOf(null, 'rfc2136'),
    email: ' you@example.org ',
    wildcard: true,
    forwardedPorts: [80],
  })
  assert.deepEqual(input, {
    ...{ directory: 'letsencrypt', roots: null, email: 'you@example.org', termsAgreed: true, challenge: 'http-01' },
    ...{ names: null, wildcard: false, forwardedPorts: [80], resolvers: [], dns: null, externalAccount: null },
  })
})
