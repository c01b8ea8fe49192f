import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceTypes } from '@stackquay/catalog'
import { type Access, operationList, operations, type Scope, scopes } from '@stackquay/contract'
import {
  type Caller,
  includes,
  mayEnter,
  type RequestParts,
  raisedRefusalOf,
  raisedScope,
  refusalOf,
  removalRefusalOf,
  weaker,
} from '../src/access.ts'

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

const raising: Access = {
  kind: 'scope',
  scope: 'operate',
  project: true,
  raised: [
    {
      to: 'admin',
      when: { part: 'body', pointers: ['/a/gone', '/b~1c/gone', '/all/*/gone'], equals: true },
      because: 'data goes',
    },
    { to: 'operate', when: { part: 'query', pointers: ['/how'], equals: 'quickly' }, because: 'it is quick' },
  ],
}

test('a request needs the operation’s own scope unless something in it raises that', () => {
  const quiet: readonly RequestParts[] = [
    {},
    { body: undefined, query: {} },
    { body: null },
    { body: 'text with "/a/gone":true in it' },
    { body: { a: { gone: false } } },
    { body: { a: { gone: 'true' } } },
    { body: { a: null, other: { gone: true } } },
    { body: { gone: true, inner: { a: { gone: true } } } },
    { query: { a: { gone: true } } },
    { body: { all: { gone: true, one: { gone: false }, two: null } } },
    { body: Object.create({ a: { gone: true } }) },
  ]
  for (const parts of quiet) {
    assert.equal(raisedScope(raising, parts), null, JSON.stringify(parts))
    assert.equal(refusalOf(token('operate'), raising, own, parts), null)
  }
  assert.equal(raisedScope(raising, { body: { a: { gone: true } } }), 'admin')
  assert.equal(raisedScope(raising, { body: { 'b/c': { gone: true } } }), 'admin')
  assert.equal(raisedScope(raising, { body: { all: { one: null, two: { gone: true } } } }), 'admin')
  assert.equal(raisedScope(raising, { query: { how: 'quickly' } }), 'operate')
  assert.equal(raisedScope(raising, { query: { how: 'quickly' }, body: { a: { gone: true } } }), 'admin')
})

test('who may not do what a request asks for is refused as for an operation of that scope', () => {
  const parts = { body: { a: { gone: true } } }
  for (const scope of scopes) {
    const enough = scope === 'admin'
    const required = scope === 'read' ? 'operate' : 'admin'
    const tokenRefusal = { reason: 'scope_insufficient', tokenScope: scope, requiredScope: required }
    const roleRefusal = { reason: 'role_insufficient', role: scope, requiredScope: required }
    assert.deepEqual(refusalOf(token(scope), raising, own, parts), enough ? null : tokenRefusal)
    assert.deepEqual(refusalOf(token(scope, [own]), raising, own, parts), enough ? null : tokenRefusal)
    assert.deepEqual(refusalOf(session(scope), raising, own, parts), enough ? null : roleRefusal)
  }
  assert.deepEqual(refusalOf({ kind: 'anonymous' }, raising, own, parts), { reason: 'unauthorized' })
  assert.deepEqual(refusalOf(token('operate', [own]), raising, 'prj_other', parts), { reason: 'project_forbidden' })
})

test('asked in two halves, before and after the body is read, the policy answers the same', () => {
  const bodies = [{}, { a: { gone: true } }, { scope: 'admin' }, { redis: { removeData: true } }]
  const callers = [...scopes.flatMap((scope) => [token(scope), token(scope, [own]), session(scope)])]
  for (const access of [raising, ...operationList.map((one) => one.access)]) {
    for (const caller of callers) {
      for (const body of bodies) {
        const first = refusalOf(caller, access, own)
        const second = raisedRefusalOf(caller, access, { body })
        assert.deepEqual(refusalOf(caller, access, own, { body }), first ?? second)
      }
    }
  }
})

test('a PATCH needs scope admin exactly when it deletes the data of a service', () => {
  const { access } = operations.updateProject
  for (const { name, keepsData } of serviceTypes) {
    const deletes = { body: { [name]: { enabled: false, removeData: true } } }
    assert.equal(raisedScope(access, deletes), keepsData ? 'admin' : null, name)
    assert.equal(raisedScope(access, { body: { [name]: { enabled: false, removeData: false } } }), null, name)
    assert.equal(raisedScope(access, { body: { [name]: { enabled: false } } }), null, name)
  }
  // A read-only field that is sent back, whatever it says, and a variable whose text looks like it.
  assert.equal(raisedScope(access, { body: { status: { removeData: true } } }), null)
  assert.equal(raisedScope(access, { body: { env: { NOTE: '"removeData":true' } } }), null)
})

test('a change that deletes data is for administrators, whatever its operation declares', () => {
  for (const scope of scopes) {
    for (const caller of [token(scope), token(scope, [own]), session(scope)]) {
      assert.equal(removalRefusalOf(caller, []), null)
      const refusal = removalRefusalOf(caller, ['redis'])
      const expected = caller.kind === 'token' ? 'scope_insufficient' : 'role_insufficient'
      assert.equal(refusal?.reason, scope === 'admin' ? undefined : expected, scope)
    }
  }
  assert.equal(removalRefusalOf({ kind: 'anonymous' }, ['redis'])?.reason, 'unauthorized')
})
