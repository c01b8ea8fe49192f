import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerProblem, type Call, problem, type Route, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const grace = {
  ...{
    id: 'usr_2',
    username: 'grace',
    role: null,
    projects: [],
    projectRoles: [{ project: 'prj_1', role: 'operate' }],
  },
  ...{ disabled: false, hasPassword: false, invitedUntil: null, createdAt: '2026-02-03T15:20:33.000Z' },
}
const ada = { ...grace, id: 'usr_1', username: 'ada', role: 'admin', projectRoles: [], hasPassword: true }
const link = { kind: 'invitation', url: 'http://here/welcome#code', expiresAt: '2026-02-05T15:20:33.000Z' }
const answers = { 'User [ada]: ': '', 'Password: ': 'correct horse' }
/** Refuses what does not come with both halves of the session. */
const inSession =
  (answer: unknown): Route =>
  ({ headers }, response) =>
    headers.cookie === 'stq_session=half' && headers['x-csrf-token'] === 'other half'
      ? (answer ?? void response.writeHead(204).end())
      : answerProblem(response, problem(403, 'session_required'))
const routes: Readonly<Record<string, Route>> = {
  'GET /auth/me': () => ({ kind: 'token', name: 'ci', scope: 'read', projects: [], user: 'ada' }),
  'POST /auth/login': (_call: Call, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'stq_session=half; HttpOnly; Path=/' })
    response.end(JSON.stringify({ kind: 'session', user: 'ada', userId: 'usr_1', csrfToken: 'other half' }))
  },
  'POST /auth/logout': inSession(null),
  'GET /users': inSession({ items: [ada, grace], nextCursor: null }),
  'GET /projects': inSession({ items: [{ id: 'prj_1', slug: 'shop' }], nextCursor: null }),
  'POST /users': inSession(grace),
  'POST /users/usr_2/invite': inSession(link),
  'PATCH /users/usr_2': inSession({ ...grace, role: 'read' }),
  'DELETE /users/usr_2': inSession(null),
}

test('against a stand-in: a person is invited, gets roles, is shut out and deleted, each in a session of its own', async () => {
  await using service = await standIn(routes)
  const run = async (...args: string[]) => {
    const done = await onTerminal(['user', ...args], { url: service.url, answers })
    assert.equal(done.error, null, String(done.error))
    return done.stdout
  }
  const bodies = (method: string, path: string) =>
    service.calls.filter((call) => call.method === method && call.path === path).map(({ body }) => body)
  assert.match(await run('create', 'grace', '--on', 'shop=operate'), /http:\/\/here\/welcome#code/)
  assert.deepEqual(bodies('POST', '/users'), [
    { username: 'grace', role: null, projects: [], projectRoles: [{ project: 'shop', role: 'operate' }] },
  ])
  assert.match(await run('list'), /ada +admin +active[\s\S]*grace +operate on shop +no password yet/)
  assert.match(await run('reset', 'grace'), /welcome#code/)
  await run('role', 'grace', 'read', '--project', 'shop', '--project', 'blog')
  await run('disable', 'grace')
  await run('enable', 'usr_2')
  assert.deepEqual(bodies('PATCH', '/users/usr_2'), [
    { role: 'read', projects: ['shop', 'blog'], projectRoles: [] },
    { disabled: true },
    { disabled: false },
  ])
  await run('delete', 'grace')
  assert.equal(bodies('DELETE', '/users/usr_2').length, 1)
  assert.equal(bodies('POST', '/auth/login').length, bodies('POST', '/auth/logout').length)
})

test('against a stand-in: a role that is none, and somebody who is not there, change nothing', async () => {
  await using service = await standIn(routes)
  const run = (...args: string[]) => onTerminal(['user', ...args], { url: service.url, answers })
  for (const [args, expected] of [
    [['role', 'grace', 'root'], /no role "root"/],
    [['role', 'grace', 'read', '--on', 'shop'], /--on takes/],
    [['role', 'grace', 'read', '--on', 'shop=none'], /--on takes/],
    [['create', 'lin', '--role', 'boss'], /no role "boss"/],
  ] as const)
    assert.match(String((await run(...args)).error), expected)
  assert.equal(service.calls.length, 0, 'nothing was sent')
  assert.match(String((await run('invite', 'bob')).error), /no user "bob"/)
  assert.ok(!service.lines().some((line) => /PATCH|invite/.test(line)))
})
