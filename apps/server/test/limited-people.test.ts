import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserChange } from '@stackquay/store'
import { WebSocket } from 'ws'
import { createPagePasses } from '../src/service-pages/passes.ts'
import { createCallers } from '../src/ssh/caller.ts'
import { bearer, openTestHttpApp, password, type TestHttpApp } from './http-support.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

async function as(http: TestHttpApp, username: string) {
  const { headers } = await http.session(username)
  const call = (method: Method, path: string, payload?: object) =>
    http.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
  return { call, headers }
}

test('limits and roles on projects are named by id or slug, told by id, and hold for the very next request, of tokens too', async (t) => {
  const http = await openTestHttpApp(t)
  const [shop, blog] = [await http.project('shop'), await http.project('blog')]
  const ada = await as(http, 'ada')
  const made = await ada.call('POST', '/users', { username: 'grace', password, role: 'read', projects: ['shop'] })
  assert.deepEqual([made.statusCode, made.json().projects], [201, [shop.id]], made.body)
  const { id } = made.json()
  const grace = await as(http, 'grace')
  const token = await http.token({ owner: id, scope: 'admin' })
  const stop = async (project: string) => {
    const url = `/api/v1/projects/${project}/stop`
    const session = await http.app.inject({ method: 'POST', url, headers: grace.headers })
    const byToken = await http.app.inject({ method: 'POST', url, headers: bearer(token.value) })
    return [session, byToken].map((answer) => answer.json().code ?? 'passes')
  }
  assert.deepEqual(await stop('shop'), ['role_insufficient', 'scope_insufficient'])
  assert.deepEqual(await stop('blog'), ['project_forbidden', 'project_forbidden'])
  assert.deepEqual(await stop('nowhere'), ['project_forbidden', 'project_forbidden'])

  const roles = [{ project: 'blog', role: 'operate' }]
  const changed = await ada.call('PATCH', `/users/${id}`, { role: null, projects: [], projectRoles: roles })
  assert.deepEqual(changed.json().projectRoles, [{ project: blog.id, role: 'operate' }], changed.body)
  assert.deepEqual(await stop('shop'), ['project_forbidden', 'project_forbidden'])
  assert.deepEqual(await stop('blog'), ['passes', 'passes'])
  const me = (await grace.call('GET', '/auth/me')).json()
  assert.deepEqual([me.role, me.projects, me.projectRoles], [null, [], [{ project: blog.id, role: 'operate' }]])
  const ofToken = await http.app.inject({ url: '/api/v1/auth/me', headers: bearer(token.value) })
  assert.deepEqual([ofToken.json().scope, ofToken.json().projects], ['operate', [blog.id]])
  const [entry] = await http.store.audit.list({ limit: 1, action: 'user.change' })
  const { before } = (entry?.changes ?? {}) as { before?: object }
  assert.deepEqual(before, { role: 'read', projects: [shop.id], projectRoles: [], disabled: false })

  // What is read can be sent back, of a project that is gone too; another that there is not cannot.
  await http.store.transaction((tx) => tx.projects.delete(blog.id))
  const { projects, projectRoles } = (await ada.call('GET', `/users/${id}`)).json()
  assert.equal((await ada.call('PATCH', `/users/${id}`, { projects, projectRoles })).statusCode, 200)
  assert.deepEqual(await stop('shop'), ['project_forbidden', 'project_forbidden'])
  assert.equal((await ada.call('PATCH', `/users/${id}`, { projects: ['gone'], role: 'read' })).statusCode, 422)
})

test('rights that mean nothing are refused with the field that is wrong, and nothing changes', async (t) => {
  const http = await openTestHttpApp(t)
  await http.project('shop')
  const ada = await as(http, 'ada')
  const on = (role: string, project = 'shop') => ({ project, role })
  for (const [body, code, pointer] of [
    [{}, 'no_role', '/role'],
    [{ role: null, projects: ['shop'], projectRoles: [on('read')] }, 'no_role', '/projects'],
    [{ role: 'admin', projectRoles: [on('read')] }, 'admin_everywhere', '/projectRoles'],
    [{ role: 'read', projectRoles: [on('read'), on('admin')] }, 'twice', '/projectRoles/1/project'],
    [{ role: 'read', projectRoles: [on('read'), on('admin', 'gone')] }, 'unknown_project', '/projectRoles/1/project'],
    [{ role: 'read', projects: ['gone'] }, 'unknown_project', '/projects/0'],
  ] as const) {
    const answer = await ada.call('POST', '/users', { username: 'grace', password, ...body })
    const [error] = answer.json().errors ?? []
    assert.deepEqual([answer.statusCode, error?.code, error?.pointer], [422, code, pointer], answer.body)
  }
  assert.equal(await http.store.users.byName('grace'), null)
  // To become an administrator of everything ends what would mean nothing then.
  const made = await ada.call('POST', '/users', {
    username: 'grace',
    password,
    role: 'read',
    projectRoles: [on('admin')],
  })
  const raised = await ada.call('PATCH', `/users/${made.json().id}`, { role: 'admin' })
  assert.deepEqual([raised.json().role, raised.json().projectRoles], ['admin', []])
})

test('an administrator of some projects cannot raise himself, reach people, or be the one who is left', async (t) => {
  const http = await openTestHttpApp(t)
  const [shop] = [await http.project('shop'), await http.project('blog')]
  const ada = await as(http, 'ada')
  const adaId = (await http.store.users.byName('ada'))!.id
  const { id } = await http.user('admin', 'grace', { projects: [shop.id] })
  const grace = await as(http, 'grace')
  for (const [method, path, body] of [
    ['PATCH', `/users/${id}`, { projects: [] }],
    ['PATCH', `/users/${adaId}`, { role: 'read' }],
    ['POST', '/users', { username: 'eve', role: 'admin', password }],
    ['POST', `/users/${adaId}/invite`, undefined],
    ['GET', '/users', undefined],
    ['GET', '/audit', undefined],
    ['GET', '/settings', undefined],
    ['POST', '/projects', { name: 'mine' }],
    ['POST', '/projects/shop/duplicate', { name: 'mine' }],
  ] as const) {
    const answer = await grace.call(method, path, body)
    assert.deepEqual([answer.statusCode, answer.json().code], [403, 'person_limited'], path)
  }
  const byToken = await http.token({ owner: id, scope: 'admin' })
  const made = await http.app.inject({
    method: 'POST',
    url: '/api/v1/projects',
    headers: bearer(byToken.value),
    payload: {},
  })
  assert.equal(made.json().code, 'person_limited')
  // Nor end somebody else's token.
  const other = await http.token({ owner: adaId })
  assert.equal((await grace.call('DELETE', `/tokens/${other.id}`)).statusCode, 404)

  for (const body of [{ projects: ['shop'] }, { role: null, projectRoles: [{ project: 'shop', role: 'admin' }] }]) {
    const refused = await ada.call('PATCH', `/users/${adaId}`, body)
    assert.deepEqual([refused.statusCode, refused.json().code], [409, 'last_admin'], JSON.stringify(body))
  }
  // Whoever was invited and has no password yet cannot log in, and is not the one who is left either.
  assert.equal((await ada.call('POST', '/users', { username: 'lin', role: 'admin' })).statusCode, 201)
  assert.equal((await ada.call('DELETE', `/users/${adaId}`)).json().code, 'last_admin')
})

test('a stream of events follows what its person may see', async (t) => {
  const http = await openTestHttpApp(t)
  const [shop, blog] = [await http.project('shop'), await http.project('blog')]
  const { id } = await http.user('read', 'grace', { projects: [shop.id, blog.id] })
  const token = await http.token({ owner: id })
  const address = (await http.listen()).replace('http', 'ws')
  const open = async (path: string) => {
    const socket = new WebSocket(`${address}/api/v1${path}`, { headers: bearer(token.value) })
    t.after(() => socket.terminate())
    const frames: { type: string; event?: { project: string }; problem?: { code: string } }[] = []
    socket.on('message', (data) => frames.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    return { frames, closed: new Promise<number>((resolve) => socket.once('close', resolve)) }
  }
  const say = (project: string | null) =>
    http.store.transaction((tx) => tx.events.append({ type: 'project.changed', project, data: {} }))
  const all = await open('/events/ws')
  const heard = () => all.frames.flatMap(({ event }) => (event === undefined ? [] : [event.project]))
  const until = async (count: number) => {
    for (const end = Date.now() + 10_000; heard().length < count && Date.now() < end; )
      await new Promise((next) => setTimeout(next, 20))
  }
  await say(blog.id)
  await say(null)
  await until(1)
  assert.deepEqual(heard(), [blog.id])

  await http.store.transaction((tx) => tx.users.update(id, { projects: [shop.id] }))
  // Looked at again within a second.
  await new Promise((next) => setTimeout(next, 1000))
  await say(blog.id)
  await say(shop.id)
  await until(2)
  assert.deepEqual(heard(), [blog.id, shop.id])
})

test('keys over SSH and passes of service pages follow the role on their project, and that of a branch its project’s', async (t) => {
  const http = await openTestHttpApp(t)
  const [shop, blog, branch] = [await http.project('shop'), await http.project('blog'), await http.project('shop-fix')]
  const environments = () => [{ project: branch.id, of: shop.id }]
  const { id } = await http.user(null, 'grace', { projectRoles: [{ project: shop.id, role: 'operate' }] })
  await http.openSession(id)
  const [session] = await http.store.sessions.of(id)
  const key = { id: 'key_1', user: id, name: 'laptop', type: 'ssh-ed25519', publicKey: 'AAAA', fingerprint: 'SHA256:x' }
  await http.store.transaction(async (tx) => {
    await tx.sshKeys.insert(key)
    for (const project of [shop, blog, branch]) {
      const expiresAt = new Date(http.clock.time + 3_600_000)
      await tx.pagePasses.insert({
        ...{ hash: project.id, session: session!.id, project: project.id, service: 'mailpit', expiresAt },
      })
    }
  })
  const callers = createCallers(http.store, http.authenticator, environments)
  const passes = createPagePasses(http.store, async () => 'abc', environments)
  await passes.load()
  const open = async () => {
    const credential = { kind: 'key', id: 'key_1' } as const
    const principal = (await callers.principalOf(credential, false))!
    const found: string[] = []
    for (const [name, project] of [
      ['shop', shop],
      ['blog', blog],
      ['shop-fix', branch],
    ] as const) {
      const mayLogIn = (await callers.projectFor(principal, name)) !== null
      assert.equal(await callers.stillMay(credential, project.id), mayLogIn, name)
      assert.equal(passes.of(project.id, 'mailpit').length, mayLogIn ? 1 : 0, name)
      if (mayLogIn) found.push(name)
    }
    return found
  }
  assert.deepEqual(await open(), ['shop', 'shop-fix'])
  const change = async (to: UserChange) => {
    await http.store.transaction((tx) => tx.users.update(id, to))
    await passes.renew()
  }
  await change({ projectRoles: [{ project: shop.id, role: 'read' }] })
  assert.deepEqual(await open(), [])
  await change({ role: 'operate', projects: [blog.id], projectRoles: [{ project: branch.id, role: 'admin' }] })
  assert.deepEqual(await open(), ['blog', 'shop-fix'])
})
