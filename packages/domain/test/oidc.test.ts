import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkIssuer, freeUsername, roleByClaims, usernameFrom } from '../src/oidc.ts'

const roles = { claim: 'groups', admin: ['ops'], operate: ['dev', 'ops'], read: ['staff'] }

test('the strongest role of all that the claims give counts, and without one the default', () => {
  const cases: readonly [object, string | null][] = [
    [{ groups: ['staff'] }, 'read'],
    [{ groups: ['staff', 'dev'] }, 'operate'],
    [{ groups: ['staff', 'ops'] }, 'admin'],
    [{ groups: 'dev' }, 'operate'],
    [{ groups: ['other'] }, null],
    [{ groups: 'ops dev' }, null],
    [{ groups: { ops: true } }, null],
    [{ groups: [['ops'], 1, null] }, null],
    [{}, null],
  ]
  for (const [claims, role] of cases)
    assert.equal(roleByClaims({ ...claims }, roles, null), role, JSON.stringify(claims))
  assert.equal(roleByClaims({ groups: ['other'] }, roles, 'read'), 'read')
  assert.equal(
    roleByClaims({ groups: ['dev'] }, roles, 'admin'),
    'operate',
    'a claim that says less wins over the default',
  )
  assert.equal(roleByClaims({ groups: ['ops'] }, null, 'read'), 'read')
})

test('a claim is found by its whole name or by a path, and never in what objects inherit', () => {
  const at = (claim: string, claims: object) => roleByClaims({ ...claims }, { ...roles, claim }, null)
  assert.equal(at('realm_access.roles', { realm_access: { roles: ['ops'] } }), 'admin')
  assert.equal(at('https://example.org/roles', { 'https://example.org/roles': ['ops'] }), 'admin')
  assert.equal(at('a.b', { 'a.b': ['staff'], a: { b: ['ops'] } }), 'read')
  assert.equal(at('constructor.name', {}), null)
  assert.equal(at('__proto__', {}), null)
})

test('a user name is made out of what the provider says, and is never one that somebody has', () => {
  assert.equal(usernameFrom({ preferred_username: 'Ada.Lovelace', email: 'x@y' }), 'ada.lovelace')
  assert.equal(usernameFrom({ email: 'Zoë@example.org', sub: '1' }), 'zoe')
  assert.equal(usernameFrom({ preferred_username: 'EXAMPLE\\grace hopper' }), 'example-grace-hopper')
  assert.equal(usernameFrom({ preferred_username: '汉字', sub: '248289761001' }), '248289761001')
  assert.equal(usernameFrom({ preferred_username: '…', sub: '--' }), 'person')
  assert.equal(usernameFrom({ preferred_username: 'x'.repeat(90) }).length, 39)
  const taken = new Set(['ada', 'ada-2'])
  assert.equal(
    freeUsername('ada', (name) => taken.has(name)),
    'ada-3',
  )
  assert.equal(
    freeUsername('system', () => false),
    'system-2',
  )
  assert.equal(
    freeUsername('x'.repeat(39), (name) => !name.endsWith('-2')),
    `${'x'.repeat(37)}-2`,
  )
})

test('an issuer is an https address, or one of this very machine', () => {
  for (const issuer of [
    'https://id.example.org',
    'https://id.example.org/realms/main',
    'https://accounts.google.com',
    'https://id.example.org/application/o/stackquay/',
    'http://localhost:9000',
    'http://127.0.0.1:9000/x',
    'http://[::1]:9000',
  ])
    assert.deepEqual(checkIssuer(issuer), { ok: true, issuer })
  for (const issuer of [
    'id.example.org',
    'http://id.example.org',
    'http://127.0.0.1.example.org',
    'http://localhost.example.org',
    'ftp://id.example.org',
    'https://user:secret@id.example.org',
    'https://id.example.org/?x=1',
    'https://id.example.org/#',
    'https://id.example.org/.well-known/openid-configuration',
  ])
    assert.equal(checkIssuer(issuer).ok, false, issuer)
})
