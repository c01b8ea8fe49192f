import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { openStore, type Store, type StoreOptions } from '../src/index.ts'
import { auditEntry, tamper, tempFile, tempStore } from './temp-store.ts'

interface Kept {
  readonly options: StoreOptions & { readonly checkpointFile: string }
  open(): Promise<Store>
}

/** A store with a checkpoint beside it that holds so many entries and was closed. */
async function kept(t: TestContext, entries: number): Promise<Kept> {
  const checkpointFile = `${tempFile(t)}.checkpoint`
  const { store, options } = await tempStore(t, { checkpointFile })
  await append(store, entries)
  await store.close()
  return {
    options: { ...options, checkpointFile },
    open: async () => {
      const opened = await openStore({ ...options, checkpointFile })
      t.after(() => opened.close())
      return opened
    },
  }
}

async function append(store: Store, entries: number): Promise<void> {
  for (let index = 0; index < entries; index++) await store.transaction((tx) => tx.audit.append(auditEntry()))
}

test('the checkpoint follows the log within a second and stands in a file that only we can read', async (t) => {
  const { open, options } = await kept(t, 3)
  const store = await open()
  await append(store, 4)
  const deadline = Date.now() + 1000
  for (;;) {
    const { checkpoint, ok } = await store.audit.verify()
    assert.equal(ok, true)
    if (checkpoint?.seq === 7) break
    assert.ok(Date.now() < deadline, `only ${checkpoint?.seq} after a second`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.equal(statSync(options.checkpointFile).mode & 0o777, 0o600)
})

test('a checkpoint that lags behind, as after a kill, is no finding, and is caught up with at once', async (t) => {
  const { open, options } = await kept(t, 3)
  const lagging = readFileSync(options.checkpointFile)
  const store = await open()
  await append(store, 4)
  await store.close()
  writeFileSync(options.checkpointFile, lagging)
  const again = await open()
  assert.deepEqual({ ...(await again.audit.verify()), checkpoint: null }, whole(7))
  await append(again, 1)
  await again.close()
  assert.equal(JSON.parse(readFileSync(options.checkpointFile, 'utf8')).seq, 8)
})

test('entries cut off together with the sealed head are missed from the first on', async (t) => {
  const { open, options } = await kept(t, 5)
  const backup = `${options.file}.old`
  copyFileSync(options.file, backup)
  const store = await open()
  await append(store, 5)
  await store.close()
  // What only an older copy can do: rows and a head with our own seal go back together.
  copyFileSync(backup, options.file)
  const restored = await open()
  const found = await restored.audit.verify()
  assert.deepEqual([found.ok, found.firstBroken], [false, 6])
  assert.match(String(found.reason), /^Entries 6 to 10 are missing: the checkpoint of .* counts them\.$/)
})

test('going on after an older copy was put back does not hide it, over any number of starts, and the log tells of it once', async (t) => {
  const { open, options } = await kept(t, 5)
  copyFileSync(options.file, `${options.file}.old`)
  const store = await open()
  await append(store, 5)
  await store.close()
  const evidence = readFileSync(options.checkpointFile, 'utf8')
  copyFileSync(`${options.file}.old`, options.file)
  for (let start = 0; start < 3; start++) {
    const again = await open()
    await append(again, 4)
    assert.deepEqual(broken(await again.audit.verify()), [false, 6])
    assert.equal((await again.audit.list({ limit: 10, action: 'audit.gap' })).length, 1)
    await again.close()
  }
  assert.equal(readFileSync(options.checkpointFile, 'utf8'), evidence)
})

test('a log of the same length with other entries is not the one that the checkpoint saw', async (t) => {
  const { open, options } = await kept(t, 5)
  copyFileSync(options.file, `${options.file}.old`)
  const store = await open()
  await append(store, 1)
  await store.close()
  const checkpoint = readFileSync(options.checkpointFile)
  copyFileSync(`${options.file}.old`, options.file)
  rmSync(options.checkpointFile)
  const without = await openStore({ ...options, checkpointFile: `${options.checkpointFile}.elsewhere` })
  await without.transaction((tx) => tx.audit.append(auditEntry({ actor: 'eve' })))
  await without.close()
  writeFileSync(options.checkpointFile, checkpoint)
  assert.deepEqual(broken(await (await open()).audit.verify()), [false, 6])
})

test('a checkpoint that is gone, or that somebody wrote without the key, is a finding', async (t) => {
  for (const harm of [
    (file: string) => rmSync(file),
    (file: string) => writeFileSync(file, 'no checkpoint'),
    (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(/"seq":\d+/, '"seq":2')),
  ]) {
    const { open, options } = await kept(t, 3)
    harm(options.checkpointFile)
    const store = await open()
    assert.deepEqual(broken(await store.audit.verify()), [false, 4])
    await append(store, 2)
    assert.deepEqual(broken(await store.audit.verify()), [false, 4])
  }
})

test('a checkpoint that vanishes while the service runs is noticed too', async (t) => {
  const { open, options } = await kept(t, 3)
  const store = await open()
  rmSync(options.checkpointFile)
  assert.deepEqual(broken(await store.audit.verify()), [false, 4])
})

test('after a backup was restored on purpose, an emptied file begins anew, and the log says so', async (t) => {
  const { open, options } = await kept(t, 5)
  copyFileSync(options.file, `${options.file}.old`)
  const store = await open()
  await append(store, 5)
  await store.close()
  copyFileSync(`${options.file}.old`, options.file)
  await (await open()).close()
  writeFileSync(options.checkpointFile, '')
  const again = await open()
  const state = await again.audit.verify()
  assert.equal(state.ok, true, String(state.reason))
  const [entry] = await again.audit.list({ limit: 1 })
  assert.equal(entry?.action, 'audit.checkpoint')
  assert.match(JSON.stringify(entry?.changes), /"acknowledged":\{"firstBroken":6,/)
})

test('a database from before there were checkpoints gets one', async (t) => {
  const { store, options } = await tempStore(t)
  await append(store, 3)
  await store.close()
  const again = await openStore({ ...options, checkpointFile: `${options.file}.checkpoint` })
  t.after(() => again.close())
  const { ok, checkpoint } = await again.audit.verify()
  assert.deepEqual([ok, checkpoint?.seq], [true, 3])
})

test('of a change in the middle and a cut at the end the first is named', async (t) => {
  const { open, options } = await kept(t, 9)
  tamper(options.file, "update audit set actor = 'eve' where seq = 4", 'delete from audit where seq > 7')
  assert.deepEqual(broken(await (await open()).audit.verify()), [false, 4])
})

function broken({ ok, firstBroken }: { ok: boolean; firstBroken: number | null }) {
  return [ok, firstBroken]
}

function whole(entries: number) {
  return { ok: true, entries, firstBroken: null, reason: null, checkpoint: null }
}
