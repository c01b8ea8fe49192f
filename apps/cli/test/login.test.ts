import assert from 'node:assert/strict'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'

const me = { kind: 'token', name: 'laptop', scope: 'admin', projects: [], user: 'ada' }
const whoever = { 'GET /auth/me': () => me, 'GET /projects': () => ({ items: [], nextCursor: null }) }

test('against a stand-in: login takes the token from standard input, checks it, and keeps it for its owner alone', async () => {
  await using home = await scratch()
  await using service = await standIn(whoever)
  const env = { XDG_CONFIG_HOME: home.path }
  const login = await stq(['login', '--url', `${service.url}/`], { env, input: 'stq_secret\n' })
  assert.equal(login.code, 0, login.stderr)
  assert.equal(login.stdout, `Logged in at ${service.url} as ada (token laptop, scope admin).\n`)
  assert.ok(!(login.stdout + login.stderr).includes('stq_secret'))

  const file = join(home.path, 'stackquay', 'config.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), {
    url: service.url,
    tokens: { [service.url]: 'stq_secret' },
  })

  const who = await stq(['whoami', '--json'], { env })
  assert.deepEqual(JSON.parse(who.stdout), { url: service.url, ...me })
  assert.equal(service.calls.at(-1)!.headers.authorization, 'Bearer stq_secret')

  const logout = await stq(['logout'], { env })
  assert.equal(logout.stdout, `Logged out of ${service.url}.\n`)
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { url: null, tokens: {} })
})

test('against a stand-in: a token is never sent to another URL than the one it was made for', async () => {
  await using home = await scratch()
  await using service = await standIn(whoever)
  await using other = await standIn(whoever)
  const env = { XDG_CONFIG_HOME: home.path }
  await stq(['login', '--url', service.url, '--token', 'stq_secret'], { env })
  const list = await stq(['list', '--url', other.url], { env })
  assert.equal(list.code, 3)
  assert.deepEqual(other.calls, [])
})

test('against a stand-in: a token that the service refuses is not kept', async () => {
  await using home = await scratch()
  await using service = await standIn({
    'GET /auth/me': (_call, response) => answerProblem(response, problem(401, 'unauthorized')),
  })
  const login = await stq(['login', '--url', service.url], {
    env: { XDG_CONFIG_HOME: home.path, STACKQUAY_TOKEN: 'stq_wrong' },
  })
  assert.equal(login.code, 3)
  await assert.rejects(stat(join(home.path, 'stackquay', 'config.json')))
})

test('login without a token, or with something that cannot be one, sends nothing', async () => {
  await using service = await standIn(whoever)
  for (const input of ['', 'two words\n']) assert.equal((await stq(['login', '--url', service.url], { input })).code, 2)
  assert.equal((await stq(['login', '--url', 'ftp://example.org'], { input: 'stq_x' })).code, 2)
  assert.deepEqual(service.calls, [])
})

test('a broken config file is named, and not written over', async () => {
  await using home = await scratch()
  await mkdir(join(home.path, 'stackquay'))
  const file = join(home.path, 'stackquay', 'config.json')
  await writeFile(file, '{ "url": ')
  const { code, stderr } = await stq(['list'], { env: { XDG_CONFIG_HOME: home.path } })
  assert.equal(code, 1)
  assert.match(stderr, /config\.json cannot be read: .*\n.*stq login/)
  assert.equal(await readFile(file, 'utf8'), '{ "url": ')
})
