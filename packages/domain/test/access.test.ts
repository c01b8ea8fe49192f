import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationList, type Scope, scopes } from '@stackquay/contract'
import { type Caller, includes, mayEnter, refusalOf, weaker } from '../src/access.ts'

const own = 'prj_own'
const token = (scope: Scope, projects: readonly string[] = []): Caller => ({ kind: 'token', scope, projects })
const session = (scope: Scope): Caller => ({ kind: 'session', scope })
const protectedOnes = operationList.filter(({ access }) => access.kind !== 'public')
const reason = (caller: Caller, access: (typeof operationList)[number]['access'], project: string | null = own) =>
  refusalOf(caller, access, project)?.reason ?? 'allowed'

test('a public operation is open to everybody and every other one is closed to a caller without credentials', () => {
  for (const { access } of operationList) {
    assert.equal(reason({ kind: 'anonymous' }, access), access.kind === 'public' ? 'allowed' : 'unauthorized')
  }
})

test('a token reaches exactly the operations whose scope its own includes', () => {
  for (const scope of scopes) {
    for (const { id, access } of protectedOnes) {
      const expected =
        access.kind !== 'public' && access.session
          ? 'session_required'
          : access.kind === 'scope' && !includes(scope, access.scope)
            ? 'scope_insufficient'
            : 'allowed'
      assert.equal(reason(token(scope), access), expected, `${scope} token on ${id}`)
    }
  }
})

test('a person reaches the operations of their role, those for sessions alone included', () => {
  for (const scope of scopes) {
    for (const { id, access } of protectedOnes) {
      const expected = access.kind === 'scope' && !includes(scope, access.scope) ? 'role_insufficient' : 'allowed'
      assert.equal(reason(session(scope), access), expected, `${scope} session on ${id}`)
    }
  }
})

test('a restricted token is refused every project but its own, whatever its scope and whether or not the project exists', () => {
  const perProject = protectedOnes.filter(({ access }) => access.kind === 'scope' && access.project)
  assert.ok(perProject.length > 10)
  for (const scope of scopes) {
    for (const { id, access } of perProject) {
      assert.equal(reason(token(scope, [own]), access, 'prj_other'), 'project_forbidden', id)
      assert.equal(reason(token(scope, [own]), access, null), 'project_forbidden', id)
    }
  }
})

test('a restricted admin token does everything to its own project but make another of it', () => {
  for (const { id, access } of protectedOnes) {
    if (access.kind !== 'scope' || !access.project) continue
    assert.equal(reason(token('admin', [own]), access), access.unrestricted ? 'token_restricted' : 'allowed', id)
  }
})

test('a restricted token is told why the instance and creation are closed to it', () => {
  const restricted = token('admin', [own])
  assert.deepEqual(refusalOf(restricted, { kind: 'scope', scope: 'read', instance: true }), {
    reason: 'token_restricted',
    because: 'instance',
  })
  assert.deepEqual(refusalOf(restricted, { kind: 'scope', scope: 'admin', unrestricted: true }), {
    reason: 'token_restricted',
    because: 'creation',
  })
})

test('a refusal for scope names both scopes', () => {
  assert.deepEqual(refusalOf(token('read'), { kind: 'scope', scope: 'operate', project: true }, own), {
    reason: 'scope_insufficient',
    tokenScope: 'read',
    requiredScope: 'operate',
  })
})

test('the weaker of two scopes is the one the other includes', () => {
  assert.equal(weaker('admin', 'read'), 'read')
  assert.equal(weaker('read', 'admin'), 'read')
  assert.equal(weaker('operate', 'operate'), 'operate')
})

test('only a restriction keeps a caller out of a project', () => {
  assert.ok(mayEnter(session('read'), 'prj_other'))
  assert.ok(mayEnter(token('read'), null))
  assert.ok(!mayEnter(token('admin', [own]), 'prj_other'))
})
