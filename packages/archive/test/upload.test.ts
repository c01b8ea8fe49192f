import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Headers, pack } from 'tar-stream'
import type { ArchiveFolder } from '../src/index.ts'
import { archiveError, chunks, fields, never, whole, withBackup } from './temp-archives.ts'

interface Entry extends Partial<Headers> {
  readonly name: string
  readonly body?: Buffer
  /** Extended fields; the types of the library do not know them. */
  readonly pax?: Readonly<Record<string, string>>
}

async function tar(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack()
  for (const { body, ...header } of entries) archive.entry(header as Headers, body ?? Buffer.of())
  archive.finalize()
  return whole(archive as AsyncIterable<Buffer>)
}

const content = randomBytes(5000)
const files: Entry = { name: 'files.tar.zst', body: content }
const partEntry = {
  file: 'files.tar.zst',
  id: 'files',
  title: 'Files',
  type: 'files',
  version: null,
  method: 'copy',
  bytes: content.length,
  contentBytes: 9000,
  sha256: createHash('sha256').update(content).digest('hex'),
  takenAt: fields.createdAt,
  warnings: [],
}
const good = { format: 'stackquay-backup', formatVersion: 1, id: 'bak_0123456789', ...fields, parts: [partEntry] }

function manifest(more: object = {}): Entry {
  return { name: 'manifest.json', body: Buffer.from(JSON.stringify({ ...good, ...more })) }
}

/** A header alone, which may say anything. */
async function header(entry: Entry, change: (block: Buffer) => void): Promise<Buffer> {
  const block = Buffer.from((await tar([entry])).subarray(0, 512))
  change(block)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

async function emptyFolder(t: TestContext) {
  const { archives, root, id } = await withBackup(t, {})
  await archives.remove(id)
  return { archives, root }
}

const upload = (archives: ArchiveFolder, bytes: Buffer, maxBytes?: number) =>
  archives.upload(chunks(bytes, 777), maxBytes === undefined ? { signal: never } : { signal: never, maxBytes })

test('the archive of these tests is taken when nothing is wrong with it', async (t) => {
  const { archives, root } = await emptyFolder(t)
  const bytes = await tar([files, manifest()])
  assert.equal((await upload(archives, bytes, bytes.length)).id, 'bak_0123456789')
  await archives.check('bak_0123456789')
  assert.deepEqual(readdirSync(root), ['bak_0123456789'])
})

test('hostile archives are refused, and nothing of them is left anywhere', async (t) => {
  const { archives, root } = await emptyFolder(t)
  const outside = readdirSync(dirname(root))
  const wrong: readonly (readonly [string, readonly Entry[], Parameters<typeof archiveError>[0]])[] = [
    ['absolute name', [files, { name: '/tmp/files.tar.zst', body: content }, manifest()], 'invalid'],
    ['name that leads out', [{ name: '../files.tar.zst', body: content }, manifest()], 'invalid'],
    ['name in a folder', [{ name: './files.tar.zst', body: content }, manifest()], 'invalid'],
    ['folder', [{ name: 'files', type: 'directory' }, files, manifest()], 'invalid'],
    ['long name', [{ name: `${'a/'.repeat(200)}x`, body: content }, manifest()], 'invalid'],
    ['name of a part with dots', [{ name: 'database-...tar.zst', body: content }, manifest()], 'invalid'],
    ['symbolic link', [{ name: 'files.tar.zst', type: 'symlink', linkname: '/etc/passwd' }, manifest()], 'invalid'],
    ['hard link', [{ name: 'files.tar.zst', type: 'link', linkname: '/etc/passwd' }, manifest()], 'invalid'],
    ['device', [{ name: 'files.tar.zst', type: 'block-device', devmajor: 8, devminor: 0 }, manifest()], 'invalid'],
    ['named pipe', [{ name: 'files.tar.zst', type: 'fifo' }, manifest()], 'invalid'],
    ['link as manifest', [files, { name: 'manifest.json', type: 'symlink', linkname: '/etc/passwd' }], 'invalid'],
    ['name twice', [files, files, manifest()], 'invalid'],
    ['two manifests', [files, manifest(), manifest()], 'invalid'],
    ['manifest first', [manifest(), files], 'invalid'],
    ['no manifest', [files], 'invalid'],
    ['nothing', [], 'invalid'],
    ['a file that is not named', [files, { name: 'service-redis.tar.zst', body: content }, manifest()], 'invalid'],
    [
      'more files than parts can be',
      Array.from({ length: 201 }, (_, index) => ({ name: `database-a${index}.tar.zst` })),
      'invalid',
    ],
    ['missing part', [manifest()], 'damaged'],
    ['another size', [{ ...files, body: content.subarray(1) }, manifest()], 'damaged'],
    [
      'another checksum',
      [
        { ...files, body: Buffer.from(content).fill(0, 0, 1) },
        manifest({ parts: [{ ...partEntry, sha256: '0'.repeat(64) }] }),
      ],
      'damaged',
    ],
    ['a later format', [files, manifest({ formatVersion: 2 })], 'newer'],
    ['an id that is a path', [files, manifest({ id: '../../etc/cron.d' })], 'damaged'],
    ['an id in capitals', [files, manifest({ id: 'bak_ABCDEFGHIJ' })], 'damaged'],
    ['nesting of 1 MB', [files, { name: 'manifest.json', body: Buffer.alloc(1 << 20, '[') }], 'damaged'],
    ['manifest of 5 MB', [files, { name: 'manifest.json', body: Buffer.alloc(5 << 20, ' ') }], 'invalid'],
    ['no JSON', [files, { name: 'manifest.json', body: Buffer.from('{') }], 'damaged'],
  ]
  for (const [what, entries, code] of wrong) {
    await assert.rejects(upload(archives, await tar(entries)), archiveError(code), what)
    assert.deepEqual(readdirSync(root), [], what)
  }
  assert.deepEqual(readdirSync(dirname(root)), outside)
})

test('headers that lie about sizes are refused before anything of that size is kept', async (t) => {
  const { archives, root } = await emptyFolder(t)
  const end = await tar([manifest()])
  const sizes: Record<string, (block: Buffer) => void> = {
    'eight gigabytes': (block) => block.write('77777777777 ', 124),
    'the largest there is': (block) => block.fill(0xff, 125, 136).writeUInt8(0x80, 124),
    negative: (block) => block.fill(0xff, 124, 136),
    'no number': (block) => block.write('zzzzzzzzzzz ', 124),
  }
  for (const [what, change] of Object.entries(sizes)) {
    const bytes = Buffer.concat([await header(files, change), content, end])
    await assert.rejects(upload(archives, bytes, 100_000), what)
    assert.deepEqual(readdirSync(root), [], what)
  }
  const [pax, global] = [await paxOf('x', 3 << 30), await paxOf('g', 3 << 30)]
  for (const block of [pax, global]) {
    let taken = 0
    async function* endless() {
      yield block
      for (; ; taken += 1 << 16) yield Buffer.alloc(1 << 16, 'a')
    }
    await assert.rejects(archives.upload(endless(), { signal: never }), archiveError('invalid'))
    assert.ok(taken <= 4 << 20, `${taken} bytes of a header were read`)
  }
  for (const size of ['-1', '99999999999999999999', 'x'])
    await assert.rejects(
      upload(archives, await tar([{ ...files, pax: { size } }, manifest()]), 100_000),
      (error: Error) => error.name === 'ArchiveError',
    )
  assert.deepEqual(readdirSync(root), [])
})

function paxOf(type: string, size: number): Promise<Buffer> {
  return header({ name: 'pax', body: Buffer.alloc(1) }, (block) => {
    block.write(`${size.toString(8).padStart(11, '0')} `, 124)
    block.write(type, 156)
  })
}

test('an upload takes no more than it may, ends when its source fails, and when it is aborted', async (t) => {
  const { archives, root } = await emptyFolder(t)
  const bytes = await tar([files, manifest()])
  await assert.rejects(upload(archives, bytes, 4000), archiveError('too_large'))
  await assert.rejects(upload(archives, bytes, bytes.length - 1), archiveError('too_large'))
  async function* breaks() {
    yield bytes.subarray(0, 3000)
    throw new Error('The connection broke.')
  }
  await assert.rejects(archives.upload(breaks(), { signal: never }), /The connection broke/)
  for (const length of [0, 100, 512, 3000, bytes.length - 512]) {
    async function* waits() {
      yield bytes.subarray(0, length)
      await new Promise(() => {})
    }
    const abort = new AbortController()
    const uploading = archives.upload(waits(), { signal: abort.signal })
    await sleep(20)
    abort.abort(new Error('Cancelled.'))
    await assert.rejects(uploading, /Cancelled/)
  }
  assert.deepEqual(readdirSync(root), [])
})

test('of two uploads of one backup at the same time one is kept whole', async (t) => {
  const { archives, root } = await emptyFolder(t)
  const bytes = await tar([files, manifest()])
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => upload(archives, bytes)))
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
  for (const outcome of outcomes) if (outcome.status === 'rejected') archiveError('exists')(outcome.reason)
  await archives.check('bak_0123456789')
  assert.deepEqual(readdirSync(root), ['bak_0123456789'])
})
