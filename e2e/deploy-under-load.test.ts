import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isSoak, rounds } from '@stackquay/testkit/rounds'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { type Service, startService, until } from './support/service.ts'
import { askAtRate } from './support/steady-rate.ts'

const execute = promisify(execFile)
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' }

/** Answers its text, and is healthy. */
const good = (text: string) => `
const server = require('node:http').createServer((request, response) => response.end('${text}'))
server.listen(process.env.PORT)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`
/** What is wrong with each would be seen by whoever is let through. */
const bad = {
  'answers its check and falls over a second later': `
require('node:http').createServer((request, response) => {
  response.statusCode = request.url === '/health' ? 200 : 500
  response.end('broken')
}).listen(process.env.PORT)
setTimeout(() => process.exit(1), 1000)
`,
  'is never healthy, and takes long to fail': `
require('node:http').createServer((request, response) => {
  response.statusCode = 503
  response.end('broken')
}).listen(process.env.PORT)
`,
  'does not start at all': 'process.exit(7)\n',
  'is not JavaScript': 'this is no program\n',
  'never listens': 'setInterval(() => {}, 1000)\n',
}
/** Longer than half a minute, after which requests are given up elsewhere, where everything is done in full. */
const healthSeconds = rounds(3, 45)

const project = `name: Shop
node:
  preset: generic
  command: [node, server.js]
healthCheck: {path: /health, timeoutSeconds: ${healthSeconds}}
`

describe('releases under 100 requests a second', () => {
  let service: Service
  let git: GitServer
  let work: string
  const params = { id: 'shop' }

  const theirs = async (...args: string[]) =>
    (
      await execute('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
        cwd: join(work, 'clone'),
        env,
      })
    ).stdout.trim()
  const push = async (text: string) => {
    await writeFile(join(work, 'clone', 'server.js'), text)
    await theirs('commit', '--quiet', '--all', '--message', 'A change')
    await theirs('push', '--quiet')
    return theirs('rev-parse', 'HEAD')
  }
  const ended = async (begun: { readonly id: string; readonly state: string; readonly error: unknown }) => {
    let operation = begun
    while (operation.state === 'queued' || operation.state === 'running')
      operation = await service.client.call('getOperation', { params: { op: begun.id }, query: { wait: 60 } })
    return operation
  }
  const deploy = async () => ended(await service.client.call('createDeploy', { params, query: { wait: 60 } }))
  const newest = async () => (await service.client.call('listDeploys', { params, query: { limit: 1 } })).items[0]!

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-releases-'))
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'server.js'), good('one'))
    await writeFile(join(work, 'source', 'package.json'), '{"name": "shop", "private": true}\n')
    await writeFile(join(work, 'source', 'stackquay.yml'), project)
    const bare = join(work, 'shop.git')
    await publishRepository(join(work, 'source'), bare)
    await execute('git', ['config', 'http.receivepack', 'true'], { cwd: bare })
    await execute('git', ['clone', '--quiet', bare, join(work, 'clone')], { env })
    git = await serveGit(work, { username: 'grace', password: 'not asked for' })
    service = await startService()
    const made = await service.client.call('createProject', {
      body: { name: 'Shop', git: { url: git.url('shop.git') }, start: true },
      query: { wait: 90 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
  })
  after(async () => {
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  it('a good one, bad ones of every kind that go back by themselves, and the way back by hand: none fails', {
    timeout: 600_000,
  }, async (t) => {
    const asking = askAtRate({ port: service.proxyPort, perSecond: 100 })
    try {
      await asking.answered('one')
      await push(good('two'))
      const forward = await deploy()
      assert.equal(forward.state, 'succeeded', JSON.stringify(forward.error))
      await asking.answered('two')
      const before = await theirs('rev-parse', 'HEAD')
      for (const [fault, text] of Object.entries(bad).slice(0, rounds(2, 5))) {
        const commit = await push(text)
        const fell = await deploy()
        assert.equal(fell.state, 'failed', fault)
        const { state, rolledBack, from, commit: tried } = await newest()
        assert.deepEqual([state, rolledBack, from, tried], ['failed', true, before, commit], fault)
        assert.equal((await service.get('shop')).body, 'two', fault)
        assert.deepEqual(asking.failures, [], fault)
      }
      const back = await ended(await service.client.call('rollbackDeploy', { params, query: { wait: 60 } }))
      assert.equal(back.state, 'succeeded', JSON.stringify(back.error))
      const ones = asking.said.get('one')!
      await until(async () => asking.said.get('one')! > ones + 20, 'answers of the first release')
    } finally {
      t.diagnostic(await asking.end())
    }
    assert.deepEqual(asking.failures, [])
    assert.deepEqual([...asking.said.keys()].sort(), ['one', 'two'])
    assert.ok(!isSoak || healthSeconds > 30)
  })
})
