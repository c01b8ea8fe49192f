import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceTypes } from '@stackquay/catalog'
import { type Access, operationList, operations, type Scope, scopes } from '@stackquay/contract'
import {
  type Caller,
  highestRole,
  includes,
  isLimited,
  managesInstance,
  mayEnter,
  onProject,
  type PersonRights,
  type RequestParts,
  raisedRefusalOf,
  raisedScope,
  reachOf,
  refusalOf,
  removalRefusalOf,
  rightsWithEnvironments,
  roleOn,
  scopeOn,
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

const person = (rights: Partial<PersonRights>): PersonRights => ({
  role: null,
  projects: [],
  projectRoles: [],
  ...rights,
})
const as = (rights: PersonRights): Caller => ({ kind: 'session', scope: highestRole(rights), rights })
const tokenAs = (scope: Scope, rights: PersonRights, projects: readonly string[] = []): Caller => ({
  kind: 'token',
  scope: weaker(scope, highestRole(rights)),
  projects,
  rights,
})
const onOwn = (role: Scope) => [{ project: own, role }]
const needs = (scope: Scope): Access => ({ kind: 'scope', scope, project: true })

test('a role on a project holds there instead of the other, be it more or less', () => {
  const more = as(person({ role: 'read', projectRoles: onOwn('admin') }))
  const less = as(person({ role: 'operate', projectRoles: onOwn('read') }))
  assert.equal(reason(more, needs('admin')), 'allowed')
  assert.equal(reason(more, needs('operate'), 'prj_other'), 'role_insufficient')
  assert.equal(reason(less, needs('operate')), 'role_insufficient')
  assert.equal(reason(less, needs('operate'), 'prj_other'), 'allowed')
  assert.deepEqual([reachOf(more), reachOf(less)], [null, null])
})

test('a person who comes only to some projects is refused every other, existing or not, and the whole instance', () => {
  const limited = [
    as(person({ role: 'admin', projects: [own] })),
    as(person({ projectRoles: onOwn('admin') })),
    { ...as(person({ role: 'admin', projects: [own] })), kind: 'key' } as Caller,
  ]
  for (const caller of limited) {
    for (const { id, access } of protectedOnes) {
      if (access.kind !== 'scope' || (access.session && caller.kind === 'key')) continue
      const here = access.instance || access.unrestricted ? 'person_limited' : 'allowed'
      assert.equal(reason(caller, access), here, id)
      if (!access.project) continue
      assert.equal(reason(caller, access, 'prj_other'), 'project_forbidden', id)
      assert.equal(reason(caller, access, null), 'project_forbidden', id)
    }
    assert.ok(!managesInstance(caller))
    assert.deepEqual(reachOf(caller), [own])
    assert.ok(!mayEnter(caller, null))
  }
})

test('a role on one project reaches neither the instance nor a project that is to be made', () => {
  const caller = as(person({ role: 'read', projectRoles: onOwn('admin') }))
  for (const { id, access } of protectedOnes) {
    if (access.kind !== 'scope' || (!access.instance && !access.unrestricted)) continue
    assert.equal(reason(caller, access), access.scope === 'read' ? 'allowed' : 'role_insufficient', id)
  }
})

test('a token can do on each project what both it and its owner can there', () => {
  for (const scope of scopes) {
    for (const role of scopes) {
      const both = weaker(scope, role)
      const everywhere = tokenAs(scope, person({ role: 'read', projectRoles: onOwn(role) }))
      const alone = tokenAs(scope, person({ projectRoles: onOwn(role) }))
      const restricted = tokenAs(scope, person({ role, projects: [own, 'prj_two'] }), [own, 'prj_other'])
      for (const caller of [everywhere, alone, restricted]) assert.equal(scopeOn(caller, own), both)
      assert.equal(scopeOn(everywhere, 'prj_other'), 'read')
      for (const closed of ['prj_other', 'prj_two', null]) assert.equal(scopeOn(alone, closed), null)
      assert.equal(scopeOn(restricted, 'prj_two'), null)
      assert.equal(scopeOn(restricted, 'prj_other'), null)
      assert.deepEqual(reachOf(restricted), [own])
    }
  }
  const nowhere = tokenAs('admin', person({ role: 'admin', projects: ['prj_two'] }), [own])
  assert.deepEqual(reachOf(nowhere), [])
  for (const project of [own, 'prj_two', null]) assert.ok(!mayEnter(nowhere, project))
})

test('a person whose projects are all gone comes nowhere, and not everywhere', () => {
  for (const rights of [person({ role: 'admin', projects: ['prj_gone'] }), person({})]) {
    assert.ok(isLimited(rights))
    assert.equal(reason(as(rights), needs('read')), 'project_forbidden')
    assert.equal(refusalOf(as(rights), { kind: 'scope', scope: 'read', instance: true })?.reason, 'person_limited')
  }
})

test('what a request raises is asked of the role on its project', () => {
  const parts = { body: { a: { gone: true } } }
  const more = as(person({ role: 'operate', projectRoles: onOwn('admin') }))
  assert.equal(refusalOf(more, raising, own, parts), null)
  assert.equal(refusalOf(more, raising, 'prj_other', parts)?.reason, 'role_insufficient')
  assert.equal(removalRefusalOf(onProject(more, own), ['redis']), null)
  assert.equal(removalRefusalOf(onProject(more, 'prj_other'), ['redis'])?.reason, 'role_insufficient')
})

test('environments of branches follow their project, and one with a role of its own keeps that', () => {
  const branches = [
    { project: 'prj_branch', of: own },
    { project: 'prj_named', of: own },
    { project: 'prj_far', of: 'prj_other' },
  ]
  const roles = [...onOwn('admin'), { project: 'prj_named', role: 'read' as const }]
  const byRole = rightsWithEnvironments(person({ projectRoles: roles }), branches)
  const roleAt = (project: string) => roleOn(byRole, project)
  assert.deepEqual(['prj_branch', 'prj_named', 'prj_far'].map(roleAt), ['admin', 'read', null])
  const byLimit = rightsWithEnvironments(person({ role: 'operate', projects: [own] }), branches)
  assert.deepEqual(
    [own, 'prj_branch', 'prj_far'].map((id) => roleOn(byLimit, id)),
    ['operate', 'operate', null],
  )
  const everywhere = person({ role: 'admin' })
  assert.equal(rightsWithEnvironments(everywhere, branches), everywhere)
})
