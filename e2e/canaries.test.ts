import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { apiPrefix, type Operation, operationList } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { admin, type Service, startService } from './support/service.ts'

interface Answer {
  readonly id: string
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of every kind are looked into.
  readonly json: any
}
type Headers = Readonly<Record<string, string>>
type Call = { params?: Record<string, string>; query?: string; body?: unknown; raw?: string; headers?: Headers }

/** Answers that hold a secret because that is what they are for: the operation, and what may be in it. Nothing else may. */
const byDesign: Readonly<Record<string, (canary: string) => boolean>> = {
  login: (canary) => canary.startsWith('CSRF token') || canary.startsWith('device key'),
  completeSetup: (canary) => canary.startsWith('CSRF token'),
  createToken: (canary) => canary.startsWith('token'),
  createWebhook: (canary) => canary.startsWith('webhook'),
  rotateWebhookSecret: (canary) => canary.startsWith('webhook'),
  getProjectEnvValue: (canary) => canary.startsWith('variable'),
  getDatabaseCredentials: (canary) => canary.startsWith('database'),
  revealSecretKey: (canary) => canary.startsWith('secret key'),
}

describe('planted secrets', () => {
  const canaries = new Map<string, string>()
  /** Everything that anybody was told, by what told it. */
  const told: { readonly source: string; readonly text: string }[] = []
  let service: Service
  let git: GitServer
  let repositories: string
  let session: Headers
  const account = { username: `git-${random()}`, password: `git pass/${random()}` }

  before(async () => {
    repositories = await mkdtemp(join(tmpdir(), 'stackquay-git-'))
    git = await serveGit(repositories, account)
    service = await startService({ env: { STACKQUAY_LOG_LEVEL: 'trace' } })
  })
  after(async () => {
    await service?.close()
    await git?.close()
    await rm(repositories, { recursive: true, force: true })
  })

  it('are planted in every place that holds one', { timeout: 120_000 }, async () => {
    plant('password of ada', admin.password)
    plant('token of the tests', service.token)
    session = await logIn('ada', admin.password, 'of ada')

    const source = join(repositories, 'source')
    await mkdir(source)
    await writeFile(
      join(source, 'package.json'),
      JSON.stringify({ scripts: { start: 'node server.js', hello: 'node --version', test: 'node --test' } }),
    )
    const server = "require('http').createServer((q, a) => a.end('ok')).listen(process.env.PORT, '127.0.0.1')\n"
    await writeFile(join(source, 'server.js'), server)
    await writeFile(join(source, 'a.test.js'), "require('node:test').test('a', () => { throw new Error('no') })\n")
    await publishRepository(source, join(repositories, 'private.git'))
    plant('git user', account.username)
    plant('git password', account.password)
    const url = git.url('private.git', `${account.username}:${encodeURIComponent(account.password)}`)
    const env = { FIRST: { value: plant('variable given at the creation', odd()), secret: true } }
    const made = await call('createProject', {
      body: { name: 'Shop', git: { url }, env, databases: { main: { type: 'postgresql' } } },
      query: 'wait=100',
    })
    assert.equal(made.json.status?.state, 'running', made.text)
    const wrong = git.url('private.git', `mallory:${plant('git password that is wrong', random())}`)
    await call('createProject', { body: { name: 'Refused', git: { url: wrong } }, query: 'wait=60' })

    const shop = { id: 'shop' }
    const second = { value: plant('variable set by PATCH', odd()), secret: true }
    await call('updateProject', { params: shop, body: { env: { SECOND: second } }, query: 'wait=60' })
    const third = { value: plant('variable set by PUT', odd()), secret: true }
    await call('putProjectEnv', { params: { ...shop, name: 'THIRD' }, body: third, query: 'wait=60' })
    const gone = { value: plant('variable that was replaced', odd()), secret: true }
    await call('putProjectEnv', { params: { ...shop, name: 'FOURTH' }, body: gone, query: 'wait=60' })
    const next = { value: plant('variable that replaced it', odd()), secret: true }
    await call('putProjectEnv', { params: { ...shop, name: 'FOURTH' }, body: next, query: 'wait=60' })
    const credentials = await call('getDatabaseCredentials', { params: { ...shop, db: 'main' } })
    plant('database password', credentials.json.password)
    plant('database url', credentials.json.url)

    for (const [name, scope] of [
      ['reader', 'read'],
      ['restricted', 'admin'],
      ['revoked', 'operate'],
    ] as const) {
      const projects = name === 'restricted' ? ['shop'] : []
      const { json } = await call('createToken', { body: { name, scope, projects } })
      plant(`token ${name}`, json.value)
      if (name === 'revoked') await call('revokeToken', { params: { tid: json.id } })
    }
    const hook = await call('createWebhook', {
      body: { name: 'ci', url: 'http://127.0.0.1:9/', events: ['run.changed', 'project.changed'] },
    })
    plant('webhook secret', hook.json.secret)
    const rotated = await call('rotateWebhookSecret', { params: { hook: hook.json.id } })
    plant('webhook secret that replaced it', rotated.json.secret)
    const rules = { basicAuth: { username: 'ada', password: plant('password of the rules', odd()) } }
    assert.equal((await call('putProxyRules', { params: shop, body: rules })).status, 200)
    const shared = { password: plant('password of the share', odd()) }
    assert.equal((await call('createShare', { params: shop, body: shared })).status, 201)
    const password = plant('password of grace', odd())
    const grace = await call('createUser', { body: { username: 'grace', role: 'operate', password } })
    await logIn('grace', password, 'of grace')
    const reset = plant('password of grace after a reset', odd())
    await call('changeUser', { params: { uid: grace.json.id }, body: { password: reset } })
    await logIn('grace', reset, 'of grace, again')
    await call('login', { body: { username: 'ada', password: plant('password that is wrong', odd()) } })
    const current = plant('password that is wrong, said again', odd())
    await call('changePassword', { body: { current, new: plant('password that was not taken', odd()) } })
    await call('revealSecretKey', { body: { password: current } })

    plantKey('secret key', (await readFile(join(service.home, 'secret.key'), 'utf8')).trim())
    await call('revealSecretKey', { body: { password: admin.password } })
    await call('replaceSecretKey', { body: { password: admin.password } })
    plantKey('secret key that replaced it', (await readFile(join(service.home, 'secret.key'), 'utf8')).trim())
    const given = randomBytes(32).toString('base64')
    plantKey('secret key that was given', given)
    await call('replaceSecretKey', { body: { password: admin.password, key: given } })
    assert.ok(canaries.size >= 20, String(canaries.size))
  })

  it('are in no answer to anybody, of no operation, whether it succeeds or fails', { timeout: 180_000 }, async () => {
    const visitors: readonly Headers[] = [
      {},
      { authorization: `Bearer ${service.token}` },
      { authorization: `Bearer ${canaries.get('token reader')}` },
      { authorization: `Bearer ${canaries.get('token restricted')}` },
      { authorization: `Bearer ${canaries.get('token revoked')}` },
      session,
    ]
    const secret = canaries.get('variable set by PUT')
    const bodies: readonly Omit<Call, 'headers'>[] = [
      {},
      // What a person may send by mistake: a secret in the wrong place, under the wrong name, cut off.
      { body: { password: { value: secret }, key: [secret], env: { A: { value: secret, secret: 'yes' } } } },
      { body: [secret] },
      { raw: `{"password": "${canaries.get('password of grace')}` },
      { raw: `${canaries.get('password of grace')}` },
    ]
    for (const operation of operationList.filter(({ stream }) => stream === undefined)) {
      // These would end the session, or the project, in the middle.
      if (['logout', 'logoutOidc', 'deleteProject'].includes(operation.id)) continue
      for (const headers of visitors) {
        for (const body of operation.body === undefined ? [{}] : bodies) {
          await call(operation.id, { params: { id: 'shop', db: 'main', name: 'THIRD' }, headers, ...body })
        }
      }
      // A key that was used is sent again with a secret in its body.
      const again = { authorization: `Bearer ${service.token}`, 'idempotency-key': 'one' }
      if (operation.method === 'POST')
        await call(operation.id, { params: { id: 'shop' }, headers: again, body: { a: secret } })
    }
    const list = await call('listProjects', {})
    assert.equal(list.json.items.length, 1, 'only what was planted is there')
    await call('exportAudit', { query: 'format=csv' })
    await call('exportAudit', { query: 'format=jsonl' })
    for (const { id } of (await call('listOperations', { query: 'limit=200' })).json.items) {
      await call('getOperation', { params: { op: id } })
    }
    assertUntold()
  })

  it('are in no stream', { timeout: 180_000 }, async () => {
    const shop = { id: 'shop' }
    const { items: actions } = (await call('listActions', { params: shop })).json
    const action = actions.find(({ id }: { id: string }) => id.endsWith('.hello')).id
    const suite = (await call('listTests', { params: shop })).json.suites[0].id
    const run = (await call('runAction', { params: { ...shop, action }, query: 'wait=60' })).json.id
    const term = (await call('createTerminal', { params: shop })).json.id
    const params: Readonly<Record<string, string>> = { ...shop, action, suite, run, term }
    const exec = JSON.stringify({ type: 'run', argv: ['node', '--version'] })
    for (const { id, path, stream } of operationList.filter((one) => one.stream !== undefined)) {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'x'))
      const url = `${service.url}${apiPrefix}${filled}${path.startsWith('/events') ? '?after=0' : ''}`
      const headers = { authorization: `Bearer ${service.token}` }
      const first = id === 'watchExec' ? exec : undefined
      const text =
        stream === 'sse' ? await readSse(url, headers) : await readSocket(url.replace('http', 'ws'), headers, first)
      assert.ok(text.length > 20, `${path} said nothing`)
      told.push({ source: path, text })
    }
    assertUntold()
  })

  it('are in no log, and in the database only behind a seal or as a hash', { timeout: 60_000 }, async () => {
    await service.stop()
    told.push({ source: 'the log of the service', text: service.output() })
    for (const name of await readdir(service.home)) {
      if (!/^(stackquay\.db|audit\.checkpoint)/.test(name)) continue
      told.push({ source: name, text: (await readFile(join(service.home, name))).toString('latin1') })
    }
    for (const name of await readdir(join(service.home, 'proxy'), { recursive: true })) {
      const text = await readFile(join(service.home, 'proxy', name), 'latin1').catch(() => '')
      told.push({ source: `proxy/${name}`, text })
    }
    assert.ok(service.output().length > 0)
    assertUntold()
    await service.start()
  })

  it('would be found, in every form', () => {
    for (const [name, secret] of canaries) {
      for (const text of [
        secret,
        JSON.stringify({ secret }),
        encodeURIComponent(secret),
        Buffer.from(`user:${secret}`).toString('base64'),
        Buffer.from(`x${secret}yz`).toString('base64url'),
        Buffer.from(secret).toString('hex'),
      ]) {
        assert.ok(occurrencesIn(`before ${text} after`).includes(name), `${name} in ${text}`)
      }
    }
  })

  function plant(name: string, secret: string): string {
    assert.ok(secret.length >= 8, name)
    canaries.set(name, secret)
    return secret
  }

  /** 32 bytes: what is written in the file, and the bytes themselves however they are written. */
  function plantKey(name: string, key: string): void {
    plant(name, key)
    plant(`${name}, in hexadecimal`, Buffer.from(key, 'base64').toString('hex'))
  }

  async function logIn(username: string, password: string, whose: string): Promise<Headers> {
    const answer = await fetch(`${service.url}${apiPrefix}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    })
    const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
    const { csrfToken, deviceKey } = (await answer.json()) as { csrfToken: string; deviceKey: string }
    plant(`session cookie ${whose}`, cookie.slice(cookie.indexOf('=') + 1))
    plant(`CSRF token ${whose}`, csrfToken)
    plant(`device key ${whose}`, deviceKey)
    return { cookie, 'x-csrf-token': csrfToken }
  }

  async function call(id: string, { params = {}, query, body, raw, headers = session }: Call): Promise<Answer> {
    const { method, path } = operationList.find((operation) => operation.id === id) as Operation
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'x'))
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const answer = await fetch(`${service.url}${apiPrefix}${filled}${query === undefined ? '' : `?${query}`}`, {
      method,
      headers: { ...(sent === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    })
    const text = await answer.text()
    const head = JSON.stringify([...answer.headers].filter(([name]) => name !== 'set-cookie'))
    told.push({ source: id, text: `${head}\n${text}` })
    const json = /json$/.test(answer.headers.get('content-type')?.split(';')[0] ?? '') ? JSON.parse(text) : null
    return { id, status: answer.status, text, json }
  }

  function assertUntold(): void {
    const found = told.flatMap(({ source, text }) =>
      occurrencesIn(text)
        .filter((name) => !(byDesign[source]?.(name) ?? false))
        .map((name) => `${name} in ${source}`),
    )
    assert.deepEqual([...new Set(found)], [])
    assert.ok(told.length > 0)
    told.length = 0
  }

  function occurrencesIn(text: string): string[] {
    return [...canaries]
      .filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
      .map(([name]) => name)
  }
})

const forms = new Map<string, readonly string[]>()

/** Raw, in JSON, in a URL, in hexadecimal, and in base64 of both alphabets, wherever in it the secret begins. */
function formsOf(secret: string): readonly string[] {
  const known = forms.get(secret)
  if (known !== undefined) return known
  const bytes = Buffer.from(secret)
  const inside = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // The letters at both ends depend on the neighbours too.
    const core = text.slice(shift === 0 ? 0 : shift + 1, -1)
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const url = encodeURIComponent(secret)
  const hex = bytes.toString('hex')
  const all = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replaceAll('%20', '+'),
    hex,
    hex.toUpperCase(),
    ...inside,
  ]
  forms.set(secret, [...new Set(all)])
  return forms.get(secret)!
}

function random(): string {
  return randomBytes(9).toString('hex')
}

/** Letters that every encoding writes in its own way. */
function odd(): string {
  return `${random()} "ö/+&=?" ${random()}`
}

async function readSse(url: string, headers: Headers): Promise<string> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(2_000) })
  let text = ''
  try {
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) text += chunk
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') throw error
  }
  return text
}

async function readSocket(url: string, headers: Headers, first?: string): Promise<string> {
  const socket = new WebSocket(url, { headers: { ...headers } })
  socket.once('open', () => {
    if (first !== undefined) socket.send(first)
  })
  let text = ''
  socket.on('message', (data) => {
    text += String(data)
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('error', reject)
  socket.once('close', () => resolve())
  const leaving = setTimeout(() => socket.close(), 2_500)
  await promise.finally(() => clearTimeout(leaving))
  return text
}
