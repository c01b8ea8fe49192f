import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@stackquay/contract'
import { oidcBodyOf, oidcFormOf } from '../src/lib/oidc-form.ts'

const provider = {
  issuer: 'https://id.example.org',
  clientId: 'stackquay',
  scopes: ['openid', 'groups'],
  roles: { claim: 'groups', admin: ['ops', 'Domain Admins'], operate: [], read: ['staff'] },
  defaultRole: 'read' as const,
  createPeople: false,
  label: 'Example',
  refreshMinutes: 5,
  graceMinutes: 60,
}

test('what the form shows of a provider is what it sends again, and a secret only when one was typed', () => {
  const body = oidcBodyOf(oidcFormOf({ ...provider, hasSecret: true }), 'x')
  assert.deepEqual(body, { ...provider, password: 'x' })
  assert.equal(operations.putOidc.body.safeParse(body).success, true)
  const typed = oidcBodyOf({ ...oidcFormOf(null), issuer: ' https://a ', clientId: 'b', clientSecret: ' s ' }, 'x')
  assert.deepEqual([typed.issuer, typed.clientSecret, typed.roles, typed.defaultRole], ['https://a', ' s ', null, null])
  assert.equal(operations.putOidc.body.safeParse(typed).success, true)
})
