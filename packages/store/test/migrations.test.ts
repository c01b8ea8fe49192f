import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { openStore, StoreUnusableError } from '../src/index.ts'
import { migrations } from '../src/migrations/index.ts'
import { child, keyText, newProject, tempFile, tempStore } from './temp-store.ts'

function schemaOf(file: string) {
  const raw = new DatabaseSync(file, { readOnly: true })
  try {
    return {
      tables: raw
        .prepare("select name from sqlite_master where type = 'table' order by name")
        .all()
        .map((row) => row.name),
      applied: raw
        .prepare('select version, name from migrations order by version')
        .all()
        .map((row) => ({ ...row })),
    }
  } finally {
    raw.close()
  }
}

const add = (name: string, statement: string) => ({
  name,
  up: async (db: Kysely<unknown>) => {
    await sql.raw(statement).execute(db)
  },
})

test('a fresh database gets every migration once, and opening it again changes nothing', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  const expected = migrations.map(({ name }, index) => ({ version: index + 1, name }))
  assert.deepEqual(schemaOf(file).applied, expected)
  const before = readFileSync(file)
  const again = await openStore(options)
  await again.close()
  assert.deepEqual(schemaOf(file).applied, expected)
  assert.deepEqual(readFileSync(file), before)
})

test('a database of the schema before gets what is new and keeps what it has', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await store.close()
  const newer = await openStore({
    ...options,
    migrations: [...migrations, add('notes', 'create table notes (id text)')],
  })
  t.after(() => newer.close())
  assert.equal((await newer.projects.find('shop'))?.slug, 'shop')
  assert.ok(schemaOf(file).tables.includes('notes'))
  assert.equal(schemaOf(file).applied.at(-1)?.name, 'notes')
})

test('a newer schema is refused with both versions, and the file is left as it is', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  const newer = await openStore({
    ...options,
    migrations: [...migrations, add('notes', 'create table notes (id text)')],
  })
  await newer.close()
  const before = readFileSync(file)
  await assert.rejects(openStore(options), (error: unknown) => {
    assert.ok(error instanceof StoreUnusableError)
    assert.match(error.message, new RegExp(`has schema ${migrations.length + 1}; .* up to ${migrations.length}\\.`))
    assert.match(error.message, /newer program|backup/)
    return true
  })
  assert.deepEqual(readFileSync(file), before)
})

test('a migration that fails leaves nothing half done', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  const broken = {
    name: 'broken',
    up: async (db: Kysely<unknown>) => {
      await sql`create table half_done (id text)`.execute(db)
      throw new Error('no further')
    },
  }
  await assert.rejects(openStore({ ...options, migrations: [...migrations, broken] }), /no further/)
  assert.ok(!schemaOf(file).tables.includes('half_done'))
  const again = await openStore(options)
  await again.close()
})

test('a process killed in the middle of a migration leaves nothing half done', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await store.close()
  const dying = child(t, 'die-migrating.ts', file, options.sealingKey.id, keyText(options))
  const said: string[] = []
  dying.lines.on('line', (line) => said.push(line))
  assert.equal((await dying.ended).signal, 'SIGKILL', dying.complaints())
  assert.deepEqual(said, ['half'])

  const again = await openStore(options)
  t.after(() => again.close())
  assert.ok(!schemaOf(file).tables.includes('half_done'))
  assert.equal(schemaOf(file).applied.length, migrations.length)
  assert.equal(await again.settings.get('half'), null)
  assert.deepEqual(await again.checkIntegrity(), [])
  assert.equal((await again.projects.all()).length, 1)
})

test('two processes that make the same database at once both succeed', async (t) => {
  const file = tempFile(t)
  const key = Buffer.alloc(32, 7).toString('hex')
  const both = ['a', 'b'].map((name) => child(t, 'write-on.ts', file, 'key_a', key, name, '3'))
  for (const { ended, complaints } of both) assert.equal((await ended).code, 0, complaints())
  assert.equal(schemaOf(file).applied.length, migrations.length)
})

test('a project from before there were engines is on the native one', async (t) => {
  const file = tempFile(t)
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'engines'),
  )
  const clock = { now: () => new Date(0) }
  const options = { file, sealingKey: { id: 'key_a', key: Buffer.alloc(32, 7) }, clock }
  const old = await openStore({ ...options, migrations: before })
  await old.close()
  const raw = new DatabaseSync(file)
  raw.exec(`insert into projects (id, slug, desired, phase, path, generation, revision, state_since, created_at, updated_at,
    search, spec) values ('prj_1', 'shop', 'stopped', 'ready', '/srv/shop', 1, 1, '', '', '', 'shop', '{}')`)
  raw.close()
  const store = await openStore(options)
  t.after(() => store.close())
  assert.equal((await store.projects.find('shop'))?.engine, 'native')
})

test('sessions from before they belonged to an origin end; people and tokens stay', async (t) => {
  const file = tempFile(t)
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'session origin'),
  )
  const clock = { now: () => new Date(0) }
  const options = { file, sealingKey: { id: 'key_a', key: Buffer.alloc(32, 7) }, clock }
  await (await openStore({ ...options, migrations: before })).close()
  const raw = new DatabaseSync(file)
  const time = new Date(0).toISOString()
  raw.exec(`insert into users (id, username, role, disabled, password_hash, created_at)
    values ('usr_1', 'ada', 'admin', 0, 'x', '${time}')`)
  raw.exec(`insert into sessions (id, hash, csrf_token, user, created_at, last_seen_at, expires_at)
    values ('ses_1', 'h', 'c', 'usr_1', '${time}', '${time}', '2100-01-01T00:00:00.000Z')`)
  raw.close()
  const store = await openStore(options)
  t.after(() => store.close())
  assert.equal((await store.users.byName('ada'))?.id, 'usr_1')
  assert.deepEqual(await store.sessions.of('usr_1'), [])
  assert.deepEqual(await store.checkIntegrity(), [])
})
