import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Deploy } from '@stackquay/contract'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { refusal } from './support/refusal.ts'
import { type Service, startService, until } from './support/service.ts'
import { askSteadily } from './support/steady-answers.ts'
import { filesThatHold } from './support/traces.ts'

const execute = promisify(execFile)
const login = { username: 'grace', password: 'p4ss-w0rd-of-the-forge' }
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' }

const server = (text: string) => `
const http = require('node:http')
http.createServer((request, response) => response.end('${text}')).listen(process.env.PORT)
`
/** Writes down that it ran, as whom and what it saw. */
const hook = (name: string, more = '') =>
  `require('node:fs').appendFileSync('hooks.log', '${name} ' + process.getuid() + ' ' + process.env.STACKQUAY_HOOK + '\\n'); console.log('${name} ran'); ${more}`
const file = `name: Shop
node:
  preset: generic
  command: [node, server.js]
hooks:
  after-create: {command: ${JSON.stringify(['node', '-e', hook('created')])}}
  before-start: {command: ${JSON.stringify(['node', '-e', hook('before')])}}
  after-start: {command: ${JSON.stringify(['node', '-e', hook('after')])}}
  before-backup: {command: [node, quiet.js]}
  deploy: {command: [node, migrate.js], timeoutSeconds: 20}
`

describe('push to deploy', () => {
  let service: Service
  let git: GitServer
  let forge: Server
  let work: string
  let path: string
  let address: string
  let secret: string
  const told: { url: string; authorization: string | undefined; body: { state: string; description: string } }[] = []

  const theirs = async (...args: string[]) =>
    (
      await execute('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
        cwd: join(work, 'clone'),
        env,
      })
    ).stdout.trim()
  /** Answers the commits before and after. */
  const push = async (files: Record<string, string>, message = 'A change') => {
    const from = await theirs('rev-parse', 'HEAD')
    for (const [name, text] of Object.entries(files)) await writeFile(join(work, 'clone', name), text)
    await theirs('add', '--all')
    await theirs('commit', '--quiet', '--message', message)
    await theirs('push', '--quiet')
    return { before: from, after: await theirs('rev-parse', 'HEAD') }
  }
  const bodyOf = (commits: { before: string; after: string }, ref = 'refs/heads/main') =>
    JSON.stringify({ ref, ...commits, repository: { full_name: 'ada/shop', pushed_at: Date.now() }, commits: [] })
  const deliver = async (
    body: string,
    { id = randomUUID() as string, key = secret, event = 'push', at = address } = {},
  ) => {
    const response = await fetch(at, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gitea-event': event,
        'x-gitea-delivery': id,
        'x-gitea-signature': createHmac('sha256', key).update(body).digest('hex'),
      },
      body,
    })
    return { status: response.status, answer: (await response.json()) as Record<string, string | null> }
  }
  const remote = (user = '') => `http://${user}127.0.0.1:${(forge.address() as AddressInfo).port}/private/shop.git`
  const deploys = async () => (await service.client.call('listDeploys', { params: { id: 'shop' } })).items
  const ended = async (id: string | null | undefined): Promise<Deploy> => {
    let found: Deploy | undefined
    await until(
      async () => {
        found = (await deploys()).find((one) => one.id === id)
        return found !== undefined && found.state !== 'waiting' && found.state !== 'running'
      },
      `the end of ${id}`,
      60_000,
    )
    return found!
  }
  const hooksRun = async () =>
    (await readFile(join(path, 'hooks.log'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0])

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-deploy-'))
    await mkdir(join(work, 'source'))
    for (const [name, text] of Object.entries({
      'server.js': server('one'),
      'migrate.js': hook('migrated'),
      'quiet.js': hook('quiet'),
      '.gitignore': 'hooks.log\n',
      'package.json': '{"name": "shop", "private": true}\n',
      'stackquay.yml': file,
    }))
      await writeFile(join(work, 'source', name), text)
    await mkdir(join(work, 'private'))
    const bare = join(work, 'private', 'shop.git')
    await publishRepository(join(work, 'source'), bare)
    await execute('git', ['config', 'http.receivepack', 'true'], { cwd: bare })
    await execute('git', ['clone', '--quiet', bare, join(work, 'clone')], { env })
    git = await serveGit(work, login)
    // The API of a forge and its repositories at one address; what is told is written down.
    forge = createServer((request, response) => {
      if (!request.url!.startsWith('/api/')) {
        const { method, headers, url } = request
        const onward = httpRequest(new URL(url!, git.url('')), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode!, answer.headers)
          answer.pipe(response)
        })
        onward.on('error', () => response.destroy())
        request.pipe(onward)
        return
      }
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        told.push({
          url: request.url!,
          authorization: request.headers.authorization,
          body: JSON.parse(Buffer.concat(chunks).toString()),
        })
        response.writeHead(201).end('{}')
      })
    })
    forge.listen(0, '127.0.0.1')
    await once(forge, 'listening')
    service = await startService()
  })
  after(async () => {
    await service?.close()
    await git?.close()
    forge?.close()
    await rm(work, { recursive: true, force: true })
  })

  it('runs the hooks of the project file around its creation and its start, as its user', {
    timeout: 120_000,
  }, async () => {
    const made = await service.client.call('createProject', {
      body: { name: 'Shop', git: { url: remote(`${login.username}:${login.password}@`) }, start: true },
      query: { wait: 90 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
    path = made.path
    assert.deepEqual(await hooksRun(), ['before', 'after', 'created'])
    assert.equal((await service.get('shop')).body, 'one')
    const lines = (await readFile(join(path, 'hooks.log'), 'utf8')).trim().split('\n')
    assert.ok(
      lines.every((line) => line.split(' ')[1] !== '0'),
      lines.join(),
    )
    assert.equal(lines[0]!.split(' ')[2], 'before-start')
    const step = made.operation!.steps.find(({ id }) => id === 'hook:before-start')!
    assert.match(step.title, /^Run the hook before-start: node -e/)
    assert.deepEqual(step.output, ['before ran'])
  })

  it('makes no backup when its hook fails, and says which; a hook after a start leaves the project up', {
    timeout: 60_000,
  }, async () => {
    const id = { id: 'shop' }
    const failing = { command: ['node', '-e', 'console.error("not quiet"); process.exit(3)'] }
    await service.client.call('updateProject', {
      params: id,
      body: { hooks: { 'before-backup': failing } },
      query: { wait: 60 },
    })
    const made = (await service.client.call('createBackup', { params: id, body: {}, query: { wait: 60 } })) as {
      state: string
      error: { code: string; detail: string; hook: string } | null
    }
    assert.equal(made.state, 'failed')
    assert.equal(made.error?.code, 'hook_failed')
    assert.match(made.error!.detail, /before-backup ended with exit code 3/)
    assert.deepEqual((await service.client.call('listBackups', { params: id })).items, [])
    const slow = { command: ['sleep', '60'], timeoutSeconds: 1 }
    await service.client.call('updateProject', {
      params: id,
      body: { hooks: { 'before-backup': null, 'after-start': slow } },
      query: { wait: 60 },
    })
    const restarted = await service.client.call('restartProject', { params: id, query: { wait: 60 } })
    assert.equal(restarted.state, 'failed')
    assert.match(restarted.error!.detail, /after-start took longer than its 1 seconds/)
    assert.equal((await service.get('shop')).body, 'one')
    await service.client.call('updateProject', {
      params: id,
      body: { hooks: { 'after-start': null } },
      query: { wait: 60 },
    })
  })

  it('shows its secret once, refuses what it did not sign, and answers a ping', { timeout: 60_000 }, async () => {
    const put = await service.client.call('putGitWebhook', { params: { id: 'shop' }, body: { enabled: true } })
    secret = put.secret!
    address = put.address!.replace(/^https?:\/\/[^/]+/, service.url)
    assert.match(secret, /^whsec_/)
    assert.equal('secret' in (await service.client.call('getGitWebhook', { params: { id: 'shop' } })), false)
    assert.deepEqual(await filesThatHold(service.home, [secret]), [])
    const body = bodyOf({ before: '1'.repeat(40), after: '2'.repeat(40) })
    const wrong = await deliver(body, { key: 'another' })
    assert.deepEqual([wrong.status, wrong.answer.code], [403, 'signature_invalid'])
    const nobody = await deliver(body, { at: `${address.slice(0, -1)}${address.endsWith('0') ? '1' : '0'}` })
    assert.equal(nobody.status, 404)
    const ping = await deliver('{"zen": "Keep it logically awesome."}', { event: 'ping' })
    assert.deepEqual([ping.status, ping.answer.outcome], [200, 'ignored'])
    for (const [ref, commits] of [
      ['refs/tags/v1', { before: '0'.repeat(40), after: '2'.repeat(40) }],
      ['refs/heads/other', { before: '1'.repeat(40), after: '2'.repeat(40) }],
      ['refs/heads/main', { before: '1'.repeat(40), after: '0'.repeat(40) }],
    ] as const)
      assert.equal((await deliver(bodyOf(commits, ref))).answer.outcome, 'ignored', ref)
    assert.deepEqual(await deploys(), [])
  })

  it('deploys what is pushed, once: hook, restart, audit; a replayed delivery does nothing', {
    timeout: 120_000,
  }, async () => {
    const body = bodyOf(await push({ 'server.js': server('two') }))
    const id = randomUUID()
    const asking = askSteadily(service, 'shop')
    const [first, again] = await Promise.all([deliver(body, { id }), deliver(body, { id })])
    const accepted = [first, again].find(({ answer }) => answer.outcome === 'accepted')!
    const done = await ended(accepted?.answer.deploy).finally(() => asking.end())
    assert.deepEqual([first.answer.outcome, again.answer.outcome].sort(), ['accepted', 'replayed'])
    assert.deepEqual(asking.failures, [])
    assert.equal(done.state, 'succeeded', JSON.stringify(done))
    assert.deepEqual([done.trigger, done.actor], ['push', `webhook (gitea: ${id})`])
    const { generation } = await service.client.call('getProject', { params: { id: 'shop' } })
    const { runtimes, ...release } = done.release!
    assert.deepEqual(release, { generation, installedFrom: {}, images: {} })
    assert.match(runtimes.node ?? '', /^\d+\.\d+\.\d+/)
    assert.equal((await service.get('shop')).body, 'two')
    assert.ok((await hooksRun()).includes('migrated'))
    const later = await deliver(body, { id: randomUUID() })
    assert.equal(later.answer.outcome, 'replayed')
    assert.equal((await deploys()).length, 1)
    const { items } = await service.client.call('listAudit', { query: { action: 'project.git.deploy' } })
    assert.deepEqual([items[0]!.actor, items[0]!.source], [done.actor, 'system'])
  })

  it('of pushes during a deploy only the newest is deployed after it', { timeout: 120_000 }, async () => {
    const slow = `${hook('migrated')}; setTimeout(() => {}, 1500)`
    const one = await deliver(bodyOf(await push({ 'migrate.js': slow, 'server.js': server('three') })))
    await until(async () => (await deploys())[0]!.state === 'running', 'the first deploy')
    const two = await deliver(bodyOf(await push({ 'server.js': server('four') })))
    const three = await deliver(bodyOf(await push({ 'migrate.js': hook('migrated'), 'server.js': server('five') })))
    assert.equal((await ended(one.answer.deploy)).state, 'succeeded')
    assert.equal((await ended(two.answer.deploy)).state, 'superseded')
    const last = await ended(three.answer.deploy)
    assert.equal(last.state, 'succeeded')
    assert.equal(last.commit, await theirs('rev-parse', 'HEAD'))
    assert.equal((await service.get('shop')).body, 'five')
  })

  it('goes back by itself when the new commit does not run, or its hook fails; and on demand', {
    timeout: 180_000,
  }, async () => {
    const before = await theirs('rev-parse', 'HEAD')
    const broken = await deliver(bodyOf(await push({ 'server.js': 'process.exit(7)\n' })))
    const fell = await ended(broken.answer.deploy)
    assert.deepEqual([fell.state, fell.rolledBack, fell.from], ['failed', true, before], JSON.stringify(fell))
    assert.equal(fell.release, null)
    assert.equal((await service.get('shop')).body, 'five')
    const failing = await deliver(bodyOf(await push({ 'server.js': server('six'), 'migrate.js': 'process.exit(1)\n' })))
    const refused = await ended(failing.answer.deploy)
    assert.match(refused.reason!, /hook deploy ended with exit code 1.*back at/)
    assert.equal((await service.get('shop')).body, 'five')
    const fixed = await deliver(bodyOf(await push({ 'server.js': server('seven'), 'migrate.js': hook('migrated') })))
    assert.equal((await ended(fixed.answer.deploy)).state, 'succeeded')
    assert.equal((await service.get('shop')).body, 'seven')
    const { plan } = await service.client.plan('rollbackDeploy', { params: { id: 'shop' } })
    assert.deepEqual([plan.restarts, plan.warnings], [['node'], ['No data goes back.']])
    const back = await service.client.call('rollbackDeploy', { params: { id: 'shop' }, query: { wait: 60 } })
    assert.equal(back.state, 'succeeded', JSON.stringify(back.error))
    assert.equal((await service.get('shop')).body, 'five')
    const forward = await service.client.call('createDeploy', { params: { id: 'shop' }, query: { wait: 60 } })
    assert.equal(forward.state, 'succeeded', JSON.stringify(forward.error))
    assert.equal((await service.get('shop')).body, 'seven')
  })

  it('a history that was rewritten is deployed only when that is set', { timeout: 120_000 }, async () => {
    const before = await theirs('rev-parse', 'HEAD')
    await writeFile(join(work, 'clone', 'server.js'), server('eight'))
    await theirs('commit', '--quiet', '--all', '--amend', '--message', 'Rewritten')
    await theirs('push', '--quiet', '--force')
    const commits = { before, after: await theirs('rev-parse', 'HEAD') }
    const refused = await ended((await deliver(bodyOf(commits))).answer.deploy)
    assert.match(refused.reason!, /different ways/)
    assert.equal((await service.get('shop')).body, 'seven')
    await service.client.call('putGitWebhook', { params: { id: 'shop' }, body: { manner: 'reset' } })
    const taken = await ended((await deliver(bodyOf(commits))).answer.deploy)
    assert.equal(taken.state, 'succeeded', JSON.stringify(taken))
    assert.equal((await service.get('shop')).body, 'eight')
  })

  it('goes on with a deploy that a kill cut off, and runs its hook once', { timeout: 120_000 }, async () => {
    const slow = `${hook('migrated')}; setTimeout(() => {}, 3000)`
    const { answer } = await deliver(bodyOf(await push({ 'migrate.js': slow, 'server.js': server('nine') })))
    const count = (await hooksRun()).filter((one) => one === 'migrated').length
    await until(async () => (await hooksRun()).filter((one) => one === 'migrated').length > count, 'the hook')
    await service.kill()
    await service.start()
    const done = await ended(answer.deploy)
    assert.equal(done.state, 'succeeded', JSON.stringify(done))
    assert.equal((await service.get('shop')).body, 'nine')
    assert.equal((await hooksRun()).filter((one) => one === 'migrated').length, count + 1)
    const { refused } = await service.client.call('getGitWebhook', { params: { id: 'shop' } })
    assert.equal(refused?.reason, 'X-Gitea-Signature is not made with the secret of this webhook.')
  })

  it('tells the forge how each commit did, with the token that is kept', { timeout: 30_000 }, async () => {
    const known = await deploys()
    const last = known.find(({ state, trigger }) => state === 'succeeded' && trigger === 'push')!
    const failed = known.find(({ state, rolledBack }) => state === 'failed' && rolledBack)!
    await until(async () => (await deploys()).find(({ id }) => id === last.id)!.reported !== null, 'the report')
    const of = ({ commit }: Deploy) => told.filter(({ url }) => url === `/api/v1/repos/private/shop/statuses/${commit}`)
    assert.deepEqual(
      of(last).map(({ body }) => body.state),
      ['pending', 'success'],
    )
    assert.deepEqual(
      of(failed).map(({ body }) => body.state),
      ['pending', 'failure'],
    )
    assert.equal(of(failed).at(-1)!.body.description, 'Failed, and went back')
    assert.ok(told.every(({ authorization }) => authorization === `token ${login.password}`))
  })

  it('is shown by stq, without the secret', { timeout: 60_000 }, async () => {
    const stq = async (...args: string[]) =>
      (
        await execute(process.execPath, [fileURLToPath(new URL('../apps/cli/bin/stq', import.meta.url)), ...args], {
          env: { PATH: process.env.PATH, HOME: work, STACKQUAY_URL: service.url, STACKQUAY_TOKEN: service.token },
        })
      ).stdout
    const shown = await stq('git', 'webhook', 'shop', '--watch', '2h')
    assert.match(shown, /^Takes deliveries; deploys the branch that is checked out\n/)
    assert.match(shown, /asks the remote every 2h/)
    assert.match(shown, /accepted .*gitea push refs\/heads\/main/)
    assert.ok(!shown.includes(secret))
    const list = await stq('git', 'deploys', 'shop')
    assert.match(list, /failed, went back/)
    assert.match(list, /superseded/)
    const last = (await deploys()).find(({ release }) => release !== null)!
    const release = await stq('git', 'deploys', 'shop', '--show', last.id)
    assert.match(release, /^generation +\d+$/m)
    assert.match(release, /^node +\d+\.\d+/m)
  })

  it('wakes a project that sleeps, so that its hook runs', { timeout: 60_000 }, async () => {
    await service.client.call('sleepProject', { params: { id: 'shop' }, query: { wait: 30 } })
    const before = (await hooksRun()).filter((name) => name === 'migrated').length
    const { answer } = await deliver(bodyOf(await push({ 'server.js': server('awake') })))
    assert.equal((await ended(answer.deploy)).state, 'succeeded')
    assert.equal((await hooksRun()).filter((name) => name === 'migrated').length, before + 1)
    assert.equal((await service.get('shop')).body, 'awake')
  })

  it('is refused by who may only read', { timeout: 30_000 }, async () => {
    const token = await service.newToken('read')
    const answer = await fetch(`${service.url}/api/v1/projects/shop/git/webhook`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 403)
    const none = await refusal(
      service.client.call('rollbackDeploy', { params: { id: 'shop' }, body: { deploy: 'dpl_none' } }),
    )
    assert.equal(none.code, 'not_found')
  })
})
