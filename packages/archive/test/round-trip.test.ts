import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newIdentity, openArchiveFolder, openSettings, sealSettings } from '../src/index.ts'
import {
  archiveError,
  chunks,
  fields,
  never,
  part,
  temporaryFolder,
  whole,
  withBackup,
  writeBackup,
} from './temp-archives.ts'

const compressors = [
  { name: 'the program zstd', options: {} },
  { name: 'node:zlib', options: { zstd: null } },
]

/** Half of it repeats, half does not. */
function randomContent(): Buffer {
  const size = [0, 1, 511, 512, 513, randomInt(300_000)][randomInt(6)]!
  return Buffer.concat([randomBytes(size >> 1), Buffer.alloc(size - (size >> 1), 'stackquay ')])
}

function randomContents(): Record<string, Buffer> {
  const ids = ['settings', 'files', 'database:main', 'database:with_a-long-name0', 'service:redis', 'service:storage']
  return Object.fromEntries(ids.filter(() => randomInt(3) > 0).map((id) => [id, randomContent()]))
}

for (const { name, options } of compressors) {
  test(`what is written is read, listed, downloaded and uploaded again byte for byte, compressed by ${name}`, async (t) => {
    for (let round = 0; round < 12; round += 1) {
      const archives = openArchiveFolder(join(temporaryFolder(t), 'backups'), options)
      const contents = randomContents()
      await writeBackup(archives, 'bak_0123456789', contents)
      const manifest = (await archives.read('bak_0123456789'))!
      assert.deepEqual(
        manifest.parts.map(({ id, contentBytes }) => [id, contentBytes]),
        Object.entries(contents).map(([id, bytes]) => [id, bytes.length]),
      )
      assert.deepEqual(await archives.list(), [manifest])
      await archives.check(manifest.id)
      for (const [id, bytes] of Object.entries(contents))
        assert.ok((await whole(archives.open(manifest.id, id))).equals(bytes), id)

      const tar = await archives.asTar(manifest.id)
      const copies = openArchiveFolder(join(temporaryFolder(t), 'backups'), options)
      const uploaded = await copies.upload(tar.read(), { signal: never, maxBytes: tar.size })
      assert.deepEqual(uploaded, { ...manifest, source: 'upload' })
      assert.deepEqual(await copies.list(), [uploaded])
      for (const [id, bytes] of Object.entries(contents))
        assert.ok((await whole(copies.open(manifest.id, id))).equals(bytes), id)
    }
  })
}

test('any range of the tar archive is exactly that of the whole', async (t) => {
  const { archives, id } = await withBackup(t, {
    settings: randomBytes(513),
    files: randomBytes(9_000),
    'service:redis': Buffer.of(),
  })
  const tar = await archives.asTar(id)
  const bytes = await whole(tar.read())
  assert.equal(bytes.length, tar.size)
  assert.ok(bytes.equals(await whole((await archives.asTar(id)).read())))
  for (let round = 0; round < 300; round += 1) {
    const [from, to] = [randomInt(tar.size + 1), randomInt(tar.size + 1)].sort((a, b) => a - b) as [number, number]
    assert.ok((await whole(tar.read(from, to))).equals(bytes.subarray(from, to)), `${from} to ${to}`)
  }
  await assert.rejects(whole(tar.read(0, tar.size + 1)), RangeError)
})

test('folders are for the service alone, and nothing but the parts and the manifest is in one', async (t) => {
  const { root, id } = await withBackup(t, { files: randomBytes(100), 'database:main': randomBytes(100) })
  assert.deepEqual(await readdir(root), [id])
  assert.deepEqual((await readdir(join(root, id))).sort(), ['database-main.tar.zst', 'files.tar.zst', 'manifest.json'])
  const modes = async (path: string) => (await stat(path)).mode & 0o777
  assert.equal(await modes(root), 0o700)
  assert.equal(await modes(join(root, id)), 0o700)
  assert.equal(await modes(join(root, id, 'files.tar.zst')), 0o600)
  assert.equal(await modes(join(root, id, 'manifest.json')), 0o600)
})

test('what is known only after a part was taken stands in its entry', async (t) => {
  const archives = openArchiveFolder(join(temporaryFolder(t), 'backups'))
  await using writer = await archives.create('bak_0123456789')
  const warnings: string[] = []
  const counts: number[] = []
  async function* content() {
    yield* chunks(randomBytes(25_000))
    warnings.push('notes.txt changed while it was read.')
  }
  await writer.add(part('files'), content(), { signal: never, warnings, onBytes: (bytes) => counts.push(bytes) })
  assert.equal(counts.at(-1), 25_000)
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  )
  writer.describe('files', {
    takenAt: '2026-03-01T10:00:09.000Z',
    warnings: ['And more.'],
    contents: { files: { js: 3 } },
  })
  const [entry] = (await writer.finish({ ...fields, note: 'before the update' })).parts
  assert.deepEqual(entry?.warnings, ['notes.txt changed while it was read.', 'And more.'])
  assert.equal(entry?.takenAt, '2026-03-01T10:00:09.000Z')
  assert.deepEqual((await archives.read('bak_0123456789'))?.parts[0], entry)
})

test('a backup with much to say of it is made all the same', async (t) => {
  const archives = openArchiveFolder(join(temporaryFolder(t), 'backups'))
  await using writer = await archives.create('bak_0123456789')
  const warnings = Array.from({ length: 5000 }, (_, index) => `${index} ${'x'.repeat(3000)}`)
  await writer.add(part('files'), chunks(randomBytes(10)), { signal: never, warnings })
  writer.describe('files', { contents: { names: 'x'.repeat(1 << 20) }, warnings: ['One more.'] })
  const [entry] = (await writer.finish(fields)).parts
  assert.equal(entry?.warnings.length, 500)
  assert.match(entry.warnings[0]!, /^0 x{998}$/)
  assert.equal(entry.contents, undefined)
  await assert.rejects(writer.add(part('database:../../x'), chunks(randomBytes(10)), { signal: never }), /Not an id/)
})

test('backups are listed newest first', async (t) => {
  const archives = openArchiveFolder(join(temporaryFolder(t), 'backups'))
  assert.deepEqual(await archives.list(), [])
  assert.deepEqual(await archives.sweep(), [])
  const days = { bak_aaaaaaaaaa: 2, bak_bbbbbbbbbb: 3, bak_cccccccccc: 1, bak_dddddddddd: 2 }
  for (const [id, day] of Object.entries(days)) {
    await using writer = await archives.create(id)
    await writer.finish({ ...fields, createdAt: `2026-03-0${day}T10:00:00Z` })
  }
  assert.deepEqual(
    (await archives.list()).map(({ id }) => id),
    ['bak_bbbbbbbbbb', 'bak_dddddddddd', 'bak_aaaaaaaaaa', 'bak_cccccccccc'],
  )
})

test('settings open with their key, not with another, and not when a byte differs', async () => {
  const [key, other] = [await newIdentity(), await newIdentity()]
  const settings = { env: { PASSWORD: 'pässword' }, list: [1, null, true] }
  const sealed = await sealSettings(settings, [key.recipient])
  assert.deepEqual(await openSettings(sealed, key.identity), settings)
  await assert.rejects(openSettings(sealed, other.identity), archiveError('locked', 'settings'))
  for (const at of [0, sealed.length - 60, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[at]! ^= 1
    await assert.rejects(openSettings(changed, key.identity), archiveError('damaged', 'settings'))
  }
  await assert.rejects(openSettings(sealed.subarray(0, -1), key.identity), archiveError('damaged', 'settings'))
  const both = await sealSettings(settings, [key.recipient, other.recipient])
  assert.deepEqual(await openSettings(both, other.identity), settings)
})

test('an id is taken once; what is removed is gone; what was left by a killed attempt is swept', async (t) => {
  const { archives, root, id } = await withBackup(t, { files: randomBytes(100) })
  await assert.rejects(archives.create(id), archiveError('exists'))
  await assert.rejects(archives.create('../bak_0123456789'), /Not an id/)
  const tar = await archives.asTar(id)
  await assert.rejects(archives.upload(tar.read(), { signal: never }), archiveError('exists'))
  assert.deepEqual(await readdir(root), [id])

  const writer = await archives.create('bak_aaaaaaaaaa')
  await assert.rejects(archives.create('bak_aaaaaaaaaa'), /being made/)
  assert.deepEqual(await archives.sweep(), [], 'what is being written stays')
  assert.deepEqual(await openArchiveFolder(root).sweep(), ['.bak_aaaaaaaaaa.new'], 'of a process that ended')
  await writer.abandon()

  await archives.remove(id)
  await archives.remove(id)
  assert.equal(await archives.read(id), null)
  await assert.rejects(archives.check(id), archiveError('not_found'))
  await assert.rejects(whole(archives.open(id, 'files')), archiveError('not_found'))
  assert.deepEqual(await readdir(root), [])
  assert.equal(await archives.read('../../etc'), null)
})

test('a backup that is abandoned, or whose part fails or is aborted, leaves nothing', async (t) => {
  for (const { options } of compressors) await leavesNothing(t, options)
})

async function leavesNothing(t: TestContext, options: { readonly zstd?: null }): Promise<void> {
  const root = join(temporaryFolder(t), 'backups')
  const archives = openArchiveFolder(root, options)
  const writer = await archives.create('bak_0123456789')
  async function* breaks() {
    yield randomBytes(200_000)
    throw new Error('The source broke.')
  }
  await assert.rejects(writer.add(part('files'), breaks(), { signal: never }), /The source broke/)
  async function* waits() {
    yield randomBytes(200_000)
    await new Promise(() => {})
  }
  const abort = new AbortController()
  const adding = writer.add(part('files'), waits(), { signal: abort.signal })
  setTimeout(() => abort.abort(new Error('Cancelled.')), 50)
  await assert.rejects(adding, /Cancelled/)
  await assert.rejects(writer.add(part('files'), chunks(randomBytes(10)), { signal: abort.signal }), /Cancelled/)
  assert.deepEqual(await readdir(join(root, '.bak_0123456789.new')), [], 'no file of a part that failed')

  const abandoned = assert.rejects(writer.add(part('database:main'), waits(), { signal: never }))
  await new Promise((resolve) => setTimeout(resolve, 20))
  await writer.abandon()
  await writer.abandon()
  await abandoned
  assert.deepEqual(await readdir(root), [])
  await assert.rejects(writer.finish(fields), /cannot be finished/)
  assert.deepEqual(await archives.list(), [])
}
