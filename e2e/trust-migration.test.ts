import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { link, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { passwd, processesOf } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { type Service, until } from './support/service.ts'
import {
  assertStarts,
  closeAll,
  isRoot,
  makeProject,
  openService,
  others,
  start,
  uidOf,
} from './support/user-projects.ts'

const execute = promisify(execFile)
after(closeAll)

/** Only root gives projects users of their own. */
if (isRoot) {
  describe('a home of the state before, where all projects were one user', {
    timeout: rounds(280_000, 3_600_000),
  }, () => {
    it('goes on as it is; each project is moved to its own user at its next start, and nothing else is', async (t) => {
      const hadUser = (await passwd()).some(({ name }) => name === 'stackquay')
      if (!hadUser) others.push('stackquay')
      const env: Record<string, string> = { STACKQUAY_ISOLATION: 'shared', STACKQUAY_LOG_LEVEL: 'info' }
      const own = await openService(env)
      const outside = await mkdtemp(join(tmpdir(), 'stackquay-outside-'))
      const path = await makeProject(own, 'old', { static: {}, databases: { main: { type: 'postgresql' } } })
      const neighbour = await makeProject(own, 'neighbour')
      const old = (await passwd()).find(({ name }) => name === 'stackquay')
      assert.ok(old !== undefined)
      await assertStarts(own, 'old')
      await assertStarts(own, 'neighbour')
      assert.equal(await uidOf(own, 'old'), old.uid)

      const give = (file: string) => execute('chown', ['-h', `${old.uid}:${old.uid}`, file])
      await writeFile(join(neighbour, 'precious'), 'of the neighbour')
      await give(join(neighbour, 'precious'))
      await link(join(neighbour, 'precious'), join(path, 'hard'))
      await mkdir(join(path, 'folder'))
      await writeFile(join(path, 'folder', 'file'), 'mine', { mode: 0o600 })
      await writeFile(join(outside, 'target'), 'outside')
      await symlink(join(outside, 'target'), join(path, 'soft'))
      await symlink(outside, join(path, 'softfolder'))
      for (const file of ['folder', 'folder/file', 'soft', 'softfolder']) await give(join(path, file))
      await execute('chown', ['-R', `${old.uid}:${old.uid}`, outside])
      const pid = await pidOf(own, 'old')
      const { id } = await own.client.call('getProject', { params: { id: 'old' } })
      const database = async () =>
        (await execute('find', [join(own.home, 'data', id), '-name', 'pg_control', '-printf', '%i\n'])).stdout
      const before = await database()
      assert.match(before, /^\d+\n$/)

      await own.stop()
      env.STACKQUAY_ISOLATION = 'user'
      await own.start()
      assert.equal(await pidOf(own, 'old'), pid)
      assert.equal((await own.get('old')).body, 'old')
      await until(
        async () => (await own.client.call('getProject', { params: { id: 'old' } })).operation === null,
        'the project to be free',
      )
      const beside = await pidOf(own, 'neighbour')
      await own.client.call('stopProject', { params: { id: 'old' }, query: { wait: 60 } })
      await assertStarts(own, 'old')
      assert.equal(await pidOf(own, 'neighbour'), beside, 'what runs as the same user goes on')
      const uid = await uidOf(own, 'old')
      assert.notEqual(uid, old.uid)
      assert.deepEqual(await foreign(path, uid), [])
      assert.deepEqual(await foreign(join(own.home, 'data', id), uid), [])
      assert.equal(await database(), before, 'the database is the one of before')
      assert.equal(await readFile(join(path, 'hard'), 'utf8'), 'of the neighbour')
      const [here, there] = await Promise.all([lstat(join(path, 'hard')), lstat(join(neighbour, 'precious'))])
      assert.notEqual(here.ino, there.ino)
      assert.equal(there.uid, old.uid)
      assert.equal((await lstat(outside)).uid, old.uid)
      assert.equal((await lstat(join(outside, 'target'))).uid, old.uid)
      assert.equal((await lstat(join(path, 'folder/file'))).mode & 0o777, 0o600)
      assert.match(own.output(), /The files of project .*old.* belong to its own user/)
      assert.equal(await uidOf(own, 'neighbour'), old.uid)
      t.diagnostic('with a database, a hard link to a file of another project, and symbolic links to others')
      await rm(outside, { recursive: true })
    })

    it('is moved to its end, whenever the service is killed while it moves', async (t) => {
      const hadUser = (await passwd()).some(({ name }) => name === 'stackquay')
      if (!hadUser) others.push('stackquay')
      const random = randomFrom(20_261_125)
      const env: Record<string, string> = { STACKQUAY_ISOLATION: 'shared' }
      const own = await openService(env)
      const count = rounds(2, 20)
      const paths: string[] = []
      for (let round = 0; round < count; round += 1) {
        const path = await makeProject(own, `moved-${round}`)
        for (let at = 0; at < 300; at += 1) await writeFile(join(path, `file-${at}`), String(at))
        for (let at = 0; at < 100; at += 1) await link(join(path, `file-${at}`), join(path, `link-${at}`))
        await execute('chown', ['-R', 'stackquay:', path])
        paths.push(path)
      }
      await own.stop()
      env.STACKQUAY_ISOLATION = 'user'
      await own.start()
      for (const [round, path] of paths.entries()) {
        const slug = `moved-${round}`
        const call = start(own, slug).catch(() => undefined)
        await delay(random() * 500)
        await own.kill()
        await call
        await own.start()
        await assertStarts(own, slug)
        assert.deepEqual(await foreign(path, await uidOf(own, slug)), [])
        const names = await readdir(path)
        assert.deepEqual(
          names.filter((name) => name.includes('stackquay-copy')),
          [],
        )
        for (let at = 0; at < 100; at += 1) assert.equal(await readFile(join(path, `link-${at}`), 'utf8'), String(at))
        const uid = await uidOf(own, slug)
        assert.ok(processesOf(uid).length > 0)
      }
      t.diagnostic(`${count} kills while files were moved`)
    })
  })
}

async function pidOf({ client }: Service, slug: string): Promise<number | null> {
  const { status } = await client.call('getProject', { params: { id: slug } })
  return status.workloads[0]?.pid ?? null
}

/** What below a folder belongs to another user. */
async function foreign(folder: string, uid: number): Promise<readonly string[]> {
  const { stdout } = await execute('find', [folder, '-mindepth', '1', '!', '-user', String(uid)])
  return stdout.split('\n').filter(Boolean)
}
