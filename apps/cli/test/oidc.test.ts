import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { answerProblem, type Call, problem, type Route, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const provider = {
  issuer: 'https://id.example.org',
  clientId: 'stackquay',
  scopes: ['openid'],
  roles: { claim: 'groups', admin: ['ops'], operate: [], read: [] },
  defaultRole: 'read',
  createPeople: true,
  label: 'Example',
  refreshMinutes: 15,
  graceMinutes: 240,
  hasSecret: true,
}
const settings = { redirectUri: 'https://quay.example.org/api/v1/auth/oidc/callback', failingSince: null, provider }
const answers = { 'User [ada]: ': '', 'Password: ': 'correct horse', 'Client secret: ': 'of the client' }
const inSession =
  (answer: unknown): Route =>
  ({ headers }, response) =>
    headers.cookie === 'stq_session=half' && headers['x-csrf-token'] === 'other half'
      ? (answer ?? void response.writeHead(204).end())
      : answerProblem(response, problem(403, 'session_required'))
const routesWith = (stored: object): Readonly<Record<string, Route>> => ({
  'GET /auth/me': () => ({ kind: 'token', name: 'ci', scope: 'admin', projects: [], user: 'ada' }),
  'POST /auth/login': (_call: Call, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'stq_session=half; HttpOnly; Path=/' })
    const me = { kind: 'session', user: 'ada', userId: 'usr_1', role: 'admin', csrfToken: 'other half' }
    response.end(JSON.stringify(me))
  },
  'POST /auth/logout': inSession(null),
  'GET /settings/oidc': inSession(stored),
  'PUT /settings/oidc': inSession(settings),
  'DELETE /settings/oidc': inSession(null),
  'POST /settings/oidc/test': inSession({ checks: [{ name: 'keys', ok: false, detail: 'It answers no keys.' }] }),
})

test('the provider is shown, changed in part, tested and removed in a session that ends with the command', async () => {
  await using service = await standIn(routesWith(settings))
  const run = (...args: string[]) => onTerminal(['instance', 'oidc', ...args], { url: service.url, answers })
  const shown = await run()
  assert.equal(shown.error, null, String(shown.error))
  assert.match(shown.stdout, /issuer +https:\/\/id\.example\.org/)
  assert.match(shown.stdout, /redirect address +https:\/\/quay\.example\.org/)
  const set = await run('set', '--operate', 'dev', '--default-role', 'none', '--client-secret')
  assert.equal(set.error, null, String(set.error))
  const put = service.calls.find(({ method, path }) => method === 'PUT' && path === '/settings/oidc')!
  const { hasSecret: _not, ...sent } = provider
  assert.deepEqual(put.body, {
    ...sent,
    ...{ roles: { ...provider.roles, operate: ['dev'] }, defaultRole: null },
    ...{ clientSecret: 'of the client', password: 'correct horse' },
  })
  assert.match((await run('test', 'https://other.example.org')).stdout, /keys +not ok: It answers no keys/)
  assert.deepEqual(service.calls.find(({ path }) => path === '/settings/oidc/test')!.body, {
    issuer: 'https://other.example.org',
  })
  assert.equal((await run('remove', '--yes')).error, null)
  const lines = service.lines().filter((line) => !line.startsWith('GET'))
  assert.equal(lines.filter((line) => line === 'POST /auth/login').length, 4)
  assert.equal(lines.filter((line) => line === 'POST /auth/logout').length, 4)
  assert.ok(lines.includes('DELETE /settings/oidc'))
})

test('what cannot be is said before anything is asked', async () => {
  await using service = await standIn(routesWith({ ...settings, provider: null }))
  const run = (...args: string[]) => onTerminal(['instance', 'oidc', ...args], { url: service.url, answers })
  assert.match(String((await run('set', '--default-role', 'root')).error), /no role/)
  assert.match(String((await run('set')).error), /What is to change/)
  assert.deepEqual(service.lines(), [])
  assert.match(String((await run('set', '--label', 'x')).error), /needs an issuer/)
  const bare = ['set', '--issuer', 'https://a.example', '--client-id', 'b']
  assert.match(String((await run(...bare, '--admin', 'ops')).error), /Which claim/)
  assert.equal((await run(...bare)).error, null)
  const put = service.calls.find(({ method }) => method === 'PUT')!
  assert.deepEqual(put.body, { issuer: 'https://a.example', clientId: 'b', roles: null, password: 'correct horse' })
  const piped = await stq(['instance', 'oidc'], { url: service.url })
  assert.notEqual(piped.code, 0)
  assert.match(piped.stderr, /needs your password/)
})
