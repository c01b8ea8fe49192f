import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Account } from '@stackquay/engines'
import { createGitLab, type GitLab, isRoot, processesBelow } from './support/git-lab.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { startProcSpy } from './support/proc-spy.ts'
import { filesThatHold } from './support/traces.ts'

const login = { username: 'grace-of-git', password: 'p4ss:w@rd/with%odd#signs $(id) "and quotes' }
const credentials = `${encodeURIComponent(login.username)}:${encodeURIComponent(login.password)}`
const texts = [
  login.username,
  login.password,
  encodeURIComponent(login.password),
  Buffer.from(`${login.username}:${login.password}`).toString('base64'),
]

describe('the password of a repository', () => {
  let lab: GitLab
  let git: GitServer
  let project: Account | null
  let other: Account | null

  before(async () => {
    lab = await createGitLab()
    await mkdir(join(lab.work, 'source'))
    await writeFile(join(lab.work, 'source', 'read.me'), 'Hello\n')
    await publishRepository(join(lab.work, 'source'), join(lab.work, 'page.git'))
    await cp(join(lab.work, 'page.git'), join(lab.work, 'private.git'), { recursive: true })
    git = await serveGit(lab.work, login)
    project = await lab.user('a')
    other = await lab.user('b')
  })
  after(async () => {
    await git?.close()
    await lab?.[Symbol.asyncDispose]()
  })

  it('is found in no environment, no arguments and no pipe while it is used, neither by another project nor by its own', {
    timeout: 120_000,
  }, async (t) => {
    const canary = 'a-canary-that-must-be-found'
    const spies = [
      await startProcSpy(join(lab.work, 'spy-of-project.py'), project, [...texts, canary]),
      await startProcSpy(join(lab.work, 'spy-of-other.py'), other, [...texts, canary]),
    ]
    t.after(() => Promise.all(spies.map((spy) => spy.end().catch(() => undefined))))
    // What a spy can see at all it sees: a program of the same user.
    const bait = spawn('sleep', ['60'], {
      env: { PATH: process.env.PATH, CANARY: canary },
      stdio: 'ignore',
      ...(project === null ? {} : { uid: project.uid, gid: project.gid }),
    })
    t.after(() => bait.kill('SIGKILL'))
    for (let round = 0; round < 5; round += 1) {
      await lab.cloning.check({ url: git.url('private.git', credentials), branch: 'main' }, AbortSignal.timeout(20_000))
      const folder = await lab.folder(`watched-${round}`, project)
      await lab.clone(git.url('private.git', credentials), folder, { account: project })
      assert.equal(await readFile(join(folder, 'read.me'), 'utf8'), 'Hello\n')
    }
    const [ofProject, ofOther] = await Promise.all(spies.map((spy) => spy.end()))
    const place = texts.length
    assert.deepEqual(ofProject!.found, [`${place} in environment`])
    assert.deepEqual(ofOther!.found, isRoot ? [] : [`${place} in environment`])
    assert.ok(ofProject!.rounds > 20 && ofOther!.rounds > 20, JSON.stringify([ofProject, ofOther]))
  })

  it('is in no file below the home or the project afterwards, nor in what git says', async () => {
    const folder = await lab.folder('kept-nowhere', project)
    const seen = await lab.clone(git.url('private.git', credentials), folder, { account: project })
    const config = await readFile(join(folder, '.git', 'config'), 'utf8')
    assert.ok(config.includes(`url = ${git.url('private.git')}\n`), config)
    assert.deepEqual(await filesThatHold(lab.work, texts), [])
    for (const text of texts) assert.ok(!seen.includes(text), seen)
    assert.deepEqual(await lab.mirrors(), [])
    assert.deepEqual(await processesBelow(lab.home), [])
  })

  it('is sent to the server of the URL and to no other, wherever that redirects', async () => {
    const asked: string[] = []
    const { createServer } = await import('node:http')
    const thief = createServer((incoming, outgoing) => {
      asked.push(String(incoming.headers.authorization))
      outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="thief"' }).end()
    }).listen(0, '127.0.0.1')
    await once(thief, 'listening')
    const { port } = thief.address() as { port: number }
    const redirecting = createServer((incoming, outgoing) => {
      outgoing.writeHead(302, { location: `http://127.0.0.1:${port}${incoming.url}` }).end()
    }).listen(0, '127.0.0.1')
    await once(redirecting, 'listening')
    const from = (redirecting.address() as { port: number }).port
    const url = `http://${credentials}@127.0.0.1:${from}/private.git`
    await assert.rejects(lab.cloning.check({ url, branch: null }, AbortSignal.timeout(20_000)), {
      code: 'source_failed',
    })
    assert.ok(asked.length > 0)
    assert.deepEqual([...new Set(asked)], ['undefined'])
    for (const server of [thief, redirecting]) server.close()
  })

  it('is named in no error when it is wrong', async () => {
    const url = git.url('private.git', `${login.username}:another-p4ssword`)
    await assert.rejects(
      lab.cloning.check({ url, branch: null }, AbortSignal.timeout(20_000)),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'source_failed')
        assert.match(error.message, /Authentication failed/)
        const all = JSON.stringify({ ...error, message: error.message, stack: error.stack })
        assert.ok(!all.includes('another-p4ssword') && !all.includes(login.username), all)
        return true
      },
    )
  })

  if (isRoot)
    it('cannot be had by reading what git’s own user keeps: its folder is closed to projects', async () => {
      const { uid, gid } = project!
      const look = spawn('ls', [join(lab.home, 'git')], { uid, gid, stdio: 'ignore' })
      assert.deepEqual(await once(look, 'exit'), [2, null])
    })
})
