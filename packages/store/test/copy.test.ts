import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore, StoreUnusableError } from '../src/index.ts'
import { migrations } from '../src/migrations/index.ts'
import { smallDisk, unmount } from './small-disk.ts'
import { auditEntry, child, keyText, newProject, spec, tamper, tempFile, tempStore, verifyAudit } from './temp-store.ts'

const clock = { now: () => new Date(0) }
const beside = (file: string, name: string) => join(dirname(file), name)

test('a copy made while the service writes is one moment: what was written before is in it, nothing is half in it', async (t) => {
  const { store, file, options } = await tempStore(t)
  const big = { BIG: { secret: false as const, value: randomBytes(100_000).toString('hex') } }
  const write = (slug: string) =>
    store.transaction(async (tx) => {
      await tx.projects.insert(newProject(slug, { spec: spec(slug, { env: big }) }))
      await tx.audit.append(auditEntry({ target: slug }))
    })
  for (let count = 0; count < 80; count += 1) await write(`before-${count}`)
  let going = true
  let written = 0
  const writing = (async () => {
    while (going) await write(`during-${written++}`)
  })()
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  const to = beside(file, 'copy.db')
  const copy = await store.copyTo(to)
  going = false
  await writing
  delays.disable()
  assert.ok(written > 3, `only ${written} writes while it was copied`)
  assert.ok(delays.max / 1e6 < 1000, `the event loop stood still for ${delays.max / 1e6} ms`)

  assert.deepEqual(
    readdirSync(dirname(file)).filter((name) => name.startsWith('copy.db')),
    ['copy.db'],
  )
  const opened = await openStore({ ...options, file: to })
  t.after(() => opened.close())
  const slugs = (await opened.projects.all()).map(({ slug }) => slug)
  assert.equal(slugs.filter((slug) => slug.startsWith('before-')).length, 80)
  assert.equal(copy.counts.projects, slugs.length)
  assert.deepEqual({ ...copy.audit, hash: '' }, { seq: slugs.length, hash: '', whole: true })
  assert.equal(copy.keyId, options.sealingKey.id)
  assert.equal(copy.schema, migrations.length)
  assert.deepEqual(await verifyAudit(opened), { ok: true, entries: slugs.length, firstBroken: null })
})

test('nobody who is logged in is in a copy, and no remembered answer, not even in its free pages', async (t) => {
  const { store, file, options } = await tempStore(t)
  const mark = (name: string) => `mark-${name}-${'x'.repeat(40)}`
  await store.close()
  const raw = new DatabaseSync(file)
  const time = '2026-01-01T00:00:00.000Z'
  const values = (...texts: readonly (string | null)[]) =>
    texts.map((text) => (text === null ? 'null' : `'${text}'`)).join(', ')
  raw.exec(`insert into users (id, username, role, disabled, password_hash, created_at)
    values (${values('usr_1', 'ada', 'admin')}, 0, ${values('kept-hash', time)})`)
  raw.exec(
    `insert into sessions values (${values('ses_1', mark('cookie'), mark('key'), 'usr_1', null, null, time, time, time)})`,
  )
  raw.exec(`insert into session_tickets values (${values(mark('ticket'), 'ses_1', '/', time, null)})`)
  raw.exec(`insert into projects (id, slug, engine, desired, phase, path, generation, observed_generation, revision, state_since, created_at, updated_at, search, spec)
    values (${values('prj_1', 'shop', 'native', 'stopped', 'ready', '/shop')}, 1, 1, 1, ${values(time, time, time, 'shop', '{}')})`)
  raw.exec(`insert into page_passes values (${values(mark('pass'), 'ses_1', 'prj_1', 'mailpit', time, time)})`)
  raw.exec(`insert into devices values (${values('dev_1', mark('device'), 'usr_1', null, null, time, time)})`)
  raw.exec(`insert into idempotency (caller, key, fingerprint, status, headers, body, created_at)
    values (${values('usr_1', mark('idempotency'), 'f')}, 200, ${values(null, mark('body'), time)})`)
  raw.close()
  const again = await openStore(options)
  t.after(() => again.close())
  await again.transaction((tx) => tx.secrets.put(null, 'oidc/session/ses_1', 'a refresh token'))
  await again.transaction((tx) => tx.secrets.put(null, 'oidc/client', 'a client secret'))
  const to = beside(file, 'copy.db')
  const copy = await again.copyTo(to)
  assert.equal(copy.counts.users, 1)
  assert.equal(copy.counts.secrets, 1, 'tokens of sessions are left out, the secret of the client is not')
  const bytes = readFileSync(to).toString('latin1')
  assert.ok(bytes.includes('kept-hash'))
  for (const name of ['cookie', 'key', 'ticket', 'pass', 'device', 'idempotency', 'body'])
    assert.ok(!bytes.includes(mark(name)), name)
})

test('a copy of a log that was tampered with says so, and a copy that was cancelled rejects', async (t) => {
  const { store, file, options } = await tempStore(t)
  for (const target of ['a', 'b', 'c']) await store.transaction((tx) => tx.audit.append(auditEntry({ target })))
  await store.close()
  tamper(file, "update audit set target = 'x' where seq = 2")
  const again = await openStore(options)
  t.after(() => again.close())
  assert.equal((await again.copyTo(beside(file, 'copy.db'))).audit.whole, false)
  await assert.rejects(again.copyTo(beside(file, 'other.db'), AbortSignal.abort(new Error('no more'))), /no more/)
})

/** A database as it was before schedules of backups, with one project. */
async function olderDatabase(file: string) {
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'backup schedules'),
  )
  const options = { file, sealingKey: { id: 'key_a', key: Buffer.alloc(32, 7) }, clock }
  const old = await openStore({ ...options, migrations: before })
  await old.transaction((tx) => tx.audit.append(auditEntry()))
  await old.close()
  // As the program of then wrote it: that of today looks into tables that were not there.
  const { id, slug, spec, path } = newProject('shop')
  const raw = new DatabaseSync(file)
  raw
    .prepare(
      `insert into projects (id, slug, engine, desired, phase, path, generation, observed_generation, revision, state_since, created_at, updated_at, search, spec)
       values (?, ?, 'native', 'stopped', 'ready', ?, 1, 1, 1, '', '', '', ?, ?)`,
    )
    .run(id, slug, path, slug, JSON.stringify(spec))
  raw.close()
  return { options, schema: before.length }
}

test('before the first migration of an older database there is a copy of it, in its own schema; a new one needs none', async (t) => {
  const file = tempFile(t)
  const to = beside(file, 'copy.db')
  const taken: unknown[] = []
  const beforeMigration: Parameters<typeof openStore>[0]['beforeMigration'] = async (old) => {
    rmSync(to, { force: true })
    const { audit: _, counts, ...copy } = await old.copyTo(to)
    taken.push({ from: old.schema, to: old.nextSchema, key: old.key.id, copy, projects: counts.projects })
  }
  const { options, schema } = await olderDatabase(file)
  const store = await openStore({ ...options, beforeMigration })
  await store.close()
  const copy = { schema, keyId: 'key_a' }
  assert.deepEqual(taken, [{ from: schema, to: migrations.length, key: 'key_a', copy, projects: 1 }])
  const raw = new DatabaseSync(to, { readOnly: true })
  assert.equal(raw.prepare("select 1 from sqlite_master where name = 'backup_schedules'").get(), undefined)
  raw.close()

  await (await openStore({ ...options, beforeMigration })).close()
  await (await openStore({ ...options, file: tempFile(t), beforeMigration })).close()
  assert.equal(taken.length, 1)
  const back = await openStore({ ...options, file: to })
  t.after(() => back.close())
  assert.equal((await back.projects.all()).length, 1)
})

test('without the copy nothing is migrated, and the reason is told', async (t) => {
  const file = tempFile(t)
  const { options, schema } = await olderDatabase(file)
  const before = readFileSync(file)
  const refusing = openStore({
    ...options,
    beforeMigration: (old) => old.copyTo('/dev/full').then(() => undefined),
  })
  await assert.rejects(refusing, (error: unknown) => {
    assert.ok(error instanceof StoreUnusableError)
    assert.match(error.message, new RegExp(`has schema ${schema} and is to get schema ${migrations.length}`))
    assert.match(error.message, /backup before that could not be made: .*It was left as it is\./)
    return true
  })
  assert.deepEqual(readFileSync(file), before)
})

test('a disk that is too full for the copy is told, and the database stays as it is', async (t) => {
  const disk = smallDisk()
  if (disk === null) {
    t.diagnostic('no right to mount a small disk')
    return
  }
  t.after(() => unmount(disk))
  const { options } = await olderDatabase(join(disk, 'stackquay.db'))
  const before = readFileSync(options.file)
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(4_000_000 - before.length * 1.5))
  const refusing = openStore({
    ...options,
    beforeMigration: (old) => old.copyTo(join(disk, 'copy.db')).then(() => undefined),
  })
  await assert.rejects(refusing, /could not be made: The disk .* is full/)
  assert.deepEqual(readFileSync(options.file), before)
})

test('killed while it copies before a migration, the database is as it was, and the next start copies and migrates', async (t) => {
  const file = tempFile(t)
  const { options, schema } = await olderDatabase(file)
  const to = beside(file, 'copies')
  mkdirSync(to)
  for (const moment of ['before', 'copied']) {
    const dying = child(t, 'die-copying.ts', file, 'key_a', keyText(options), to, moment)
    assert.equal((await dying.ended).signal, 'SIGKILL', dying.complaints())
    const raw = new DatabaseSync(file, { readOnly: true })
    assert.equal(raw.prepare('select max(version) as version from migrations').get()?.version, schema)
    raw.close()
  }
  const last = join(to, 'last.db')
  const store = await openStore({ ...options, beforeMigration: async (old) => void (await old.copyTo(last)) })
  t.after(() => store.close())
  assert.ok(existsSync(last))
  assert.equal((await store.projects.all()).length, 1)
  assert.deepEqual(await store.checkIntegrity(), [])
})
