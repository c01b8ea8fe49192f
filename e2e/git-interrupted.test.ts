import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { processesBelow } from './support/git-lab.ts'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { type Service, startService, until } from './support/service.ts'
import { serveStalling } from './support/stalling-server.ts'

describe('a clone that does not come to its end', () => {
  let work: string
  let git: GitServer
  let stalling: Awaited<ReturnType<typeof serveStalling>>
  let service: Service

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-half-'))
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'noise'), randomBytes(1 << 20))
    await publishRepository(join(work, 'source'), join(work, 'large.git'))
    git = await serveGit(work, { username: 'grace', password: 'of-hopper' })
    stalling = await serveStalling(git.url(''))
    service = await startService()
  })
  after(async () => {
    await stalling?.close()
    await git?.close()
    await service?.close()
    await rm(work, { recursive: true, force: true })
  })

  const mirrors = () => readdir(join(service.home, 'git', 'mirrors'))
  const folders = () => readdir(join(service.home, 'projects'))
  const stall = async (name: string) => {
    const before = stalling.stalled()
    await service.client.call('createProject', { body: { name, git: { url: stalling.url('large.git') } } })
    await until(async () => stalling.stalled() > before, 'the clone to hang')
  }
  const cancel = async (slug: string) => {
    const { operation } = await service.client.call('getProject', { params: { id: slug } })
    await service.client.call('cancelOperation', { params: { op: operation!.id }, query: { wait: 30 } })
  }

  it('leaves nothing when it is cancelled: no process, no mirror, no folder', { timeout: 60_000 }, async () => {
    await stall('Cancelled')
    assert.equal((await mirrors()).length, 1)
    assert.ok((await processesBelow(join(service.home, 'git'))).length > 0)
    await cancel('cancelled')
    await until(async () => (await processesBelow(service.home)).every((line) => !/ git /.test(line)), 'git to end')
    await until(async () => (await mirrors()).length === 0, 'the mirror to go')
    assert.deepEqual(await folders(), [])
  })

  it('leaves no process when the service is killed, and its mirror goes when the service starts again', {
    timeout: 90_000,
  }, async () => {
    await stall('Killed')
    const [first] = await mirrors()
    await service.kill()
    await until(async () => (await processesBelow(join(service.home, 'git'))).length === 0, 'git to end', 5_000)
    assert.deepEqual(await mirrors(), [first])
    const before = stalling.stalled()
    await service.start()
    // The creation begins again, with a mirror of its own.
    await until(async () => stalling.stalled() > before, 'the second try to hang')
    await until(async () => !(await mirrors()).includes(first!), 'the first mirror to go')
    await cancel('killed')
    await until(async () => (await mirrors()).length === 0, 'the second mirror to go')
    assert.deepEqual(await folders(), [])
  })
})
