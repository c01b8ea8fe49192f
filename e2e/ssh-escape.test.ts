import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freePort, makeKey } from '@stackquay/testkit'
import { rounds } from '@stackquay/testkit/rounds'
import ssh2, { type Client, type SFTPWrapper } from 'ssh2'
import { race } from './support/racers.ts'
import { type Service, startService } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { addSshKey, sshClient } from './support/ssh-client.ts'

/** What lies outside may be read and written by anybody of the machine: only the root keeps it. */
describe('files over SFTP stay in the folder of the project', { timeout: 300_000 }, () => {
  let service: Service
  let root: SourceRoot
  let outside: string
  let work: string
  let folder: string
  let connection: Client
  let sftp: SFTPWrapper
  let uid: number

  before(async () => {
    const port = await freePort()
    root = await makeSourceRoot()
    outside = await realpath(await mkdtemp(join(tmpdir(), 'stackquay-outside-')))
    await mkdir(join(outside, 'sub'))
    await writeFile(join(outside, 'secret'), 'CANARY\n')
    for (const path of [outside, join(outside, 'sub')]) await chmod(path, 0o777)
    await chmod(join(outside, 'secret'), 0o666)
    work = await mkdtemp(join(tmpdir(), 'stackquay-ssh-'))
    service = await startService({ roots: root.path, env: { STACKQUAY_SSH: `127.0.0.1:${port}` } })
    folder = await root.folder('shop', { 'index.html': 'hello\n', 'inside/file': 'mine\n' })
    const settings: object = { static: {} }
    await service.client.call('createProject', {
      body: { ...settings, name: 'Shop', path: folder, start: false },
      query: { wait: 60 },
    })
    await makeKey(join(work, 'key'), 'ed25519')
    await addSshKey(service, join(work, 'key'))
    const client = sshClient(port, join(work, 'key'), work)
    const planted = await client.ssh(
      'shop',
      `ln -s ${outside} out; ln -s ${outside}/secret leak; ln -s ${outside}/made dangling; ln -s out chain; ln -s loop loop
ln -s ../${'../'.repeat(9)}${outside.slice(1)} relative; ln -s /proc/self/root proc; mkfifo pipe; mkdir own; echo x > own/x; id -u`,
    )
    uid = Number(planted.out.trim())
    connection = new ssh2.Client()
    connection.connect({ host: '127.0.0.1', port, username: 'shop', privateKey: await readFile(join(work, 'key')) })
    await new Promise((resolve, reject) => connection.once('ready', resolve as () => void).once('error', reject))
    connection.setNoDelay(true)
    sftp = await new Promise((resolve, reject) =>
      connection.sftp((error, found) => (error ? reject(error) : resolve(found))),
    )
  })
  after(async () => {
    connection?.end()
    await service?.close()
    await root?.remove()
    for (const path of [outside, work]) if (path !== undefined) await rm(path, { recursive: true, force: true })
  })

  type Done = (error?: Error | null | undefined, found?: unknown) => void
  const ask = (act: (done: Done) => unknown): Promise<unknown> =>
    new Promise((resolve, reject) => void act((error, found) => (error ? reject(error) : resolve(found))))
  const read = (path: string) => ask((done) => sftp.readFile(path, done as never))
  const write = (path: string) => ask((done) => sftp.writeFile(path, 'ESCAPED', done))

  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    'reads above the root': () => read('../../../../../../../../etc/passwd'),
    'reads an absolute path': () => read('/etc/passwd'),
    'reads what lies outside by its own path': () => read(`${outside}/secret`),
    'reads by the path of the project and ..': () => read(`${folder}/../../${outside}/secret`),
    'reads through a link to a file': () => read('leak'),
    'reads through a link to a folder': () => read('out/secret'),
    'reads through a chain of links': () => read('chain/secret'),
    'reads through a relative link': () => read('relative/secret'),
    'reads through /proc': () => read(`proc${outside}/secret`),
    'reads a path that returns through a link': () => read('out/../secret'),
    'follows a loop': () => read('loop'),
    'opens a pipe': () => read('pipe'),
    'reads a name with a zero byte': () => read('index.html\0/../out/secret'),
    'writes through a link to a file': () => write('leak'),
    'writes through a link to a folder': () => write('out/new'),
    'makes a file by a dangling link': () => write('dangling'),
    'appends through a link': () => ask((done) => sftp.appendFile('leak', 'ESCAPED', done)),
    'lists through a link': () => ask((done) => sftp.readdir('out', done as never)),
    'looks through a link': () => ask((done) => sftp.stat('leak', done as never)),
    'looks behind a linked folder': () => ask((done) => sftp.lstat('out/secret', done as never)),
    'changes a mode through a link': () => ask((done) => sftp.chmod('leak', 0o600, done)),
    'changes a time through a link': () => ask((done) => sftp.utimes('leak', 1, 1, done)),
    'cuts a file through a link': () => ask((done) => sftp.setstat('leak', { size: 0 } as never, done)),
    'makes a folder through a link': () => ask((done) => sftp.mkdir('out/folder', done)),
    'removes a folder through a link': () => ask((done) => sftp.rmdir('out/sub', done)),
    'removes a file through a link': () => ask((done) => sftp.unlink('out/secret', done)),
    'moves a file out': () => ask((done) => sftp.rename('inside/file', 'out/file', done)),
    'moves a file out, replacing': () => ask((done) => sftp.ext_openssh_rename('inside/file', 'out/secret', done)),
    'takes a file in': () => ask((done) => sftp.rename('out/secret', 'taken', done)),
    'takes a file in by a hard link': () => ask((done) => sftp.ext_openssh_hardlink('out/secret', 'taken', done)),
    'puts a hard link outside': () => ask((done) => sftp.ext_openssh_hardlink('inside/file', 'out/hard', done)),
    'puts a link outside': () => ask((done) => sftp.symlink('x', 'out/link', done)),
    'reads a link outside': () => ask((done) => sftp.readlink('out/none', done as never)),
    'learns a path through a link': () => ask((done) => sftp.realpath('out/secret', done as never)),
    'learns the room outside': () => ask((done) => sftp.ext_openssh_statvfs('out', done as never)),
    'removes the folder of the project': () => ask((done) => sftp.rmdir('/', done)),
    'moves the folder of the project': () => ask((done) => sftp.rename('/', '/x', done)),
  }
  const unchanged = async () => {
    assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'CANARY\n')
    assert.deepEqual((await readdir(outside)).sort(), ['secret', 'sub'])
    const { mode, nlink, mtimeMs } = await stat(join(outside, 'secret'))
    assert.deepEqual([mode & 0o777, nlink], [0o666, 1])
    assert.ok(mtimeMs > 1e12)
  }
  for (const [what, way] of Object.entries(ways))
    it(`refuses who ${what}`, async () => {
      await assert.rejects(way)
      await unchanged()
    })

  it('shows links as what they are, and follows those that stay inside', async () => {
    assert.equal(await ask((done) => sftp.readlink('leak', done as never)), `${outside}/secret`)
    await ask((done) => sftp.symlink('inside/file', 'near', done))
    assert.equal(String(await read('near')), 'mine\n')
    assert.equal(String(await read(`${folder}/near`)), 'mine\n')
    assert.equal(await ask((done) => sftp.realpath('.', done as never)), '/')
    assert.equal(await ask((done) => sftp.realpath('../..', done as never)), '/')
    assert.equal(await ask((done) => sftp.realpath('near', done as never)), '/inside/file')
  })

  it('leads nowhere while programs of the project swap folders for links', async () => {
    const tried = join(folder, 'own')
    await rm(tried, { recursive: true })
    const client = await ask((done) => connection.exec(`mkdir ${tried}`, done as never))
    await new Promise((resolve) => (client as NodeJS.ReadableStream).on('close', resolve).resume())
    await using racers = await race(tried, outside, uid)
    const before = racers.swaps()
    const names = ['d', 'e', 'p/inner', 'results.xml', 'package.json', 'p']
    const count = { inside: 0, refused: 0 }
    for (let turn = 0; turn < rounds(60, 20_000); turn += 1) {
      const name = names[turn % names.length]!
      const path = `own/${name}`
      const found = await Promise.allSettled([
        read(`${path}/secret`),
        read(path),
        write(`${path}/new-${turn}`),
        ask((done) => sftp.readdir(path, done as never)),
        ask((done) => sftp.unlink(`${path}/secret`, done)),
        ask((done) => sftp.mkdir(`${path}/made`, done)),
        ask((done) => sftp.chmod(`${path}/secret`, 0o600, done)),
        ask((done) => sftp.rename('inside/file', `${path}/file`, done)),
      ])
      for (const one of found) {
        if (one.status === 'rejected') count.refused += 1
        else count.inside += 1
        assert.doesNotMatch(
          one.status === 'fulfilled' ? String(JSON.stringify(one.value)) + String(one.value) : '',
          /CANARY/,
        )
      }
      // What was moved into a folder of the race is there or not; it is made anew for the next turn.
      await write('inside/file').catch(() => undefined)
    }
    await unchanged()
    assert.ok(racers.swaps() > before, 'nothing was swapped')
    assert.ok(count.refused > 0, JSON.stringify(count))
  })
})
