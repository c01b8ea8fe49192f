import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DiagnosticCheck, InstanceBackup, Problem } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { takeStagedState } from '../src/instance-backups/restore-folder.ts'
import { keyPlace } from '../src/sealing-key.ts'
import { admin } from './app-support.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

const key = randomBytes(32).toString('hex')
const env = { STACKQUAY_SECRET_KEY: key }
const web = {
  name: 'Shop',
  databases: { main: { type: 'postgresql' } },
  env: { KEY: { value: 'öffnet', secret: true } },
}

async function emptyHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-restored-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  return home
}

/** As the page does it: a session, and its key in a header. */
async function browser({ app }: TestApp): Promise<Record<string, string>> {
  const host = { host: 'localhost' }
  const entered = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: admin, headers: host })
  const cookie = entered.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  return { ...host, cookie, 'x-csrf-token': entered.json().csrfToken }
}

async function download(app: TestApp, id: string, to: string): Promise<void> {
  const url = `/api/v1/instance/backups/${id}/download`
  const { statusCode, rawPayload, body } = await app.app.http.inject({ url, headers: await browser(app) })
  assert.equal(statusCode, 200, body)
  writeFileSync(to, rawPayload)
}

const make = async ({ ask }: TestApp): Promise<InstanceBackup> => {
  const made = await ask<InstanceBackup>('POST', '/instance/backups', { note: 'before the move' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

/** A service with a shop that runs, its backup as a file, and what came after that. */
async function withBackup(t: TestContext) {
  const before = await openTestApp(t, { env })
  assert.equal((await before.ask('POST', '/projects?wait=10', web)).status, 201)
  const backup = await make(before)
  const file = join(await emptyHome(t), 'instance.tar')
  await download(before, backup.id, file)
  return { before, backup, file }
}

test('a backup of the instance is listed with what it needs, and only a browser session downloads it', async (t) => {
  const { before, backup } = await withBackup(t)
  assert.equal(backup.opensHere, true)
  assert.deepEqual([backup.projects, backup.users, backup.source, backup.auditWhole], [1, 1, 'manual', true])
  const { body } = await before.ask<{ items: InstanceBackup[] }>('GET', '/instance/backups')
  assert.deepEqual(body.items, [backup])
  assert.equal((await before.ask('GET', `/instance/backups/${backup.id}/download`)).status, 403)
  const operating = await before.as('operate')
  assert.equal((await operating('GET', '/instance/backups')).status, 403)
  assert.equal((await before.ask('DELETE', `/instance/backups/${backup.id}`)).status, 204)
  assert.equal((await before.ask('DELETE', `/instance/backups/${backup.id}`)).status, 404)
})

test('on an empty home everything is as then; what came later runs on and is listed, and nobody is logged in', async (t) => {
  const { before, backup, file } = await withBackup(t)
  const { body: later } = await before.ask('POST', '/projects?wait=10', { ...web, name: 'Later' })
  const interrupted = await before.store.transaction((tx) =>
    tx.operations.insert({
      id: newId('op'),
      kind: 'restart',
      project: later.id,
      actor: 'ada',
      input: {},
      requestId: null,
    }),
  )
  const ran = (await before.engine.observe(later.id, AbortSignal.timeout(5000))).map(({ ref, state }) => [
    ref.workload,
    state,
  ])
  assert.ok(ran.some(([, state]) => state === 'running'))
  await before.app.close()

  const home = await emptyHome(t)
  const after = await openTestApp(t, { folder: home, engine: before.engine, env: { ...env, STACKQUAY_RESTORE: file } })
  const projects = await after.store.projects.all()
  assert.deepEqual(
    projects.map(({ slug }) => slug),
    ['shop'],
  )
  const { body: variable } = await after.ask<{ value: string }>('GET', '/projects/shop/env/KEY?reveal=true')
  assert.equal(variable.value, 'öffnet')
  assert.equal(await after.store.operations.find(interrupted.id), null)
  assert.equal((await after.store.sessions.of((await after.store.users.byName('ada'))!.id)).length, 0)
  const entries = await after.store.audit.list({ limit: 5, action: 'instance.restore' })
  assert.deepEqual(
    entries.map(({ target, actor }) => [target, actor]),
    [[backup.id, 'system']],
  )
  const { ok, reason } = await after.store.audit.verify()
  assert.equal(ok, true, reason ?? '')

  const runs = async () =>
    (await after.engine.observe(later.id, AbortSignal.timeout(5000))).map(({ ref, state }) => [ref.workload, state])
  assert.deepEqual(await runs(), ran)
  const checked = await after.ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')
  const restored = checked.body.checks.find(({ id }) => id === 'restored')
  assert.equal(restored?.status, 'warning')
  assert.match(restored.detail, new RegExp(later.id))

  // The next start leaves it alone too; when an administrator has removed it, starts clear up again.
  const again = await openAgain(t, after, home)
  assert.deepEqual(await runs(), ran)
  assert.equal((await again.ask('DELETE', `/system/orphans/${later.id}?data=delete`)).status, 200)
  const last = await openAgain(t, again, home)
  assert.equal(await last.store.instance.get('restored'), '')
})

async function openAgain(t: TestContext, app: TestApp, folder: string): Promise<TestApp> {
  await app.app.close()
  return await openTestApp(t, { folder, engine: app.engine, env })
}

test('what was under way then has failed, and a project without its folder does not start by itself', async (t) => {
  const before = await openTestApp(t, { env })
  const { body: shop } = await before.ask('POST', '/projects?wait=10', web)
  const operation = await before.store.transaction((tx) =>
    tx.operations.insert({
      id: newId('op'),
      kind: 'restart',
      project: shop.id,
      actor: 'ada',
      input: {},
      requestId: null,
    }),
  )
  const { path } = (await before.store.projects.find('shop'))!
  const { id } = await make(before)
  const file = join(await emptyHome(t), 'instance.tar')
  await download(before, id, file)
  await before.app.close()
  await rm(path, { recursive: true })

  const after = await openTestApp(t, { folder: await emptyHome(t), env: { ...env, STACKQUAY_RESTORE: file } })
  const ended = await after.store.operations.find(operation.id)
  assert.deepEqual([ended?.state, ended?.error?.code], ['failed', 'interrupted'])
  assert.equal((await after.store.projects.find('shop'))?.desired, 'stopped')
  assert.deepEqual(await after.engine.projects(AbortSignal.timeout(5000)), [])
  const checked = await after.ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')
  assert.match(checked.body.checks.find((one) => one.id === 'restored')?.detail ?? '', /folder is not here: shop/)
})

test('nothing is restored without the key, with another, over a database, or from what is no whole backup of ours', async (t) => {
  const { before, backup, file } = await withBackup(t)
  const start = (folder: string, given: Record<string, string>) => openTestApp(t, { folder, env: given })
  const refused = async (given: Record<string, string>, reason: RegExp) => {
    const home = await emptyHome(t)
    await assert.rejects(start(home, given), reason)
    assert.ok(!existsSync(join(home, 'stackquay.db')))
    assert.ok(!existsSync(join(home, 'secret.key')))
  }
  const other = randomBytes(32).toString('hex')
  await refused({ STACKQUAY_RESTORE: file }, new RegExp(`sealed with the secret key ${backup.keyId}`))
  await refused({ STACKQUAY_SECRET_KEY: other, STACKQUAY_RESTORE: file }, new RegExp(`Give it the key ${backup.keyId}`))
  await refused({ ...env, STACKQUAY_RESTORE: join(before.folder, 'nowhere.tar') }, /cannot be read/)

  const bytes = readFileSync(file)
  const changed = (name: string, content: Buffer) => {
    const path = join(before.folder, name)
    writeFileSync(path, content)
    return path
  }
  const text = bytes.toString('latin1')
  const renamed = Buffer.from(text.replace('"note": "before the move"', '"note": "before the mist"'), 'latin1')
  assert.notDeepEqual(renamed, bytes)
  await refused(
    { ...env, STACKQUAY_RESTORE: changed('note.tar', renamed) },
    /not as the service with the key .* signed it/,
  )
  const flipped = Buffer.from(bytes)
  flipped[2000] = flipped[2000]! ^ 1
  await refused({ ...env, STACKQUAY_RESTORE: changed('flipped.tar', flipped) }, /checksum/)
  await refused({ ...env, STACKQUAY_RESTORE: changed('short.tar', bytes.subarray(0, 3000)) }, /cannot be restored/)

  await before.app.close()
  const full = await emptyHome(t)
  await cp(before.folder, full, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  await assert.rejects(start(full, { ...env, STACKQUAY_RESTORE: file }), /has a database already/)
})

test('an upload is refused when it is not whole, of another key or there already', async (t) => {
  const { before, file } = await withBackup(t)
  const send = async (app: TestApp, payload: Buffer) => {
    const headers = { ...(await browser(app)), 'content-type': 'application/x-tar' }
    const answer = await app.app.http.inject({
      method: 'POST',
      url: '/api/v1/instance/backups/upload',
      payload,
      headers,
    })
    return { status: answer.statusCode, body: answer.json() as Problem & InstanceBackup }
  }
  const bytes = readFileSync(file)
  assert.equal((await send(before, bytes)).status, 409)
  const [{ id }] = (await before.ask<{ items: InstanceBackup[] }>('GET', '/instance/backups')).body.items as [
    InstanceBackup,
  ]
  await before.ask('DELETE', `/instance/backups/${id}`)
  const flipped = Buffer.from(bytes)
  flipped[2000] = flipped[2000]! ^ 1
  assert.equal((await send(before, flipped)).body.code, 'backup_damaged')
  assert.equal((await send(before, bytes.subarray(0, 3000))).body.code, 'backup_damaged')
  const link = await emptyHome(t)
  symlinkSync('/etc/passwd', join(link, 'stackquay.db.zst'))
  writeFileSync(join(link, 'passwd'), '')
  for (const name of ['stackquay.db.zst', 'passwd']) {
    execFileSync('tar', ['--format=ustar', '-cf', join(link, 'hostile.tar'), '-C', link, name])
    assert.equal((await send(before, readFileSync(join(link, 'hostile.tar')))).body.code, 'backup_damaged', name)
  }
  const there = () => readdirSync(join(before.folder, 'instance-backups'))
  assert.deepEqual(there(), [])
  const brought = await send(before, bytes)
  assert.deepEqual([brought.status, brought.body.id, brought.body.opensHere], [201, id, true])
  const other = await openTestApp(t, { env: { STACKQUAY_SECRET_KEY: randomBytes(32).toString('hex') } })
  assert.equal((await send(other, bytes)).body.code, 'backup_locked')
})

test('restored in place, the state is that of then, that of before is kept, and what came later is left alone', async (t) => {
  const asked = Promise.withResolvers<void>()
  const before = await openTestApp(t, { env, restart: asked.resolve })
  await before.ask('POST', '/projects?wait=10', web)
  const spare = await before.store.transaction((tx) =>
    tx.projectUsers.addSpare({ name: (number) => `spare-${number}`, uid: 50_122, gid: 50_122 }),
  )
  const backup = await make(before)
  const { body: later } = await before.ask('POST', '/projects?wait=10', { ...web, name: 'Later' })
  await before.store.transaction((tx) =>
    tx.projectUsers.add({
      project: later.id,
      name: (number) => `later-${number}`,
      uid: 50_123,
      gid: 50_123,
      before: null,
    }),
  )
  await before.store.transaction((tx) => tx.projectUsers.give(spare.number, newId('prj')))
  const ran = await workloadsOf(before, later.id)
  const headers = await browser(before)
  const restore = async (payload: object) => {
    const url = `/api/v1/instance/backups/${backup.id}/restore`
    const answer = await before.app.http.inject({ method: 'POST', url, payload, headers })
    return { status: answer.statusCode, body: answer.json() }
  }
  assert.equal((await before.ask('POST', `/instance/backups/${backup.id}/restore`, { confirm: backup.id })).status, 403)
  assert.equal((await restore({ confirm: 'ibk_0123456789' })).status, 422)
  const slow = await before.store.transaction((tx) =>
    tx.operations.insert({
      id: newId('op'),
      kind: 'restart',
      project: later.id,
      actor: 'ada',
      input: {},
      requestId: null,
    }),
  )
  assert.equal((await restore({ confirm: backup.id })).body.code, 'busy')
  await before.store.transaction((tx) => tx.operations.cancel(slow.id))
  assert.ok(!existsSync(join(before.folder, 'restore')))

  const stored = join(before.folder, 'instance-backups', backup.id, 'stackquay.db.zst')
  const whole = readFileSync(stored)
  writeFileSync(stored, whole.subarray(0, -1))
  assert.equal((await restore({ confirm: backup.id })).body.code, 'backup_damaged')
  const [failed] = await before.store.audit.list({ limit: 1, action: 'instance.restore' })
  assert.equal(failed?.outcome, 'failure')
  assert.ok(!existsSync(join(before.folder, 'restore')))
  writeFileSync(stored, whole)

  const { status, body } = await restore({ confirm: backup.id })
  assert.equal(status, 202, JSON.stringify(body))
  await asked.promise
  const after = await openAgain(t, before, before.folder)
  assert.deepEqual(
    (await after.store.projects.all()).map(({ slug }) => slug),
    ['shop'],
  )
  assert.deepEqual(await workloadsOf(after, later.id), ran)
  assert.equal((await after.app.http.inject({ url: '/api/v1/projects', headers })).statusCode, 401)
  const [entry] = await after.store.audit.list({ limit: 1, action: 'instance.restore' })
  assert.deepEqual([entry?.actor, entry?.target], ['ada', backup.id])
  assert.ok(entry)
  assert.equal((entry.changes as { before: string }).before, body.before)
  assert.equal((await after.store.audit.verify()).ok, true)
  assert.ok(existsSync(join(before.folder, 'replaced', 'stackquay.db')))
  const { body: list } = await after.ask<{ items: InstanceBackup[] }>('GET', '/instance/backups')
  const kept = list.items.find(({ id }) => id === body.before)
  assert.deepEqual([kept?.source, kept?.projects, kept?.opensHere], ['before-restore', 2, true])
  const given = (await after.store.projectUsers.all()).find(({ uid }) => uid === 50_123)
  assert.equal(given?.project, null)
  // It waited for a project then, and got one since.
  const waited = (await after.store.projectUsers.all()).find(({ uid }) => uid === 50_122)
  assert.deepEqual([waited?.project, waited?.isSpare], [null, false])

  // An old database put in place by hand, without what a restore does, shows.
  await after.app.close()
  await cp(join(before.folder, 'replaced', 'stackquay.db'), join(before.folder, 'stackquay.db'))
  const tampered = await openTestApp(t, { folder: before.folder, engine: before.engine, env })
  assert.equal((await tampered.store.audit.verify()).ok, false)
})

async function workloadsOf({ engine }: TestApp, project: string) {
  return (await engine.observe(project, AbortSignal.timeout(5000))).map(({ ref, state }) => [ref.workload, state])
}

test('a restore in place that is killed between its renames is ended by the next start: all of the new, and all of the old kept', async (t) => {
  const names = ['audit.checkpoint', 'stackquay.db', 'stackquay.db-wal']
  // How far it came: each of its renames in turn.
  for (let done = 0; done <= 6; done += 1) {
    const home = await emptyHome(t)
    const [staged, old] = [join(home, 'restore'), join(home, 'restore', 'replaced')]
    await mkdir(old, { recursive: true })
    const place = (name: string, isOldMoved: boolean, isNewMoved: boolean) => {
      writeFileSync(join(isOldMoved ? old : home, name), `old ${name}`)
      if (name !== 'stackquay.db-wal') writeFileSync(join(isNewMoved ? home : staged, name), `new ${name}`)
    }
    place('audit.checkpoint', done >= 1, done >= 2)
    place('stackquay.db', done >= 3, done >= 5)
    place('stackquay.db-wal', done >= 4, false)
    if (done === 6) await rename(old, join(home, 'replaced'))
    assert.equal(await takeStagedState(home), true)
    assert.deepEqual(readdirSync(home).sort(), ['audit.checkpoint', 'replaced', 'stackquay.db'], `after ${done}`)
    for (const name of ['audit.checkpoint', 'stackquay.db'])
      assert.equal(readFileSync(join(home, name), 'utf8'), `new ${name}`, `after ${done}`)
    for (const name of names) assert.equal(readFileSync(join(home, 'replaced', name), 'utf8'), `old ${name}`)
  }
})

test('while a state is made ready no replacement of the key begins', async (t) => {
  const keys = keyPlace(await emptyHome(t), null)
  const release = keys.hold()
  assert.equal(keys.isSettled(), false)
  release()
  assert.equal(keys.isSettled(), true)
})

test('a start that was killed between the renames of a restore is ended by the next', async (t) => {
  for (const moved of [[], ['audit.checkpoint'], ['audit.checkpoint', 'stackquay.db']]) {
    const home = await emptyHome(t)
    await mkdir(join(home, 'restore'))
    for (const name of ['audit.checkpoint', 'stackquay.db'])
      writeFileSync(join(home, moved.includes(name) ? name : `restore/${name}`), name)
    if (!moved.includes('stackquay.db')) writeFileSync(join(home, 'stackquay.db-wal'), 'of another database')
    assert.equal(await takeStagedState(home), true)
    assert.deepEqual(readdirSync(home).sort(), ['audit.checkpoint', 'stackquay.db'])
    assert.equal(readFileSync(join(home, 'stackquay.db'), 'utf8'), 'stackquay.db')
    assert.equal(await takeStagedState(home), false)
  }
  const home = await emptyHome(t)
  await mkdir(join(home, 'restore.new'))
  assert.equal(await takeStagedState(home), false)
  assert.deepEqual(readdirSync(home), [])
})
