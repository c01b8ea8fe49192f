import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { featuresOf, instanceOf, usersOf } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { type Service, until } from './support/service.ts'
import {
  addOther,
  assertNotMade,
  assertRefuses,
  assertStarts,
  closeAll,
  isRoot,
  lineOf,
  makeProject,
  openService,
  start,
  uidOf,
  uidRange,
} from './support/user-projects.ts'

const execute = promisify(execFile)
after(closeAll)

/** Only root makes users. An ordinary user is told so, and nothing falls back to one user for all. */
if (!isRoot) {
  it('a level that takes root does not start projects for an ordinary user, and says why', async () => {
    const own = await openService({ STACKQUAY_ISOLATION: 'user' })
    await makeProject(own, 'shop')
    await assertRefuses(own, 'shop', /root/)
  })
} else {
  describe('a project whose user cannot be made', { timeout: rounds(280_000, 3_600_000) }, () => {
    it('is not made where there is no useradd, and is when there is one', async () => {
      const env: Record<string, string> = { PATH: '/usr/bin:/bin' }
      const own = await openService(env)
      await assertNotMade(own, 'shop', /no user of its own.*"useradd" is not installed.*STACKQUAY_ISOLATION/)
      assert.deepEqual(await usersOf(own.home), [])
      env.PATH = process.env.PATH ?? ''
      await own.stop()
      await own.start()
      await makeProject(own, 'shop')
      await assertStarts(own, 'shop')
    })

    it('is not made where useradd is not permitted, and says what useradd said', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'stackquay-fake-'))
      await chmod(folder, 0o755)
      // As it ends for somebody who may not write /etc/passwd.
      const text = `#!/bin/sh\necho "useradd: Permission denied." >&2\necho "useradd: cannot lock /etc/passwd; try again later." >&2\nexit 1\n`
      await writeFile(join(folder, 'useradd'), text, { mode: 0o755 })
      const own = await openService({ PATH: `${folder}:${process.env.PATH}` })
      await assertNotMade(own, 'shop', /no user of its own.*Permission denied/)
      await rm(folder, { recursive: true })
    })

    it('is not made when all uids are taken, and says which setting gives more; a uid is not used twice', async () => {
      const { from, text } = uidRange(20)
      const env: Record<string, string> = { STACKQUAY_PROJECT_UIDS: `${from}-${from}` }
      const own = await openService(env)
      await makeProject(own, 'first')
      await assertStarts(own, 'first')
      assert.equal(await uidOf(own, 'first'), from)
      await assertNotMade(own, 'second', /All uids from .* are taken.*STACKQUAY_PROJECT_UIDS/)
      await own.client.call('deleteProject', {
        params: { id: 'first' },
        query: { confirm: 'first', data: 'delete', wait: 60 },
      })
      await assertNotMade(own, 'second', /All uids/)
      env.STACKQUAY_PROJECT_UIDS = text
      await own.stop()
      await own.start()
      await makeProject(own, 'second')
      await assertStarts(own, 'second')
      assert.equal(await uidOf(own, 'second'), from + 1)
    })

    it('never takes over a user of its name or a uid that belong to somebody else', async () => {
      const { from, text } = uidRange(20)
      const own = await openService({ STACKQUAY_PROJECT_UIDS: text })
      const name = `s${instanceOf(own.home).slice(0, 6)}-1`
      const sameName = await addOther(name, from + 15)
      const sameUid = await addOther(`stq-test-${from}`, from)
      await makeProject(own, 'shop')
      await assertStarts(own, 'shop')
      const uid = await uidOf(own, 'shop')
      assert.ok(uid > from && uid < from + 15, `uid ${uid}`)
      assert.notEqual((await usersOf(own.home)).find((user) => user.uid === uid)?.name, name)
      await own.client.call('deleteProject', {
        params: { id: 'shop' },
        query: { confirm: 'shop', data: 'delete', purge: true, wait: 60 },
      })
      assert.deepEqual([await lineOf(name), await lineOf(`stq-test-${from}`)], [sameName, sameUid])
      assert.deepEqual(
        (await usersOf(own.home)).map((user) => user.name),
        [name],
      )
    })

    it('has exactly one, however often the service is killed while it makes it', async (t) => {
      const random = randomFrom(20_261_124)
      const own = await openService()
      const count = rounds(2, 40)
      for (let round = 0; round < count; round += 1) {
        const slug = `cut-${round}`
        await makeProject(own, slug)
        const call = start(own, slug).catch(() => undefined)
        await delay(random() * 400)
        await own.kill()
        await call
        await own.start()
        await assertStarts(own, slug)
      }
      assert.equal((await usersOf(own.home)).length, count)
      for (let round = 0; round < count; round += 1) {
        const slug = `cut-${round}`
        const query = { confirm: slug, data: 'delete', purge: true, wait: 60 } as const
        const call = own.client.call('deleteProject', { params: { id: slug }, query }).catch(() => undefined)
        await delay(random() * 400)
        await own.kill()
        await call
        await own.start()
        await until(async () => isGone(own, slug), 'the removal to be settled', 60_000)
      }
      await until(async () => (await usersOf(own.home)).length === 0, 'the users to be gone')
      t.diagnostic(`${count} kills while users were made, ${count} while they were taken away`)
    })

    it('loses it at the next start of a service that was killed between the removal of the project and of its user', async () => {
      const { from } = uidRange(1)
      const own = await openService()
      await own.stop()
      const database = new DatabaseSync(join(own.home, 'stackquay.db'))
      const add = 'insert into project_users (project, name, uid, gid) values (?, ?, ?, ?) returning number'
      const { number } = database.prepare(add).get('prj_that_is_gone', '', from, from) as { number: number }
      const name = `s${instanceOf(own.home).slice(0, 6)}-${number}`
      database.prepare('update project_users set name = ? where number = ?').run(name, number)
      database.close()
      await addOther(name, from)
      await own.start()
      await until(async () => (await usersOf(own.home)).length === 0, 'the user to be gone')
    })

    it('shares none with another service of the machine, when both make users in the same range at the same time', async (t) => {
      const count = rounds(3, 10)
      const { text } = uidRange(4 * count)
      const both = await Promise.all([1, 2].map(() => openService({ STACKQUAY_PROJECT_UIDS: text })))
      const slugs = Array.from({ length: count }, (_, at) => `p${at}`)
      for (const own of both) for (const slug of slugs) await makeProject(own, slug)
      await Promise.all(both.flatMap((own) => slugs.map((slug) => assertStarts(own, slug))))
      const uids = await Promise.all(both.flatMap((own) => slugs.map((slug) => uidOf(own, slug))))
      assert.equal(new Set(uids).size, 2 * count, String(uids))
      t.diagnostic(`2 services, ${count} users each`)
    })
  })

  describe('a level of isolation', { timeout: rounds(280_000, 3_600_000) }, () => {
    it('is kept over restarts, and does not fall when bubblewrap stops working; an administrator may choose another', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'stackquay-fake-'))
      const fake = join(folder, 'bwrap')
      const refusal = 'bwrap: Creating new namespace failed: Operation not permitted'
      await writeFile(fake, `#!/bin/sh\necho "${refusal}" >&2\nexit 1\n`, { mode: 0o755 })
      const { stdout } = await execute('/bin/sh', ['-c', 'command -v bwrap'])
      const env: Record<string, string> = { STACKQUAY_ISOLATION: 'auto' }
      let forbidden = false
      // The same machine for the service alone, but for the one program.
      const mount = `mount --bind "${fake}" "${stdout.trim()}" && exec "$@"`
      const own = await openService(env, {
        through: () => (forbidden ? ['unshare', '--mount', '/bin/sh', '-c', mount, 'sh'] : []),
      })
      await makeProject(own, 'shop')
      await makeProject(own, 'other')
      await assertStarts(own, 'shop')
      const features = featuresOf(own.home)
      assert.ok(features.includes('sandbox') && features.includes('user'), String(features))

      await own.stop()
      forbidden = true
      await own.start()
      // What runs goes on; what would be started with less does not start.
      assert.equal((await own.get('shop')).body, 'shop')
      await assertRefuses(
        own,
        'other',
        /bwrap is there, but does not work here.*Operation not permitted.*STACKQUAY_ISO/,
      )
      assert.deepEqual(featuresOf(own.home), features)

      await own.stop()
      env.STACKQUAY_ISOLATION = 'user'
      await own.start()
      await assertStarts(own, 'other')
      assert.ok(!featuresOf(own.home).includes('sandbox'))

      await own.stop()
      forbidden = false
      env.STACKQUAY_ISOLATION = 'auto'
      await own.start()
      await assertStarts(own, 'other')
      assert.deepEqual(featuresOf(own.home), features)
      await rm(folder, { recursive: true })
    })
  })
}

async function isGone({ client }: Service, slug: string): Promise<boolean> {
  const { items } = await client.call('listProjects', { query: { limit: 200 } })
  const found = items.find((project) => project.slug === slug)
  if (found === undefined) return true
  if (found.operation === null) {
    await client
      .call('deleteProject', { params: { id: slug }, query: { confirm: slug, data: 'delete', wait: 60 } })
      .catch(() => undefined)
  }
  return false
}
