import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { instanceOf } from '@stackquay/engines'
import { openStore, type ProjectUser, type Store } from '@stackquay/store'
import { passwd, sweep, usersOf, waitFor } from '@stackquay/testkit'
import { openProjectUsers, type ProjectUsers } from '../src/isolation/project-users.ts'
import { addSystemUser, removeSystemUser } from '../src/isolation/system-users.ts'
import { createUserHomes } from '../src/isolation/user-homes.ts'
import { keyPlace } from '../src/sealing-key.ts'

const execute = promisify(execFile)
let nextUid = 3_000_000 + Math.floor(Math.random() * 5_000) * 200

/** What an instance has of users, without the rest of it. */
async function instance(t: TestContext, { range = 160, from }: { range?: number; from?: number } = {}) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-spare-'))
  await mkdir(join(home, 'run-home'))
  const ownFrom = from ?? nextUid
  if (from === undefined) nextUid += range
  const uids = { from: ownFrom, to: ownFrom + range - 1 }
  const store = await openStore({
    file: join(home, 'state.db'),
    ...keyPlace(home, null).candidates,
    checkpointFile: join(home, 'audit.checkpoint'),
    clock: { now: () => new Date() },
  })
  const errors: unknown[] = []
  const opened: ProjectUsers[] = []
  t.after(async () => {
    for (const users of opened) await users.close()
    await store.close()
    await sweep(home)
    await rm(home, { recursive: true, force: true })
  })
  const open = async (other = uids) => {
    const users = await openProjectUsers({
      store,
      instance: instanceOf(home),
      uids: other,
      projectOf: async (id) => id,
      homes: createUserHomes(join(home, 'run-home')),
      before: null,
      onError: (error) => errors.push(error),
    })
    opened.push(users)
    return users
  }
  return { home, store, uids, open, errors }
}

/** As a creation does it: the user that waits, or one that is made for the project. */
async function create(users: ProjectUsers, store: Store, project: string) {
  const user = await users.reserve(project)
  if (user !== null) await store.transaction((tx) => user.give(tx))
  user?.given()
  return { account: (await users.of(project))!, waited: user !== null }
}

const spareOf = async (store: Store): Promise<readonly ProjectUser[]> =>
  (await store.projectUsers.all()).filter(({ isSpare }) => isSpare)
/** Until some wait, as after projects in quick succession. */
async function createSome(users: ProjectUsers, store: Store) {
  for (let at = 0; at < 4; at += 1) await create(users, store, `prj_${at}`)
}

/** A program in place of the machine's, for one test. */
async function withUseradd(t: TestContext, script: string) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-useradd-'))
  await writeFile(join(folder, 'useradd'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const before = process.env.PATH
  process.env.PATH = `${folder}:${before}`
  const back = () => {
    process.env.PATH = before
  }
  t.after(async () => {
    back()
    await rm(folder, { recursive: true, force: true })
  })
  return back
}

const names = (users: readonly { readonly name: string }[]) => users.map(({ name }) => name).sort()

if (process.getuid?.() === 0) {
  test('one project gets a user and leaves none that waits', async (t) => {
    const { home, store, open } = await instance(t)
    const users = await open()
    const { account, waited } = await create(users, store, 'prj_1')
    await users.close()
    assert.equal(waited, false)
    assert.deepEqual(names(await usersOf(home)), [account.name])
  })

  test('projects in quick succession get users that waited: locked, each its own, with the home of its project', async (t) => {
    const { home, store, open, errors } = await instance(t)
    const users = await open()
    const made = []
    for (let at = 0; at < 8; at += 1) made.push(await create(users, store, `prj_${at}`))
    assert.equal(new Set(made.map(({ account }) => account.uid)).size, 8)
    assert.ok(made.filter(({ waited }) => waited).length >= 6, JSON.stringify(made))
    await waitFor('some to wait', async () => (await spareOf(store)).length > 0)
    await users.close()
    assert.deepEqual(errors, [])
    const waiting = await spareOf(store)
    assert.ok(waiting.length <= 20, `${waiting.length} wait`)
    const lines = await passwd()
    for (const [at, { account }] of made.entries()) {
      const line = lines.find(({ name }) => name === account.name)?.line.split(':') ?? []
      assert.deepEqual([Number(line[2]), Number(line[3])], [account.uid, account.gid])
      assert.equal(line[5], join(home, 'run-home', account.name!))
      assert.match(line[6]!, /nologin$/)
      assert.match((await execute('getent', ['shadow', account.name!])).stdout.split(':')[1]!, /^[!*]/)
      assert.equal(await readlink(line[5]!), `prj_${at}`)
    }
  })

  test('projects at the same time get users of one run of the machine’s program, all but the first', async (t) => {
    const { store, open, errors } = await instance(t)
    const users = await open()
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((id) => create(users, store, `prj_${id}`)))
    assert.equal(new Set(made.map(({ account }) => account.uid)).size, 4)
    assert.equal(made.filter(({ waited }) => waited).length, 3, JSON.stringify(made))
    assert.deepEqual(errors, [])
  })

  test('what a killed service wrote down or added is found by the next one, and no number is given twice', async (t) => {
    const { home, store, open } = await instance(t)
    const killed = await open()
    await createSome(killed, store)
    // As after a kill: nothing of it is closed, and what it runs goes on for a moment.
    const users = await open()
    await users.resume()
    await killed.close()
    const rows = await store.projectUsers.all()
    const known = () => names(rows.filter(({ isSpare, project }) => isSpare || project !== null))
    await waitFor('all to be added', async () => (await usersOf(home)).length === known().length)
    assert.deepEqual(names(await usersOf(home)), known())
    assert.equal(new Set(rows.map(({ uid }) => uid)).size, rows.length)
    const wait = await spareOf(store)
    assert.ok(wait.length > 0, 'some wait')
    const next = await create(users, store, 'prj_next')
    assert.ok(next.waited && wait.some(({ name }) => name === next.account.name), JSON.stringify(next))
  })

  test('a user that waits and is somebody else’s by now is not given to a project', async (t) => {
    const { store, open } = await instance(t)
    const users = await open()
    await createSome(users, store)
    await users.close()
    const next = await open()
    await next.resume()
    const waiting = await spareOf(store)
    const { name: gone, uid } = waiting[0]!
    await removeSystemUser(gone)
    const person = `stq-test-${uid}`
    await addSystemUser({ name: person, uid, home: '/nonexistent' })
    t.after(() => removeSystemUser(person))
    const { account } = await create(next, store, 'prj_next')
    assert.notEqual(account.uid, uid)
    assert.notEqual(account.name, gone)
  })

  test('a creation that fails gives its user back, for the next project; one that cannot be given is not tried again', async (t) => {
    const { store, open } = await instance(t)
    const users = await open()
    await createSome(users, store)
    await users.close()
    const next = await open()
    await next.resume()
    const user = await next.reserve('prj_failed')
    assert.ok(user !== null)
    const waiting = names(await spareOf(store))
    await assert.rejects(
      store.transaction(async (tx) => {
        await user.give(tx)
        throw new Error('the name was taken')
      }),
    )
    user.back()
    assert.equal(next.known('prj_failed'), undefined)
    assert.deepEqual(names(await spareOf(store)), waiting)
    const given: string[] = []
    for (let at = 0; at < waiting.length; at += 1)
      given.push((await create(next, store, `prj_next_${at}`)).account.name!)
    assert.deepEqual(given.sort(), waiting)

    const twice = await next.reserve('prj_twice')
    assert.ok(twice !== null)
    await store.transaction((tx) => twice.give(tx))
    await assert.rejects(
      store.transaction((tx) => twice.give(tx)),
      /waits for no project/,
    )
    twice.back()
    const after = await create(next, store, 'prj_after')
    assert.equal(
      (await store.projectUsers.all()).find(({ project }) => project === 'prj_after')?.name,
      after.account.name,
    )
  })

  test('two instances with the same range, at the same time, never have a number together', async (t) => {
    const one = await instance(t)
    const other = await instance(t, { from: one.uids.from })
    const [users, others] = await Promise.all([one.open(), other.open()])
    const ids = ['a', 'b', 'c', 'd', 'e'].map((id) => `prj_${id}`)
    const made = await Promise.all([
      ...ids.map((id) => create(users, one.store, id)),
      ...ids.map((id) => create(others, other.store, id)),
    ])
    assert.equal(new Set(made.map(({ account }) => account.uid)).size, 10)
    await Promise.all([users.close(), others.close()])
    const all = [...(await usersOf(one.home)), ...(await usersOf(other.home))]
    assert.equal(new Set(all.map(({ uid }) => uid)).size, all.length)
  })

  test('users that wait outside of a new range are taken away, and those of projects stay', async (t) => {
    const { home, store, uids, open } = await instance(t)
    const users = await open()
    await createSome(users, store)
    await users.close()
    assert.ok((await spareOf(store)).length > 0)
    const next = await open({ from: uids.from + 100, to: uids.to })
    await next.resume()
    assert.deepEqual(await spareOf(store), [])
    const kept = (await store.projectUsers.all()).filter(({ project }) => project !== null)
    assert.deepEqual(names(await usersOf(home)), names(kept))
    assert.equal(kept.length, 4)
    assert.ok((await create(next, store, 'prj_next')).account.uid >= uids.from + 100)
  })

  test('a uid that programs of somebody without a name run as is given to no project', async (t) => {
    const { store, uids, open } = await instance(t)
    const left = spawn('/bin/sleep', ['60'], { uid: uids.from, gid: uids.from, stdio: 'ignore' })
    t.after(() => left.kill())
    await once(left, 'spawn')
    const { account } = await create(await open(), store, 'prj_1')
    assert.equal(account.uid, uids.from + 1)
  })

  test('the home of a name leads to the project that has it, wherever it led before', async (t) => {
    const { home, store, open } = await instance(t)
    const name = `s${instanceOf(home).slice(0, 6)}-1`
    await symlink('prj_before', join(home, 'run-home', name))
    const users = await open()
    assert.equal((await create(users, store, 'prj_1')).account.name, name)
    assert.equal(await readlink(join(home, 'run-home', name)), 'prj_1')
    await users.retire('prj_1')
    await assert.rejects(readlink(join(home, 'run-home', name)), { code: 'ENOENT' })
  })

  test('where useradd fails, no user waits, a project says why it has none, and all is well when it works again', async (t) => {
    const { home, store, open, errors } = await instance(t)
    const users = await open()
    const works = await withUseradd(t, 'echo "useradd: cannot open /etc/passwd" >&2; exit 12')
    assert.equal(await users.reserve('prj_1'), null)
    assert.equal(await users.reserve('prj_2'), null)
    assert.match(String(errors[0]), /cannot open \/etc\/passwd/)
    await assert.rejects(users.of('prj_1'), /no user of its own, and none can be made.*cannot open/)
    works()
    assert.ok((await users.of('prj_1'))?.name !== undefined)
    await users.close()
    const next = await open()
    await next.resume()
    await waitFor('those that were written down', async () => {
      const rows = (await store.projectUsers.all()).filter(({ isSpare, project }) => isSpare || project !== null)
      return rows.length > 1 && names(await usersOf(home)).join() === names(rows).join()
    })
  })

  test('a creation does not wait for a useradd that does not end', async (t) => {
    const { store, open } = await instance(t)
    const users = await open()
    const works = await withUseradd(t, 'exec sleep 6')
    await users.reserve('prj_1')
    const begun = performance.now()
    assert.equal(await users.reserve('prj_2'), null)
    assert.equal(await users.reserve('prj_3'), null)
    const waited = performance.now() - begun
    assert.ok(waited < 5_900, `${waited} ms`)
    works()
    await create(users, store, 'prj_4')
  })

  test('a small range is not used up by those that wait', async (t) => {
    const { store, open } = await instance(t, { range: 10 })
    const users = await open()
    for (let at = 0; at < 10; at += 1) await create(users, store, `prj_${at}`)
    await assert.rejects(create(users, store, 'prj_more'), /All uids from .* are taken/)
  })
} else {
  test('an ordinary user makes no users, so none waits', async (t) => {
    const { store, open } = await instance(t)
    const users = await open()
    assert.equal(await users.reserve('prj_1'), null)
    assert.deepEqual(await spareOf(store), [])
  })
}
