import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openInstanceArchives } from '@stackquay/archive'
import { byTheService, newId, openStore } from '@stackquay/store'
import type { Migration } from '@stackquay/store/migrate'
import { migrations } from '@stackquay/store/migrations/index'
import { signWith } from '../src/backups/own-backups.ts'
import { backupBeforeMigration } from '../src/instance-backups/before-migration.ts'
import { sealingKeyOf } from '../src/sealing-key.ts'
import { admin } from './app-support.ts'
import { openTestApp } from './projects-support.ts'

const key = Buffer.alloc(32, 9)
const env = { STACKQUAY_SECRET_KEY: key.toString('hex') }

async function olderHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-older-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'backup schedules'),
  )
  const store = await openStore({
    file: join(home, 'stackquay.db'),
    sealingKey: sealingKeyOf(key),
    clock: { now: () => new Date('2026-01-01T00:00:00Z') },
    migrations: before,
  })
  await store.transaction((tx) => tx.secrets.put(null, 'PASSWORD', 'sealed text'))
  await store.close()
  return home
}

const modeOf = (path: string) => statSync(path).mode & 0o777

test('a service that is upgraded has a backup of itself from before, which only it can read and the key opens', async (t) => {
  const folder = await olderHome(t)
  const app = await openTestApp(t, { folder, env })
  const archives = openInstanceArchives(join(folder, 'instance-backups'))
  const [made, ...others] = await archives.list()
  assert.deepEqual(others, [])
  assert.ok(made)
  assert.equal(made.source, 'before-migration')
  assert.equal(
    made.schema,
    migrations.findIndex(({ name }) => name === 'backup schedules'),
  )
  assert.equal(made.keyId, app.store.sealing.keyId())
  assert.equal(modeOf(join(folder, 'instance-backups')), 0o700)
  for (const name of ['stackquay.db.zst', 'manifest.json'])
    assert.equal(modeOf(join(folder, 'instance-backups', made.id, name)), 0o600)
  assert.deepEqual(readdirSync(join(folder, 'instance-backups')), [made.id])

  const to = join(folder, 'extracted.db')
  await archives.extract(made.id, to)
  const old = await openStore({ file: to, sealingKey: sealingKeyOf(key), clock: { now: () => new Date() } })
  t.after(() => old.close())
  const secret = await old.secrets.find(null, 'PASSWORD')
  assert.equal((await old.secrets.reveal(secret?.secret ?? '')).expose(), 'sealed text')

  await app.app.close()
  await openTestApp(t, { folder, env })
  assert.equal((await archives.list()).length, 1)
})

test('of backups before migrations the newest three stay, and one that says the same takes no other’s place', async (t) => {
  const folder = await olderHome(t)
  const archives = openInstanceArchives(join(folder, 'instance-backups'))
  const later: Migration[] = []
  const open = (known: readonly Migration[]) =>
    openStore({
      file: join(folder, 'stackquay.db'),
      sealingKey: sealingKeyOf(key),
      clock: { now: () => new Date() },
      migrations: known,
      beforeMigration: (old) => backupBeforeMigration(archives, old, new Date()),
    })
  const failing = { name: 'failing', up: () => Promise.reject(new Error('no further')) }
  const upgrade = async () => {
    // The same state is found twice: by the start that fails, and by the next.
    await assert.rejects(open([...migrations, ...later, failing]), /no further/)
    later.push({ name: `later ${later.length}`, up: () => Promise.resolve() })
    const store = await open([...migrations, ...later])
    await store.transaction((tx) => tx.audit.append(byTheService({ action: 'test', outcome: 'success' })))
    await store.close()
    return (await archives.list())[0]?.id
  }
  await (await open(migrations)).close()
  const ids = [await upgrade(), await upgrade(), await upgrade(), await upgrade()]
  assert.deepEqual(
    (await archives.list()).map(({ id }) => id),
    ids.slice(1).reverse(),
  )
})

test('where no backup can be made the service does not start, says why, and the database stays as it was', async (t) => {
  const folder = await olderHome(t)
  // A file in the place of the folder, which no right gets around.
  writeFileSync(join(folder, 'instance-backups'), '')
  const archives = openInstanceArchives(join(folder, 'instance-backups'))
  const opening = openStore({
    file: join(folder, 'stackquay.db'),
    sealingKey: sealingKeyOf(key),
    clock: { now: () => new Date() },
    beforeMigration: (old) => backupBeforeMigration(archives, old, new Date()),
  })
  await assert.rejects(opening, /the backup before that could not be made: .*It was left as it is/)
  const raw = new DatabaseSync(join(folder, 'stackquay.db'), { readOnly: true })
  assert.equal(raw.prepare("select 1 from sqlite_master where name = 'backup_schedules'").get(), undefined)
  raw.close()
  rmSync(join(folder, 'instance-backups'))
  const app = await openTestApp(t, { folder, env })
  assert.equal((await app.store.users.byName(admin.username))?.role, 'admin')
})

test('an archive of the instance opens with public programs', async (t) => {
  const folder = await olderHome(t)
  await openTestApp(t, { folder, env })
  const archives = openInstanceArchives(join(folder, 'instance-backups'))
  const [made] = await archives.list()
  const tar = await archives.asTar(made!.id)
  const unpacked = join(folder, 'unpacked')
  mkdirSync(unpacked)
  writeFileSync(join(unpacked, 'instance.tar'), Buffer.concat(await Array.fromAsync(tar.read())))
  execFileSync('sh', ['-ec', 'tar -xf instance.tar && zstd -dq stackquay.db.zst'], { cwd: unpacked })
  const raw = new DatabaseSync(join(unpacked, 'stackquay.db'), { readOnly: true })
  assert.equal(raw.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  raw.close()
})

test('a backup that cannot be signed with the key of its copy is none, and leaves nothing', async (t) => {
  const app = await openTestApp(t, { env })
  const archives = openInstanceArchives(join(app.folder, 'instance-backups'))
  const making = archives.create({
    id: newId('ibk'),
    createdAt: new Date().toISOString(),
    note: null,
    source: 'manual',
    stackquayVersion: '0.1.0',
    copyTo: async (file) => ({ ...(await app.store.copyTo(file)), keyId: 'another' }),
    sign: signWith(app.store),
  })
  await assert.rejects(making, /key was replaced meanwhile/)
  assert.deepEqual(readdirSync(join(app.folder, 'instance-backups')), [])
})
