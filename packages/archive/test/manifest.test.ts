import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createZstdCompress, constants as zlib, zstdCompressSync } from 'node:zlib'
import { type Manifest, openArchiveFolder } from '../src/index.ts'
import { archiveError, fields, temporaryFolder, whole, withBackup } from './temp-archives.ts'

test('a backup of a later format is refused by name, and never swept', async (t) => {
  const { archives, root, id } = await withBackup(t, { files: randomBytes(10) })
  const file = join(root, id, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...manifest, formatVersion: 2, unheardOf: true }))
  await assert.rejects(archives.read(id), (error: Error) => {
    assert.match(error.message, /format version 2; this version of Stackquay reads up to 1\. Update/)
    return archiveError('newer', null)(error)
  })
  const unreadable: string[] = []
  assert.deepEqual(await archives.list((name) => unreadable.push(name)), [])
  assert.deepEqual(unreadable, [id])
  assert.deepEqual(await archives.sweep(), [])
})

test('what is not exactly a manifest is refused, whatever is wrong with it', async (t) => {
  const { archives, root, id } = await withBackup(t, { files: randomBytes(10), 'database:main': randomBytes(10) })
  const file = join(root, id, 'manifest.json')
  const good = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  const [files, database] = good.parts
  const withParts = (...parts: unknown[]) => JSON.stringify({ ...good, parts })
  const wrong: Record<string, string> = {
    empty: '',
    'no JSON': '{"format":',
    'no object': 'null',
    'another format': JSON.stringify({ ...good, format: 'zip' }),
    'another id': JSON.stringify({ ...good, id: 'bak_aaaaaaaaaa' }),
    'an unknown field': JSON.stringify({ ...good, more: 1 }),
    'a part twice': withParts(files, files),
    'a name outside': withParts({ ...files, file: '../files.tar.zst' }),
    'an absolute name': withParts({ ...files, file: '/etc/passwd' }),
    'the file of another part': withParts({ ...files, file: database!.file }, database),
    'the manifest as a part': withParts({ ...files, file: 'manifest.json' }),
    'a negative size': withParts({ ...files, bytes: -1 }),
    'a size that is no number': withParts({ ...files, contentBytes: 1e300 }),
    'an id that is a path': withParts({ ...files, id: 'database:../../x', file: 'database-../../x.tar.zst' }),
    'nested 1 MB deep': `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    'nested deep in the contents of a part': withParts({
      ...files,
      contents: { a: JSON.parse('['.repeat(50) + ']'.repeat(50)) as unknown },
    }),
    'too large': JSON.stringify({ ...good, note: 'x'.repeat(5 << 20) }),
  }
  for (const [what, text] of Object.entries(wrong)) {
    writeFileSync(file, text)
    await assert.rejects(archives.read(id), archiveError('damaged', null), what)
  }
  writeFileSync(file, withParts({ ...files, contents: JSON.parse('{"__proto__": {"polluted": 1}}') as unknown }))
  await archives.read(id)
  assert.equal(({} as { polluted?: number }).polluted, undefined)
  rmSync(file)
  assert.equal(await archives.read(id), null)
  assert.deepEqual(await archives.list(), [])
  assert.deepEqual(await archives.sweep(), [id])
})

test('content that is larger or smaller than the manifest names is damage, and a bomb is not unpacked', async (t) => {
  const { archives, root, id } = await withBackup(t, { files: Buffer.alloc(1000, 'x') })
  const bomb = zstdCompressSync(Buffer.alloc(64 << 20))
  const small = zstdCompressSync(Buffer.alloc(999))
  const twice = Buffer.concat([small, zstdCompressSync(Buffer.of(1))])
  const trailing = Buffer.concat([small, Buffer.from('and more')])
  const wide = await whole(
    Readable.from([randomBytes(500), randomBytes(500)]).pipe(
      createZstdCompress({ params: { [zlib.ZSTD_c_windowLog]: 27 } }),
    ),
  )
  const setPart = (bytes: Buffer, contentBytes: number) => {
    const file = join(root, id, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const parts = [{ ...manifest.parts[0], bytes: bytes.length, contentBytes, sha256 }]
    writeFileSync(file, JSON.stringify({ ...manifest, parts }))
    writeFileSync(join(root, id, 'files.tar.zst'), bytes)
  }
  setPart(bomb, 1000)
  await archives.check(id)
  let unpacked = 0
  await assert.rejects(
    async () => {
      for await (const chunk of archives.open(id, 'files')) unpacked += chunk.length
    },
    archiveError('damaged', 'files'),
  )
  assert.ok(unpacked <= 1000, `${unpacked} bytes of the bomb`)
  for (const [bytes, contentBytes] of [
    [small, 1000],
    [trailing, 999],
    [bomb.subarray(0, -5), 64 << 20],
    [Buffer.from('plain'), 5],
    [Buffer.of(), 5],
    [wide, 1000],
  ] as const) {
    setPart(bytes, contentBytes)
    await archives.check(id)
    await assert.rejects(whole(archives.open(id, 'files')), archiveError('damaged', 'files'), `${bytes.length}`)
  }
  setPart(small, 999)
  assert.equal((await whole(archives.open(id, 'files'))).length, 999)
  setPart(twice, 1000)
  assert.equal(
    (await whole(archives.open(id, 'files'))).length,
    1000,
    'frames one after the other are one content, as for the program',
  )
})

test('a manifest that could not be read again is never written', async (t) => {
  const archives = openArchiveFolder(join(temporaryFolder(t), 'backups'))
  await using writer = await archives.create('bak_0123456789')
  await assert.rejects(writer.finish({ ...fields, createdAt: 'today' }))
  assert.deepEqual(await archives.list(), [])
  assert.equal((await writer.finish(fields)).parts.length, 0)
})
