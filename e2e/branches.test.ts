import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { BranchEnvironment } from '@stackquay/contract'
import pg from 'pg'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { refusal } from './support/refusal.ts'
import { type Service, startService, until } from './support/service.ts'

const execute = promisify(execFile)
const login = { username: 'grace', password: 'p4ss-w0rd-of-the-forge' }
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' }
const server = (text: string) => `
const http = require('node:http')
const known = process.env.API_KEY === undefined ? 'no key' : 'a key'
http.createServer((request, response) => response.end('${text}, ' + known)).listen(process.env.PORT)
`

describe('branch environments', { concurrency: 1 }, () => {
  let service: Service
  let git: GitServer
  let work: string
  let hook: { address: string; secret: string }

  const theirs = async (...args: string[]) => {
    const as = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args]
    return (await execute('git', as, { cwd: join(work, 'clone'), env })).stdout.trim()
  }
  const commit = async (branch: string, text: string) => {
    await theirs('switch', '--quiet', branch).catch(() => theirs('switch', '--quiet', '--create', branch))
    await writeFile(join(work, 'clone', 'server.js'), server(text))
    await theirs('commit', '--quiet', '--all', '--message', text)
    return theirs('rev-parse', 'HEAD')
  }
  const push = (...refs: string[]) => theirs('push', '--quiet', '--force', 'origin', ...refs)
  const deliver = async (event: string, payload: object) => {
    const body = JSON.stringify({ ...payload, sent: randomUUID() })
    const response = await fetch(hook.address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
      },
      body,
    })
    return { status: response.status, answer: (await response.json()) as Record<string, string | null> }
  }
  const pullRequest = (action: string, number: number, ref: string, sha: string, from = 1) => ({
    action,
    number,
    pull_request: {
      number,
      title: 'A change',
      html_url: `https://forge.example.com/ada/shop/pull/${number}`,
      head: { ref, sha, repo: { id: from } },
      base: { ref: 'main', repo: { id: 1 } },
    },
  })
  const list = async () => (await service.client.call('listBranches', { params: { id: 'shop' } })).items
  const at = async (branch: string) => (await list()).find((one) => one.branch === branch)
  const answers = (slug: string, text: string) =>
    until(async () => (await service.get(slug)).body === text, `${slug} to answer "${text}"`, 60_000)
  const create = async (body: { branch: string; create?: boolean; head?: string; databases?: 'empty' }) => {
    const made = await service.client.call('createBranch', { params: { id: 'shop' }, body, query: { wait: 90 } })
    assert.equal(made.operation.state, 'succeeded', JSON.stringify(made.operation))
    return made.environment
  }
  const asked = async (project: string, sql: string) => {
    const { databases } = await service.client.call('getProject', { params: { id: project } })
    const { url } = (await service.client.call('getDatabaseCredentials', { params: { id: project, db: 'main' } })) as {
      url: string
    }
    assert.ok(databases.main)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(sql)).rows as readonly Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-branches-'))
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'server.js'), server('main'))
    await writeFile(join(work, 'source', 'package.json'), '{"name": "shop", "private": true}\n')
    const file = 'node: {preset: generic, command: [node, server.js]}\n'
    await writeFile(join(work, 'source', 'stackquay.yml'), file)
    await mkdir(join(work, 'private'))
    const bare = join(work, 'private', 'shop.git')
    await publishRepository(join(work, 'source'), bare)
    await execute('git', ['config', 'http.receivepack', 'true'], { cwd: bare })
    await execute('git', ['clone', '--quiet', bare, join(work, 'clone')], { env })
    await commit('feature/Größe', 'feature')
    await push('feature/Größe')
    git = await serveGit(work, login)
    service = await startService()
    const url = git.url('private/shop.git', `${login.username}:${login.password}`)
    const made = await service.client.call('createProject', {
      body: {
        name: 'Shop',
        git: { url },
        databases: { main: { type: 'postgresql' } },
        env: { API_KEY: { value: 'of-the-parent', secret: true }, MODE: 'shop' },
      },
      query: { wait: 170 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
    await asked('shop', 'create table items (name text)')
    await asked('shop', "insert into items values ('of the parent')")
    const settings = await service.client.call('putGitWebhook', { params: { id: 'shop' }, body: { enabled: true } })
    hook = { address: settings.address!, secret: settings.secret! }
  })
  after(async () => {
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  it('makes a project of its own for a branch, with a clone of the data and without the secrets', {
    timeout: 120_000,
  }, async () => {
    const made = await create({ branch: 'feature/Größe' })
    assert.equal(made.slug, 'feature-grosse--shop')
    assert.deepEqual(made.missingSecrets, ['API_KEY'])
    await answers(made.slug!, 'feature, no key')
    await answers('shop', 'main, a key')
    assert.equal((await service.get(made.slug!)).headers['x-robots-tag'], 'noindex')
    assert.equal((await service.get('shop')).headers['x-robots-tag'], undefined)
    assert.deepEqual(await asked(made.project!, 'select name from items'), [{ name: 'of the parent' }])
    await asked(made.project!, "insert into items values ('of the branch')")
    assert.equal((await asked('shop', 'select name from items')).length, 1)
    const { credentials } = await service.client.call('getGit', { params: { id: made.project! } })
    assert.equal(credentials, null)
    const refused = await refusal(service.client.call('pushGit', { params: { id: made.project! }, body: {} }))
    assert.equal(refused.code, 'git_refused')
  })

  it('deploys it when the branch is pushed, and not the project', { timeout: 90_000 }, async () => {
    const before = await theirs('rev-parse', 'HEAD')
    const after = await commit('feature/Größe', 'pushed')
    await push('feature/Größe')
    const { answer } = await deliver('push', { ref: 'refs/heads/feature/Größe', before, after })
    assert.equal(answer.outcome, 'accepted', JSON.stringify(answer))
    await answers('feature-grosse--shop', 'pushed, no key')
    await answers('shop', 'main, a key')
    assert.equal((await at('feature/Größe'))?.commit, after)
  })

  it('refuses a second one, a branch that is nowhere, the deletion of the project, and names with "--"', async () => {
    const params = { id: 'shop' }
    const call = (body: { branch: string }) => refusal(service.client.call('createBranch', { params, body }))
    assert.equal((await call({ branch: 'feature/Größe' })).code, 'conflict')
    assert.equal((await call({ branch: '--upload-pack=touch x' })).code, 'validation_failed')
    const gone = service.client.call('deleteProject', { params, query: { confirm: 'shop' } })
    const { code, hint } = await refusal(gone)
    assert.equal(code, 'conflict')
    assert.match(hint ?? '', /stq branch delete \S+ shop$/)
    const named = service.client.call('createProject', { body: { name: 'x', slug: 'x--shop' } })
    assert.equal((await refusal(named)).code, 'conflict')
    const made = await service.client
      .call('createBranch', { params, body: { branch: 'nowhere' }, query: { wait: 60 } })
      .catch((error: unknown) => error)
    assert.match(String((made as Error).message), /has a branch "nowhere"/)
    assert.equal(await at('nowhere'), undefined)
  })

  it('makes the branch on request, which only this side has then', { timeout: 90_000 }, async () => {
    const long = `ada/${'a-long-name-'.repeat(12)}end`
    const made = await create({ branch: long, create: true, databases: 'empty' })
    assert.ok(made.slug!.length <= 59 && made.slug!.endsWith('--shop'), made.slug!)
    await answers(made.slug!, 'main, no key')
    assert.deepEqual([made.ahead, made.gone], [null, null])
    const none = await refusal(service.client.call('deleteBranch', { params: { id: 'shop', branch: long } }))
    assert.equal(none.code, 'validation_failed')
    await service.client.call('deleteBranch', {
      params: { id: 'shop', branch: long },
      query: { confirm: long, wait: 60 },
    })
    assert.equal(await at(long), undefined)
    assert.ok((await service.client.call('listTrash', {})).items.some(({ name }) => name === made.slug))
  })

  it('gives a pull request an environment, and takes it away when that is closed', { timeout: 120_000 }, async () => {
    await service.client.call('updateProject', { params: { id: 'shop' }, body: { branches: { pullRequests: true } } })
    const head = await commit('fix', 'fixed')
    await push('fix')
    const { answer } = await deliver('pull_request', pullRequest('opened', 7, 'fix', head))
    assert.equal(answer.outcome, 'accepted', JSON.stringify(answer))
    await answers('fix--shop', 'fixed, no key')
    const made: BranchEnvironment | undefined = await at('fix')
    assert.deepEqual([made?.pullRequest?.number, made?.commit], [7, head])
    const next = await commit('fix', 'fixed again')
    await push('fix')
    await deliver('pull_request', pullRequest('synchronize', 7, 'fix', next))
    await answers('fix--shop', 'fixed again, no key')
    await until(async () => (await at('fix'))?.state === 'running', 'the end of the deploy')
    const closed = await deliver('pull_request', pullRequest('closed', 7, 'fix', next))
    await until(async () => (await at('fix')) === undefined, `the end of it: ${JSON.stringify(closed.answer)}`, 60_000)
  })

  it('lets a pull request of a fork wait for a person, who approves one commit of it', {
    timeout: 120_000,
  }, async () => {
    await service.client.call('updateProject', { params: { id: 'shop' }, body: { branches: { secrets: 'inherit' } } })
    const head = await commit('theirs', 'a stranger')
    await push('theirs:refs/pull/9/head')
    await deliver('pull_request', pullRequest('opened', 9, 'main', head, 2))
    const waiting = (await at('pull/9'))!
    assert.deepEqual([waiting.state, waiting.project, waiting.pullRequest?.waiting], ['awaiting-approval', null, head])
    const params = { id: 'shop' }
    const blind = service.client.call('createBranch', { params, body: { branch: 'pull/9' } })
    assert.equal((await refusal(blind)).code, 'conflict')
    const made = await create({ branch: 'pull/9', head })
    await answers(made.slug!, 'a stranger, no key')
    await assert.rejects(asked(made.project!, 'select name from items'), /does not exist/)
    // Another commit, of which nobody was asked.
    const next = await commit('theirs', 'a worse stranger')
    await push('theirs:refs/pull/9/head')
    await deliver('pull_request', pullRequest('synchronize', 9, 'main', next, 2))
    const deployed = await service.client.call('createDeploy', { params: { id: made.project! }, query: { wait: 60 } })
    assert.match(deployed.error?.detail ?? '', /is not the one that was approved/)
    assert.equal((await service.get(made.slug!)).body, 'a stranger, no key')
    await service.client.call('createBranch', { params, body: { branch: 'pull/9', head: next } })
    await answers(made.slug!, 'a worse stranger, no key')
  })

  it('keeps an environment with changes when its branch is gone, and else moves it to the trash', {
    timeout: 120_000,
  }, async () => {
    await service.client.call('updateProject', { params: { id: 'shop' }, body: { branches: { keepDays: 0 } } })
    const made = (await at('feature/Größe'))!
    const { path } = await service.client.call('getProject', { params: { id: made.project! } })
    await writeFile(join(path, 'notes.txt'), 'mine')
    await theirs('switch', '--quiet', 'main')
    await push(':feature/Größe')
    const gone = { ref: 'refs/heads/feature/Größe', before: made.commit!, after: '0'.repeat(40) }
    await deliver('push', gone)
    await until(async () => (await at('feature/Größe'))?.warning != null, 'the warning', 60_000)
    await rm(join(path, 'notes.txt'))
    await service.client.call('updateProject', { params: { id: 'shop' }, body: { branches: { keepDays: 1 } } })
    assert.ok((await at('feature/Größe'))?.removeAt)
    await service.client.call('updateProject', { params: { id: 'shop' }, body: { branches: { keepDays: 0 } } })
    // A branch that is there again and goes again is looked at again.
    await deliver('push', { ...gone, after: made.commit! })
    await deliver('push', gone)
    await until(async () => (await at('feature/Größe')) === undefined, 'the trash', 60_000)
  })

  it('lets a token of the project into its environments, and not the other way round', {
    timeout: 60_000,
  }, async () => {
    const environment = (await at('pull/9'))!
    const { id } = await service.client.call('getProject', { params: { id: 'shop' } })
    const status = async (value: string, project: string) =>
      (await fetch(`${service.url}/api/v1/projects/${project}`, { headers: { authorization: `Bearer ${value}` } }))
        .status
    const [wide, narrow] = [
      await service.newToken('read', [id]),
      await service.newToken('read', [environment.project!]),
    ]
    assert.deepEqual([await status(wide, id), await status(wide, environment.project!)], [200, 200])
    assert.deepEqual([await status(narrow, id), await status(narrow, environment.project!)], [403, 200])
  })
})
