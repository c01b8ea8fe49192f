import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Operation, operationList, type Scope, scopes } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { bearer, openTestHttpApp, type TestHttpApp, urlOf } from './http-support.ts'

/** Everybody who may knock. What each may expect follows from an operation's declaration alone. */
interface Visitor {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The project in the path. */
  readonly id: string
  readonly expects: (operation: Operation) => string
}

const passes = 'passes'
const rank = (scope: Scope) => scopes.indexOf(scope)
const changes = ({ method }: Operation) => method !== 'GET'

/** Nobody, and whoever shows a credential that is none. */
const stranger = ({ access }: Operation) => (access.kind === 'public' ? passes : 'unauthorized')

const tokenOf = (scope: Scope, restriction: 'none' | 'in' | 'out') => (operation: Operation) => {
  const { access } = operation
  if (access.kind === 'public') return passes
  if (access.session) return 'session_required'
  if (access.kind === 'authenticated') return passes
  if (restriction === 'out' && access.project) return 'project_forbidden'
  if (restriction !== 'none' && (access.instance || access.unrestricted)) return 'token_restricted'
  return rank(scope) >= rank(access.scope) ? passes : 'scope_insufficient'
}

const sessionOf = (role: Scope, flaw: 'none' | 'origin') => (operation: Operation) => {
  const { access } = operation
  if (flaw === 'origin' && changes(operation)) return 'csrf_failed'
  if (access.kind === 'public') return passes
  if (access.kind === 'authenticated') return passes
  return rank(role) >= rank(access.scope) ? passes : 'role_insufficient'
}

/** A person who comes only to some projects: `has` is the role there, `in` or `out` of them. */
const personOf = (has: Scope, where: 'in' | 'out') => (operation: Operation) => {
  const { access } = operation
  if (access.kind === 'public' || access.kind === 'authenticated') return passes
  if (where === 'out' && access.project) return 'project_forbidden'
  if (access.instance || access.unrestricted) return 'person_limited'
  return rank(has) >= rank(access.scope) ? passes : 'role_insufficient'
}

/** A token of such a person without a restriction of its own: the weaker of both on the project. */
const tokenOfPerson = (scope: Scope, has: Scope, where: 'in' | 'out') => (operation: Operation) => {
  const { access } = operation
  if (access.kind !== 'public' && access.session) return 'session_required'
  const ofPerson = personOf(rank(scope) < rank(has) ? scope : has, where)(operation)
  return ofPerson === 'role_insufficient' ? 'scope_insufficient' : ofPerson
}

/** Everywhere `everywhere`, but `here` on the project in the path. */
const personWith = (everywhere: Scope, here: Scope) => (operation: Operation) => {
  const { access } = operation
  if (access.kind === 'public' || access.kind === 'authenticated') return passes
  const highest = rank(here) > rank(everywhere) ? here : everywhere
  const onIt = access.project ? here : highest
  const whole = access.instance || access.unrestricted
  const has = whole && rank(everywhere) < rank(onIt) ? everywhere : onIt
  return rank(has) >= rank(access.scope) ? passes : 'role_insufficient'
}

describe('who may do what', () => {
  const ended: (() => unknown)[] = []
  let http: TestHttpApp
  let address: string
  let visitors: readonly Visitor[]
  let own: string
  let other: string

  before(async () => {
    // The handlers only say that they were reached: a real log-out, for one, would end the visitor.
    const reached = async () => ({ status: 200, body: {} })
    const calls = operationList.filter(({ stream, id }) => stream === undefined && id !== 'getOpenapi')
    http = await openTestHttpApp(
      { after: (end) => ended.push(end as () => unknown) },
      { handlers: Object.fromEntries(calls.map(({ id }) => [id, reached])) },
    )
    address = await http.listen()
    own = (await http.project('own')).id
    other = (await http.project('other')).id
    visitors = await everybody()
  })
  after(async () => {
    for (const end of ended) await end()
  })

  async function everybody(): Promise<readonly Visitor[]> {
    const token = async (options: Parameters<TestHttpApp['token']>[0]) => bearer((await http.token(options)).value)
    const inThePast = new Date(http.clock.time - 1000).toISOString()
    const revoked = await http.token()
    await http.store.transaction((tx) => tx.tokens.delete(revoked.id))
    const dora = await http.user('admin', 'dora')
    const ofDisabled = await token({ owner: dora.id })
    await http.store.transaction((tx) => tx.users.update(dora.id, { disabled: true }))
    const { authorization } = await token({})
    const mistyped = `${authorization.slice(0, -1)}${authorization.endsWith('a') ? 'b' : 'a'}`
    const sessions = Object.fromEntries(
      await Promise.all(
        scopes.map(async (role) => [role, await http.openSession((await http.user(role)).id)] as const),
      ),
    ) as Record<Scope, { cookie: string; 'x-csrf-token': string }>
    const { cookie } = sessions.admin
    return [
      { name: 'no credential', headers: {}, id: own, expects: stranger },
      { name: 'an expired token', headers: await token({ expiresAt: inThePast }), id: own, expects: stranger },
      { name: 'a revoked token', headers: bearer(revoked.value), id: own, expects: stranger },
      { name: 'a token of a disabled owner', headers: ofDisabled, id: own, expects: stranger },
      { name: 'a token with a wrong checksum', headers: { authorization: mistyped }, id: own, expects: stranger },
      ...(await Promise.all(
        scopes.flatMap((scope) => [
          (async () => ({
            name: `a token of scope ${scope}`,
            headers: await token({ scope }),
            id: own,
            expects: tokenOf(scope, 'none'),
          }))(),
          (async () => ({
            name: `a token of scope ${scope}, restricted, in its project`,
            headers: await token({ scope, projects: [own] }),
            id: own,
            expects: tokenOf(scope, 'in'),
          }))(),
          (async () => ({
            name: `a token of scope ${scope}, restricted, in another project`,
            headers: await token({ scope, projects: [own] }),
            id: other,
            expects: tokenOf(scope, 'out'),
          }))(),
        ]),
      )),
      ...scopes.map((role) => ({
        name: `a session of role ${role}`,
        headers: sessions[role],
        id: own,
        expects: sessionOf(role, 'none'),
      })),
      ...(await limited()),
      { name: 'a cookie without its key', headers: { cookie }, id: own, expects: stranger },
      {
        name: 'a key without its cookie',
        headers: { 'x-csrf-token': sessions.admin['x-csrf-token'] },
        id: own,
        expects: stranger,
      },
      {
        name: 'halves of two sessions',
        headers: { cookie, 'x-csrf-token': sessions.read['x-csrf-token'] },
        id: own,
        expects: stranger,
      },
      {
        name: 'a cookie from a foreign origin',
        headers: { ...sessions.admin, origin: 'https://evil.example' },
        id: own,
        expects: sessionOf('admin', 'origin'),
      },
    ]
  }

  /** People whose role is not the same everywhere, and their tokens. */
  async function limited(): Promise<readonly Visitor[]> {
    const made = scopes.map(async (role) => {
      const to = await http.user(role, `to-${role}`, { projects: [own] })
      const by = await http.user(null, `by-${role}`, { projectRoles: [{ project: own, role }] })
      const [ofTo, ofBy] = [await http.openSession(to.id), await http.openSession(by.id)]
      const given = bearer((await http.token({ owner: to.id, scope: 'operate' })).value)
      return [
        { name: `a ${role} limited to the project`, headers: ofTo, id: own, expects: personOf(role, 'in') },
        { name: `a ${role} limited to another`, headers: ofTo, id: other, expects: personOf(role, 'out') },
        { name: `${role} on the project alone`, headers: ofBy, id: own, expects: personOf(role, 'in') },
        { name: `${role} on another alone`, headers: ofBy, id: other, expects: personOf(role, 'out') },
        { name: `${role} on another alone, by slug`, headers: ofBy, id: 'other', expects: personOf(role, 'out') },
        {
          name: `a token of a limited ${role}`,
          headers: given,
          id: own,
          expects: tokenOfPerson('operate', role, 'in'),
        },
        { name: `that token outside`, headers: given, id: other, expects: tokenOfPerson('operate', role, 'out') },
      ]
    })
    const mixed =
      ([everywhere, here]: readonly [Scope, Scope]) =>
      async () => {
        const who = await http.user(everywhere, `${everywhere}-${here}`, {
          projectRoles: [{ project: own, role: here }],
        })
        const headers = await http.openSession(who.id)
        const name = `${everywhere}, and ${here} on the project`
        return [
          { name, headers, id: own, expects: personWith(everywhere, here) },
          { name: `${name}, by slug`, headers, id: 'own', expects: personWith(everywhere, here) },
        ]
      }
    const both = [mixed(['read', 'admin']), mixed(['operate', 'read']), mixed(['read', 'operate'])]
    return (await Promise.all([...made, ...both.map((make) => make())])).flat()
  }

  test('every operation answers every visitor as it declares', async () => {
    let cells = 0
    for (const operation of operationList) {
      for (const visitor of visitors) {
        assert.equal(await knock(operation, visitor), visitor.expects(operation), `${operation.id}, ${visitor.name}`)
        cells += 1
      }
    }
    assert.equal(cells, operationList.length * visitors.length)
    assert.ok(visitors.length >= 46)
  })

  test('a WebSocket is opened to exactly those to whom its address would answer', async () => {
    for (const operation of operationList.filter(({ stream }) => stream === 'websocket')) {
      for (const visitor of visitors) {
        // Of reads, an upgrade alone looks at the origin: any page can open a WebSocket with our cookie.
        const foreign = visitor.headers.origin !== undefined
        const expected = foreign ? 'csrf_failed' : visitor.expects(operation)
        assert.equal(await upgrade(operation, visitor), expected, `${operation.id}, ${visitor.name}`)
      }
    }
  })

  /** The problem's code of a refusal; `passes` when the HTTP app let the call in, whatever was behind it. */
  async function knock(operation: Operation, { headers, id }: Visitor): Promise<string> {
    const leaving = new AbortController()
    const answer = await fetch(address + urlOf(operation, { id, name: 'A', db: 'main' }), {
      method: operation.method,
      headers: { ...headers },
      signal: leaving.signal,
    })
    try {
      if (![401, 403].includes(answer.status)) return passes
      return ((await answer.json()) as { code: string }).code
    } finally {
      leaving.abort()
    }
  }

  async function upgrade(operation: Operation, { headers, id }: Visitor): Promise<string> {
    const url = address.replace('http', 'ws') + urlOf(operation, { id })
    const socket = new WebSocket(url, { headers: { ...headers } })
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    socket.once('open', () => resolve(passes))
    socket.once('error', reject)
    socket.once('unexpected-response', async (_request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      resolve((JSON.parse(String(Buffer.concat(chunks))) as { code: string }).code)
    })
    try {
      return await promise
    } finally {
      socket.on('error', () => undefined)
      socket.terminate()
    }
  }

  // What follows is copied from the specification by hand, so that a declaration that is changed by mistake is noticed.
  const minimum: readonly (readonly [method: string, path: string, scope: Scope])[] = [
    ['GET', '/projects', 'read'],
    ['POST', '/projects', 'admin'],
    ['POST', '/projects/from-manifest', 'admin'],
    ['GET', '/projects/{id}', 'read'],
    ['PATCH', '/projects/{id}', 'operate'],
    ['DELETE', '/projects/{id}', 'admin'],
    ['POST', '/projects/{id}/duplicate', 'admin'],
    ['POST', '/projects/{id}/start', 'operate'],
    ['POST', '/projects/{id}/stop', 'operate'],
    ['POST', '/projects/{id}/restart', 'operate'],
    ['GET', '/projects/{id}/logs', 'read'],
    ['GET', '/projects/{id}/logs/ws', 'read'],
    ['GET', '/projects/{id}/stats', 'read'],
    ['GET', '/projects/{id}/env', 'read'],
    ['GET', '/projects/{id}/env/{name}', 'operate'],
    ['PUT', '/projects/{id}/env/{name}', 'operate'],
    ['DELETE', '/projects/{id}/env/{name}', 'operate'],
    ['GET', '/projects/{id}/databases', 'read'],
    ['POST', '/projects/{id}/databases', 'operate'],
    ['PATCH', '/projects/{id}/databases/{db}', 'operate'],
    ['DELETE', '/projects/{id}/databases/{db}', 'admin'],
    ['GET', '/projects/{id}/databases/{db}/credentials', 'operate'],
    ['POST', '/projects/{id}/databases/{db}/credentials/rotate', 'admin'],
    ['GET', '/projects/{id}/extras', 'read'],
    ['DELETE', '/projects/{id}/extras/{kind}/data', 'admin'],
    ['GET', '/projects/{id}/{service}/credentials', 'operate'],
    ['POST', '/projects/{id}/{service}/credentials/rotate', 'admin'],
    ['GET', '/projects/{id}/mail', 'operate'],
    ['GET', '/projects/{id}/mail/{message}', 'operate'],
    ['GET', '/projects/{id}/mail/{message}/source', 'operate'],
    ['GET', '/projects/{id}/mail/{message}/attachments/{index}', 'operate'],
    ['PATCH', '/projects/{id}/mail/{message}', 'operate'],
    ['DELETE', '/projects/{id}/mail/{message}', 'operate'],
    ['DELETE', '/projects/{id}/mail', 'operate'],
    ['GET', '/projects/{id}/manifest', 'read'],
    ['POST', '/projects/{id}/manifest/plan', 'read'],
    ['POST', '/projects/{id}/manifest/apply', 'admin'],
    ['GET', '/runtimes', 'read'],
    ['GET', '/services', 'read'],
    ['GET', '/events', 'read'],
    ['GET', '/audit', 'admin'],
    ['GET', '/audit/export', 'admin'],
    ['GET', '/audit/verify', 'admin'],
    ['GET', '/system/diagnostics', 'admin'],
  ]
  const find = (method: string, path: string) => {
    const found = operationList.find((one) => one.method === method && one.path === path)
    assert.ok(found, `${method} ${path}`)
    return found
  }
  const named = (name: string) => visitors.find((visitor) => visitor.name === name)!

  test('specification 4.1, 5.3, 5.4: each operation’s lowest scope and role', async () => {
    for (const [method, path, lowest] of minimum) {
      for (const scope of scopes) {
        const enough = rank(scope) >= rank(lowest)
        const operation = find(method, path)
        const byToken = await knock(operation, named(`a token of scope ${scope}`))
        const bySession = await knock(operation, named(`a session of role ${scope}`))
        assert.equal(byToken, enough ? passes : 'scope_insufficient', `${method} ${path}, token ${scope}`)
        assert.equal(bySession, enough ? passes : 'role_insufficient', `${method} ${path}, role ${scope}`)
      }
    }
  })

  test('specification 5.3: read changes nothing', async () => {
    for (const operation of operationList.filter((one) => one.access.kind === 'scope' && one.audit !== undefined)) {
      assert.notEqual(await knock(operation, named('a token of scope read')), passes, operation.id)
      assert.notEqual(await knock(operation, named('a session of role read')), passes, operation.id)
    }
  })

  test('specification 5.5: restricted, a token creates no project, and the instance is closed to it, whatever its scope', async () => {
    const inProject = named('a token of scope admin, restricted, in its project')
    const closed = [
      ['POST', '/projects'],
      ['POST', '/projects/from-manifest'],
      ['POST', '/projects/{id}/duplicate'],
      ['GET', '/audit'],
      ['GET', '/audit/export'],
      ['GET', '/audit/verify'],
      ['GET', '/system/diagnostics'],
    ] as const
    for (const [method, path] of closed)
      assert.equal(await knock(find(method, path), inProject), 'token_restricted', path)
    for (const path of ['/projects', '/runtimes', '/services', '/auth/me', '/health', '/operations', '/events']) {
      assert.equal(await knock(find('GET', path), inProject), passes, path)
    }
    const outside = named('a token of scope admin, restricted, in another project')
    for (const operation of operationList.filter(({ path }) => path.startsWith('/projects/{id}'))) {
      assert.equal(await knock(operation, outside), 'project_forbidden', operation.id)
    }
  })

  test('specification 5.8: no token changes the password, creates or revokes tokens, manages users, shows or replaces the key', async () => {
    const own = [
      ['POST', '/auth/password'],
      ['POST', '/tokens'],
      ['DELETE', '/tokens/{tid}'],
      ['GET', '/auth/sessions'],
      ['DELETE', '/auth/sessions'],
      ['DELETE', '/auth/sessions/{sid}'],
      ['GET', '/auth/devices'],
      ['DELETE', '/auth/devices/{did}'],
    ] as const
    const ofAdmins = [
      ['GET', '/users'],
      ['POST', '/users'],
      ['GET', '/users/{uid}'],
      ['PATCH', '/users/{uid}'],
      ['DELETE', '/users/{uid}'],
      ['POST', '/users/{uid}/invite'],
      ['GET', '/settings/secret-key'],
      ['POST', '/settings/secret-key/reveal'],
      ['POST', '/settings/secret-key/replace'],
    ] as const
    for (const [method, path] of [...own, ...ofAdmins]) {
      const operation = find(method, path)
      assert.equal(await knock(operation, named('a token of scope admin')), 'session_required', path)
      assert.equal(await knock(operation, named('a session of role admin')), passes, path)
    }
    for (const [method, path] of own)
      assert.equal(await knock(find(method, path), named('a session of role read')), passes)
    for (const [method, path] of ofAdmins) {
      assert.equal(await knock(find(method, path), named('a session of role operate')), 'role_insufficient', path)
    }
  })

  test('specification 5.9 and 5.7: health needs nobody, /auth/me any valid token', async () => {
    assert.equal(await knock(find('GET', '/health'), named('no credential')), passes)
    assert.equal(await knock(find('GET', '/auth/me'), named('no credential')), 'unauthorized')
    assert.equal(await knock(find('GET', '/auth/me'), named('a token of scope read')), passes)
  })

  test('what needs nobody is this and nothing else', () => {
    const open = operationList.filter(({ access }) => access.kind === 'public').map(({ id }) => id)
    assert.deepEqual(open.sort(), [
      'beginPasskeyLogin',
      // Believes nothing but what a provider has signed for a round that this browser began.
      'callbackOidc',
      'completeSetup',
      'finishOidc',
      'getHealth',
      // With a code that holds once.
      'getInvite',
      'getManifestSchema',
      'getOidcOffer',
      'getOpenapi',
      'getSetup',
      // A certificate, which everybody is shown anyway.
      'getTlsAuthority',
      'login',
      // They prove who they are by what they take.
      'loginSecond',
      'loginWithPasskey',
      // What it takes is signed.
      'receivePush',
      'redeemInvite',
      'startOidc',
    ])
  })
})
