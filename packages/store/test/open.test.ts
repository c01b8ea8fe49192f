import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore, type StoreOptions, StoreUnusableError } from '../src/index.ts'
import { child, newProject, tempFile, tempStore } from './temp-store.ts'

const optionsFor = (file: string): StoreOptions => ({
  file,
  sealingKey: { id: 'key_a', key: Buffer.alloc(32, 1) },
  clock: { now: () => new Date() },
})

const unusable =
  (...words: readonly RegExp[]) =>
  (error: unknown) => {
    assert.ok(error instanceof StoreUnusableError, String(error))
    for (const word of words) assert.match(error.message, word)
    return true
  }

test('a new database, its side files and its folder belong to the user alone, whatever the umask', async (t) => {
  const file = join(dirname(tempFile(t)), 'home', 'stackquay.db')
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  const store = await openStore(optionsFor(file))
  t.after(() => store.close())
  await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  assert.equal(statSync(dirname(file)).mode & 0o777, 0o700)
  const modes = readdirSync(dirname(file)).map((name) => [name, statSync(join(dirname(file), name)).mode & 0o777])
  assert.deepEqual(modes, [
    ['stackquay.db', 0o600],
    ['stackquay.db-shm', 0o600],
    ['stackquay.db-wal', 0o600],
  ])
})

test('a database that others could read is closed to them when it is opened', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  chmodSync(file, 0o644)
  const again = await openStore(options)
  t.after(() => again.close())
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('after close the one file is the whole database', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await store.close()
  assert.deepEqual(readdirSync(dirname(file)), ['stackquay.db'])
  const copy = `${file}.copy`
  writeFileSync(copy, readFileSync(file))
  const opened = await openStore({ ...options, file: copy })
  t.after(() => opened.close())
  assert.equal((await opened.projects.find('shop'))?.slug, 'shop')
})

test('close waits for the transaction that runs, is the same twice, and ends writing', async (t) => {
  const { store, options } = await tempStore(t)
  const writing = store.transaction(async (tx) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    await tx.projects.insert(newProject('shop'))
  })
  await Promise.all([store.close(), store.close(), writing])
  await assert.rejects(
    store.transaction(async () => {}),
    /closed/,
  )
  const again = await openStore(options)
  t.after(() => again.close())
  assert.equal((await again.projects.all()).length, 1)
})

test('a file that is no database is refused and left as it is', async (t) => {
  const file = tempFile(t)
  const text = 'Dear diary, this is not a database. '.repeat(100)
  writeFileSync(file, text)
  await assert.rejects(openStore(optionsFor(file)), unusable(/is not a database/, /Restore|move/))
  assert.equal(readFileSync(file, 'utf8'), text)
})

test('the database of another program is refused and left as it is', async (t) => {
  const file = tempFile(t)
  const other = new DatabaseSync(file)
  other.exec('create table recipes (name text)')
  other.close()
  const before = readFileSync(file)
  await assert.rejects(openStore(optionsFor(file)), unusable(/another program/))
  assert.deepEqual(readFileSync(file), before)
})

test('a damaged database is refused with the reason and left unchanged', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.transaction(async (tx) => {
    for (let number = 0; number < 200; number += 1) await tx.projects.insert(newProject(`shop-${number}`))
  })
  await store.close()
  const bytes = readFileSync(file)
  const page = bytes.readUInt16BE(16)
  for (let at = 4 * page; at < bytes.length - 2 * page; at += page) randomBytes(64).copy(bytes, at)
  writeFileSync(file, bytes)
  await assert.rejects(openStore(options), unusable(/is damaged: /, /Restore the last backup/))
  assert.deepEqual(readFileSync(file), bytes)
})

test('a database whose end is missing is refused', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.transaction(async (tx) => {
    for (let number = 0; number < 200; number += 1) await tx.projects.insert(newProject(`shop-${number}`))
  })
  await store.close()
  truncateSync(file, Math.floor(statSync(file).size / 2))
  await assert.rejects(openStore(options), unusable(/is damaged/))
})

test('a folder in the place of the file, and a file in the place of the folder, are refused', async (t) => {
  const file = tempFile(t)
  mkdirSync(file)
  await assert.rejects(openStore(optionsFor(file)), unusable(/cannot be a database/, /another path/))
  const plain = join(dirname(file), 'plain')
  writeFileSync(plain, '')
  await assert.rejects(openStore(optionsFor(join(plain, 'stackquay.db'))), unusable(/cannot be a database/))
})

test('a file of another user is refused with what to do', async (t) => {
  const file = tempFile(t)
  writeFileSync(file, '')
  if (process.getuid?.() === 0) {
    // Root may read everything; a child that gave its rights up may not.
    chmodSync(dirname(file), 0o755)
    chmodSync(file, 0o600)
    const { lines, ended, complaints } = child(t, 'open-as-nobody.ts', file)
    const said: string[] = []
    lines.on('line', (line) => said.push(line))
    await ended
    assert.match(said.join('\n'), /^StoreUnusableError .*cannot be read and written.*Give this user/, complaints())
  } else {
    const folder = dirname(file)
    chmodSync(folder, 0o500)
    t.after(() => chmodSync(folder, 0o700))
    await assert.rejects(openStore(optionsFor(join(folder, 'new', 'db'))), unusable(/cannot be read and written/))
  }
})

test('the key is refused by its id, and by its bytes when only the id is right', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  const other = { id: 'key_b', key: randomBytes(32) }
  await assert.rejects(
    openStore({ ...options, sealingKey: other }),
    unusable(/sealed with the key key_a/, /given the key key_b/),
  )
  await assert.rejects(
    openStore({ ...options, sealingKey: { id: 'key_a', key: randomBytes(32) } }),
    unusable(/calls itself key_a/),
  )
  await assert.rejects(
    openStore({ ...options, sealingKey: { id: 'key_a', key: randomBytes(16) } }),
    unusable(/32 bytes/),
  )
  const again = await openStore({ ...options, file })
  await again.close()
})

test('a sound database has no problems, and a row without its parent is one', async (t) => {
  const { store, file } = await tempStore(t)
  assert.deepEqual(await store.checkIntegrity(), [])
  const raw = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  raw.exec("insert into port_leases (project, workload, port, host_port) values ('prj_gone', 'web', 'http', 20000)")
  raw.close()
  assert.deepEqual(await store.checkIntegrity(), ['row 1 of port_leases belongs to a missing row of projects'])
})
