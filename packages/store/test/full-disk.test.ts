import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Kysely, sql } from 'kysely'
import { SqliteDialect, SqliteFile } from '../src/dialect.ts'
import { openStore, StoreFullError, StoreUnusableError } from '../src/index.ts'
import { smallDisk, unmount } from './small-disk.ts'
import { auditEntry, newProject, spec, tempFile, verifyAudit } from './temp-store.ts'

const big = () => spec('big', { env: { BIG: { secret: false, value: randomBytes(30_000).toString('hex') } } })

test('on a full disk a change fails with a clear error, nothing written is lost, and with space it goes on', async (t) => {
  const disk = smallDisk()
  if (disk === null) {
    t.diagnostic('no right to mount a small disk; the page limit below shows the same error')
    return
  }
  const options = {
    file: join(disk, 'stackquay.db'),
    sealingKey: { id: 'key_a', key: randomBytes(32) },
    clock: { now: () => new Date() },
  }
  const store = await openStore(options)
  const stores = [store]
  t.after(async () => {
    for (const opened of stores) await opened.close()
    unmount(disk)
  })
  const ballast = join(disk, 'ballast')
  writeFileSync(ballast, Buffer.alloc(2_500_000))

  let written = 0
  const fill = async () => {
    for (;;) {
      await store.transaction(async (tx) => {
        await tx.projects.insert(newProject(`shop-${written}`, { spec: big() }))
        await tx.audit.append(auditEntry({ target: `shop-${written}` }))
      })
      written += 1
    }
  }
  await assert.rejects(fill(), (error: unknown) => {
    assert.ok(error instanceof StoreFullError, String(error))
    assert.match(error.message, /is full\. Nothing was written\. Free some space/)
    return true
  })
  assert.ok(written > 0)
  assert.ok(statfsSync(disk).bavail < 100)
  assert.equal((await store.projects.all()).length, written)
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: written, firstBroken: null })

  await store.close()
  rmSync(ballast)
  const again = await openStore(options)
  stores.push(again)
  await again.transaction((tx) => tx.projects.insert(newProject('after')))
  assert.equal((await again.projects.all()).length, written + 1)
  assert.deepEqual(await again.checkIntegrity(), [])
})

test('a database that cannot be made because the disk is full says so', async (t) => {
  const disk = smallDisk()
  if (disk === null) return
  t.after(() => unmount(disk))
  assert.throws(() => writeFileSync(join(disk, 'ballast'), Buffer.alloc(5_000_000)), { code: 'ENOSPC' })
  const opening = openStore({
    file: join(disk, 'stackquay.db'),
    sealingKey: { id: 'key_a', key: randomBytes(32) },
    clock: { now: () => new Date() },
  })
  await assert.rejects(opening, (error: unknown) => {
    assert.ok(error instanceof StoreUnusableError, String(error))
    assert.match(error.message, /is full/)
    return true
  })
})

test('a caller that goes on after a full disk rolled the transaction back writes nothing outside of it', async (t) => {
  const path = tempFile(t)
  const file = new SqliteFile(path, new DatabaseSync(path))
  t.after(() => file.close())
  file.say('create table notes (text text)')
  file.say('PRAGMA max_page_count = 20')
  const db = new Kysely<{ notes: { text: string } }>({ dialect: new SqliteDialect(file) })
  const attempt = db.transaction().execute(async (tx) => {
    await tx.insertInto('notes').values({ text: 'first' }).execute()
    await assert.rejects(
      tx
        .insertInto('notes')
        .values({ text: 'x'.repeat(200_000) })
        .execute(),
      StoreFullError,
    )
    // SQLite has done it by itself.
    assert.equal(file.inTransaction, false)
    await tx.insertInto('notes').values({ text: 'stray' }).execute()
  })
  await assert.rejects(attempt, /was rolled back by an earlier error/)
  const { rows } = await sql<{ text: string }>`select text from notes`.execute(db)
  assert.deepEqual(rows, [])
})
