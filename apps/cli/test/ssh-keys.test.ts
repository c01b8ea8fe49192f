import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { CliError } from '../src/errors.ts'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, type Call, problem, type Route, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const key = {
  id: 'key_1',
  name: 'laptop',
  type: 'ssh-ed25519',
  fingerprint: 'SHA256:abc',
  createdAt: '2026-02-03T15:20:33.000Z',
  lastUsedAt: null,
}
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
  'POST /auth/login': ({ body }: Call, response) => {
    const { username, password } = body as Record<string, string>
    if (username !== 'ada' || password !== 'correct horse') return answerProblem(response, problem(401, 'login_failed'))
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'stq_session=half; HttpOnly; Path=/' })
    response.end(
      JSON.stringify({ kind: 'session', user: 'ada', userId: 'usr_1', role: 'admin', csrfToken: 'other half' }),
    )
  },
  'POST /auth/logout': inSession(null),
  'GET /auth/ssh-keys': inSession({ items: [key], nextCursor: null }),
  'POST /auth/ssh-keys': inSession(key),
  'DELETE /auth/ssh-keys/key_1': inSession(null),
}

test('against a stand-in: a key is added, listed and removed in a session that ends with the command', async () => {
  await using home = await scratch()
  const file = join(home.path, 'id_ed25519.pub')
  await writeFile(file, 'ssh-ed25519 AAAA ada@laptop\n')
  await using service = await standIn(routes)
  const run = (...args: string[]) => onTerminal(['ssh-key', ...args], { url: service.url, answers })
  const added = await run('add', file, '--name', 'laptop')
  assert.equal(added.error, null, String(added.error))
  assert.match(added.stdout, /key_1 SHA256:abc/)
  const sent = service.calls.find(({ method, path }) => method === 'POST' && path === '/auth/ssh-keys')!
  assert.deepEqual(sent.body, { publicKey: 'ssh-ed25519 AAAA ada@laptop', name: 'laptop' })
  assert.equal(sent.headers.authorization, undefined, 'the token has no part in it')
  assert.match((await run('list')).stdout, /key_1 +laptop +SHA256:abc +never/)
  assert.equal((await run('remove', 'laptop')).error, null)
  assert.match(String((await run('remove', 'desktop')).error), /no key "desktop"/)
  const lines = service.lines().filter((line) => !line.startsWith('GET'))
  assert.deepEqual(lines, [
    ...['POST /auth/login', 'POST /auth/ssh-keys', 'POST /auth/logout'],
    ...['POST /auth/login', 'POST /auth/logout'],
    ...['POST /auth/login', 'DELETE /auth/ssh-keys/key_1', 'POST /auth/logout'],
    ...['POST /auth/login', 'POST /auth/logout'],
  ])
})

test('against a stand-in: a wrong password, no terminal and a private half do nothing, and say what to do', async () => {
  await using home = await scratch()
  const file = join(home.path, 'id_ed25519')
  await writeFile(file, '-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n')
  await using service = await standIn(routes)
  const wrong = await onTerminal(['ssh-key', 'list'], {
    url: service.url,
    answers: { ...answers, 'Password: ': 'wrong' },
  })
  assert.match(String(wrong.error), /./)
  assert.ok(!`${wrong.stdout}${wrong.stderr}`.includes('wrong'), 'what is typed is not shown')
  const calls = service.calls.length
  const half = await onTerminal(['ssh-key', 'add', file], { url: service.url, answers })
  assert.ok(half.error instanceof CliError)
  assert.match(`${half.error.message} ${half.error.hint}`, /private half.*id_ed25519\.pub/)
  const script = await stq(['ssh-key', 'list'], { env: { STACKQUAY_URL: service.url, STACKQUAY_TOKEN: 'stq_test' } })
  assert.equal(script.code, 3)
  assert.match(script.stderr, /no token may do it[\s\S]*\/settings\/ssh-keys/)
  assert.equal(service.calls.length, calls, 'nothing was sent')
})
