import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AuditEntry, Backup, BackupTarget, OperationRecord, Problem, TargetBackup } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'

const secret = 'sésame-of-the-shop'

async function openShop(t: TestContext): Promise<TestApp> {
  const app = await openTestApp(t)
  const env = { KEY: { value: secret, secret: true } }
  assert.equal((await app.ask('POST', '/projects?wait=10', { name: 'Shop', env, start: false })).status, 201)
  return app
}

async function newFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-offsite-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

async function backUp({ ask }: TestApp): Promise<string> {
  const made = await ask<Backup>('POST', '/projects/shop/backups?wait=10', {})
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.id
}

type NewTarget = BackupTarget & { recoveryPassphrase: string | null; isNew: boolean }

async function addFolder({ ask }: TestApp, path: string, more: object = {}): Promise<NewTarget> {
  const body = { name: 'Offsite', folder: { path }, ...more }
  const made = await ask<NewTarget>('POST', '/backup-targets', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

async function copyTo({ ask }: TestApp, backup: string, target: string) {
  return ask<Backup & OperationRecord>('POST', `/backups/${backup}/copies?wait=60`, { target })
}

test('a new instance that has nothing but the target and the passphrase makes the project of it, secrets and all', async (t) => {
  const path = await newFolder(t)
  const first = await openShop(t)
  const backup = await backUp(first)
  const target = await addFolder(first, path)
  assert.deepEqual([target.kind, target.place, target.isNew, target.copies], ['folder', path, true, 0])
  const copied = await copyTo(first, backup, target.id)
  assert.equal(copied.status, 200, JSON.stringify(copied.body))
  assert.deepEqual(
    copied.body.copies.map(({ name, state }) => [name, state]),
    [['Offsite', 'complete']],
  )
  assert.equal((await first.ask<BackupTarget>('GET', `/backup-targets/${target.id}`)).body.copies, 1)
  const again = await first.reopen()
  const known = await again.ask<Backup>('GET', `/backups/${backup}`)
  assert.equal(known.body.copies[0]?.state, 'complete', 'what is known of copies is gone after a restart')

  const second = await openTestApp(t)
  const found = await addFolder(second, path, { passphrase: target.recoveryPassphrase })
  assert.deepEqual([found.isNew, found.recoveryPassphrase], [false, null])
  const list = await second.ask<{ items: TargetBackup[] }>('GET', `/backup-targets/${found.id}/backups`)
  assert.deepEqual(
    list.body.items.map(({ id, project, opens, here }) => [id, project?.slug, opens, here]),
    [[backup, 'shop', true, false]],
  )
  const fetched = await second.ask<Backup>('POST', `/backup-targets/${found.id}/fetch?wait=60`, { backup })
  assert.equal(fetched.status, 201, JSON.stringify(fetched.body))
  assert.deepEqual(
    [fetched.body.opensHere, fetched.body.source, fetched.body.copies[0]?.state],
    [true, 'upload', 'complete'],
  )
  const made = await second.ask('POST', `/backups/${backup}/restore-as?wait=20`, { name: 'Shop' })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { body } = await second.ask<{ value: string }>('GET', '/projects/shop/env/KEY?reveal=true')
  assert.equal(body.value, secret)
  const twice = await second.ask<Problem>('POST', `/backup-targets/${found.id}/fetch`, { backup })
  assert.deepEqual([twice.status, twice.body.code], [409, 'conflict'])
  // It opens also after a restart, and its copy is known to be whole: nothing but the changed end is sent.
  assert.equal((await copyTo(await second.reopen(), backup, found.id)).status, 200)
})

test('what is wrong with a target is told before anything is kept', async (t) => {
  const app = await openTestApp(t)
  const path = await newFolder(t)
  const refusal = async (body: object) => {
    const { status, body: problem } = await app.ask<Problem>('POST', '/backup-targets', { name: 'Offsite', ...body })
    return [status, problem.code, problem.errors?.[0]?.pointer]
  }
  assert.deepEqual(await refusal({}), [422, 'validation_failed', '/folder'])
  assert.deepEqual(await refusal({ folder: { path: 'relative' } }), [422, 'validation_failed', '/folder/path'])
  assert.deepEqual(await refusal({ folder: { path: join(path, 'none') } }), [422, 'target_refused', undefined])
  assert.deepEqual(await refusal({ folder: { path: '/sys' } }), [422, 'target_refused', undefined])
  assert.deepEqual(await refusal({ folder: { path: app.folder } }), [422, 'path_forbidden', undefined])
  await mkdir(join(app.folder, 'inside'))
  assert.deepEqual(await refusal({ folder: { path: join(app.folder, 'inside') } }), [422, 'path_forbidden', undefined])
  assert.deepEqual(await refusal({ folder: { path }, passphrase: 'short' }), [422, 'validation_failed', '/passphrase'])
  const nobody = await unusedPort()
  const keys = { accessKeyId: 'a', secretAccessKey: 'b' }
  const s3 = { endpoint: `http://127.0.0.1:${nobody}`, bucket: 'backups', ...keys }
  assert.deepEqual(await refusal({ s3 }), [503, 'target_unreachable', undefined])
  const sftp = { host: '127.0.0.1', port: nobody, user: 'ada', path: '/srv', password: 'x' }
  assert.deepEqual(await refusal({ sftp }), [503, 'target_unreachable', undefined])
  assert.deepEqual(await refusal({ sftp: { ...sftp, password: undefined } }), [
    422,
    'validation_failed',
    '/sftp/password',
  ])
  assert.deepEqual(await readdir(path), [])
  assert.deepEqual((await app.ask<{ items: [] }>('GET', '/backup-targets')).body.items, [])
  assert.deepEqual(await app.store.secrets.ofInstance('backup-target/'), {})

  const { recoveryPassphrase } = await addFolder(app, path)
  assert.deepEqual(await refusal({ folder: { path } }), [409, 'conflict', undefined])
  const other = { name: 'Once more', folder: { path } }
  assert.deepEqual(await refusal(other), [422, 'target_locked', undefined])
  assert.deepEqual(await refusal({ ...other, passphrase: 'another one that is long' }), [
    422,
    'target_locked',
    undefined,
  ])
  assert.equal((await addFolder(app, path, { name: 'Once more', passphrase: recoveryPassphrase })).isNew, false)
})

async function unusedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('no answer, event and audit entry holds what is secret of a target', async (t) => {
  const app = await openTestApp(t)
  const path = await newFolder(t)
  const passphrase = 'a passphrase of my own'
  const { id } = await addFolder(app, path, { passphrase })
  const { key } = JSON.parse(
    (await app.store.secrets.reveal((await app.store.secrets.find(null, `backup-target/${id}`))!.secret)).expose(),
  )
  const told = [
    (await app.ask('GET', '/backup-targets')).body,
    (await app.ask('GET', `/backup-targets/${id}`)).body,
    (await app.ask('POST', `/backup-targets/${id}/check`, {})).body,
    await app.store.audit.list({ limit: 100 }),
    await app.store.events.after(0, 1000),
  ]
  for (const text of [passphrase, key.identity, key.keyFile]) assert.ok(!JSON.stringify(told).includes(text), text)
  const entries = await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=backup-target.create')
  assert.equal(entries.body.items[0]?.target, 'Offsite')
  assert.match(await readFile(join(path, 'stackquay-key.age'), 'utf8'), /^age-encryption/)
})

test('a copy that failed is known as incomplete, and the next one completes it', async (t) => {
  const app = await openShop(t)
  const path = await newFolder(t)
  const backup = await backUp(app)
  const target = await addFolder(app, path)
  await rename(path, `${path}-away`)
  const failed = await copyTo(app, backup, target.id)
  assert.deepEqual([failed.status, failed.body.state, failed.body.project], [202, 'failed', null])
  assert.equal(failed.body.error?.code, 'target_refused')
  const state = async () => (await app.ask<Backup>('GET', `/backups/${backup}`)).body.copies[0]?.state
  assert.equal(await state(), 'incomplete')
  // Somebody mounts another disk in its place: nothing is written on that.
  await mkdir(path)
  const other = await copyTo(app, backup, target.id)
  assert.equal(other.body.error?.code, 'target_changed')
  assert.deepEqual(await readdir(path), [])
  await rm(path, { recursive: true })
  await rename(`${path}-away`, path)
  assert.equal((await copyTo(app, backup, target.id)).status, 200)
  assert.equal(await state(), 'complete')

  await rm(join(path, 'stackquay-key.age'))
  const check = (body?: object) => app.ask<Problem>('POST', `/backup-targets/${target.id}/check`, body)
  assert.equal((await check()).body.code, 'target_changed')
  assert.equal((await check({ restoreKeyFile: true })).status, 200)
  assert.equal((await check()).status, 200)
})

test('a copy holds up no project, and what it reads is not deleted meanwhile', async (t) => {
  const app = await openShop(t)
  const path = await newFolder(t)
  const backup = await backUp(app)
  const target = await addFolder(app, path)
  const { body } = await app.ask<OperationRecord>('POST', `/backups/${backup}/copies`, { target: target.id })
  const [twice, gone, forgotten, made] = await Promise.all([
    app.ask<Problem>('POST', `/backups/${backup}/copies`, { target: target.id }),
    app.ask<Problem>('DELETE', `/backups/${backup}`),
    app.ask<Problem>('DELETE', `/backup-targets/${target.id}`),
    app.ask<OperationRecord>('POST', '/projects/shop/backups?wait=10', {}),
  ])
  assert.deepEqual([twice.body.code, gone.body.code, forgotten.body.code], ['busy', 'busy', 'busy'])
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal((await app.ask<OperationRecord>('GET', `/operations/${body.id}?wait=60`)).body.state, 'succeeded')
  const restricted = await app.as('admin', [(await app.ask('GET', '/projects/shop')).body.id])
  assert.equal((await restricted<Problem>('GET', `/operations/${body.id}`)).status, 403)
  const seen = await restricted<{ items: OperationRecord[] }>('GET', '/operations')
  assert.ok(seen.body.items.every(({ kind }) => kind !== 'copy-backup'))

  assert.equal((await app.ask('DELETE', `/backup-targets/${target.id}`)).status, 204)
  assert.ok((await readdir(path)).includes('backups'), 'what lies on a target goes with it')
  assert.deepEqual((await app.ask<Backup>('GET', `/backups/${backup}`)).body.copies, [])
})

test('what somebody changed on the target is refused, and nothing of it is left', async (t) => {
  const path = await newFolder(t)
  const app = await openShop(t)
  const backup = await backUp(app)
  const target = await addFolder(app, path)
  await copyTo(app, backup, target.id)
  await app.ask('DELETE', `/backups/${backup}`)
  const [copy] = await readdir(join(path, 'pieces'))
  const piece = join(path, 'pieces', copy!, '000000.age')
  const bytes = await readFile(piece)
  const fetch = () => app.ask<OperationRecord>('POST', `/backup-targets/${target.id}/fetch?wait=60`, { backup })
  for (const damage of [() => bytes.fill(0, 900, 910), () => bytes.subarray(0, 900)]) {
    await writeFile(piece, damage())
    assert.equal((await fetch()).body.error?.code, 'backup_damaged')
    assert.deepEqual(await readdir(join(app.folder, 'backups')), [])
    assert.equal((await app.ask('GET', `/backups/${backup}`)).status, 404)
  }
  await writeFile(join(path, 'backups', `${copy}.age`), 'no index')
  const list = await app.ask<{ items: []; unreadable: string[] }>('GET', `/backup-targets/${target.id}/backups`)
  assert.deepEqual([list.status, list.body.items.length, list.body.unreadable.length], [200, 0, 1])
  const missing = await app.ask<Problem>('POST', `/backup-targets/${target.id}/fetch`, { backup: 'bak_0000000000' })
  assert.equal(missing.body.code, 'not_found')
})

/** A backup of several pieces. */
async function largeBackup(t: TestContext) {
  const path = await newFolder(t)
  const app = await openShop(t)
  const project = (await app.ask('GET', '/projects/shop')).body
  await writeFile(join(project.path, 'data.bin'), randomBytes(60 << 20))
  const backup = await backUp(app)
  return { app, path, backup, target: await addFolder(app, path) }
}

test('a copy that is cancelled leaves nothing of it on the target', async (t) => {
  const { app, path, backup, target } = await largeBackup(t)
  const { body } = await app.ask<OperationRecord>('POST', `/backups/${backup}/copies`, { target: target.id })
  await waitFor('a piece', async () => ((await filesIn(join(path, 'pieces'))).length > 0 ? true : null), {
    timeoutMs: 60_000,
  })
  const { body: ended } = await app.ask<OperationRecord>('POST', `/operations/${body.id}/cancel?wait=60`)
  assert.equal(ended.state, 'cancelled')
  assert.deepEqual(await filesIn(path), ['stackquay-key.age'])
  assert.deepEqual((await app.ask<Backup>('GET', `/backups/${backup}`)).body.copies, [])
  assert.equal((await copyTo(app, backup, target.id)).status, 200)
  // One that is there already is not touched by a cancel, and neither is it sent again.
  const again = await app.ask<OperationRecord>('POST', `/backups/${backup}/copies`, { target: target.id })
  await app.ask('POST', `/operations/${again.body.id}/cancel?wait=60`)
  assert.equal((await filesIn(path)).length, 10)
  assert.equal((await app.ask<Backup>('GET', `/backups/${backup}`)).body.copies[0]?.state, 'complete')
})

test('a backup that is damaged here is not copied', async (t) => {
  const { app, path, backup, target } = await largeBackup(t)
  const file = join(app.folder, 'backups', backup, 'files.tar.zst')
  const bytes = await readFile(file)
  bytes[50_000_000]! ^= 1
  await writeFile(file, bytes)
  const { body } = await copyTo(app, backup, target.id)
  assert.deepEqual([body.state, body.error?.code], ['failed', 'backup_damaged'])
  assert.deepEqual(await filesIn(path), ['stackquay-key.age'])
})

async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
