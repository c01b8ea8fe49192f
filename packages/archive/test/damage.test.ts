import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { rounds } from '@stackquay/testkit/rounds'
import { ArchiveError, type ArchiveFolder, type Manifest } from '../src/index.ts'
import { archiveError, chunks, never, whole, withBackup } from './temp-archives.ts'

const contents = () => ({
  settings: randomBytes(200),
  files: Buffer.concat([randomBytes(700), Buffer.alloc(5000, 'text ')]),
  'database:main': Buffer.alloc(3000, 'rows '),
  'database:other': Buffer.alloc(3000, 'more '),
})

/** Both ways of reading a part say that it is damaged, and which part. */
async function assertDamaged(archives: ArchiveFolder, id: string, part: string): Promise<void> {
  await assert.rejects(archives.check(id), archiveError('damaged', part))
  await assert.rejects(archives.check(id, [part]), archiveError('damaged', part))
  await assert.rejects(whole(archives.open(id, part)), archiveError('damaged', part))
  await assert.rejects(whole(archives.openStored(id, part)), archiveError('damaged', part))
}

test('of 1000 single bits that flip in the files of parts, each is found, with the part', async (t) => {
  const { archives, root, id } = await withBackup(t, contents())
  const { parts } = (await archives.read(id))!
  for (let round = 0; round < 1000; round += 1) {
    const part = parts[randomInt(parts.length)]!
    const path = join(root, id, part.file)
    const bytes = readFileSync(path)
    const changed = Buffer.from(bytes)
    changed[randomInt(bytes.length)]! ^= 1 << randomInt(8)
    writeFileSync(path, changed)
    await assert.rejects(archives.check(id, [part.id]), archiveError('damaged', part.id))
    // Reading takes longer; on a busy machine a thousand times too long.
    if (round % 4 === 0) await assert.rejects(whole(archives.open(id, part.id)), archiveError('damaged', part.id))
    writeFileSync(path, bytes)
  }
  await archives.check(id)
})

test('a part that is cut off, longer, missing, a link or swapped with another is found, with the part', async (t) => {
  const { archives, root, id } = await withBackup(t, contents())
  const { parts } = (await archives.read(id))!
  const path = (part: Manifest['parts'][number]) => join(root, id, part.file)
  for (const part of parts) {
    const bytes = readFileSync(path(part))
    for (let round = 0; round < 25; round += 1) {
      truncateSync(path(part), randomInt(bytes.length))
      await assertDamaged(archives, id, part.id)
      writeFileSync(path(part), bytes)
    }
    await appendFile(path(part), '!')
    await assertDamaged(archives, id, part.id)
    rmSync(path(part))
    await assertDamaged(archives, id, part.id)
    symlinkSync('/etc/passwd', path(part))
    await assert.rejects(archives.check(id), archiveError('damaged', part.id))
    rmSync(path(part))
    writeFileSync(path(part), bytes)
  }
  const [main, other] = parts.slice(2) as [Manifest['parts'][number], Manifest['parts'][number]]
  const [first, second] = [readFileSync(path(main)), readFileSync(path(other))]
  writeFileSync(path(main), second)
  writeFileSync(path(other), first)
  await assertDamaged(archives, id, main.id)
  await assert.rejects(archives.check(id, [other.id]), archiveError('damaged', other.id))
  await archives.check(id, ['files', 'settings'])
})

test('of single bits that flip in a downloaded archive, none comes back as another backup', async (t) => {
  const { archives, root, id } = await withBackup(t, contents())
  const tar = await whole((await archives.asTar(id)).read())
  const stored = new Map(readdirSync(join(root, id)).map((file) => [file, readFileSync(join(root, id, file))]))
  await archives.remove(id)
  const flips = rounds(100, 1000)
  let refused = 0
  for (let round = 0; round < flips; round += 1) {
    const changed = Buffer.from(tar)
    changed[randomInt(tar.length)]! ^= 1 << randomInt(8)
    const uploaded = await archives.upload(chunks(changed), { signal: never }).catch((error) => {
      assert.ok(error instanceof ArchiveError, String(error?.stack ?? error))
      return null
    })
    if (uploaded === null) {
      refused += 1
      assert.deepEqual(readdirSync(root), [])
      continue
    }
    // A bit of what fills up a block, or a word of the manifest that is for people.
    for (const { file } of uploaded.parts)
      assert.ok(readFileSync(join(root, uploaded.id, file)).equals(stored.get(file)!))
    await archives.check(uploaded.id)
    await archives.remove(uploaded.id)
  }
  assert.ok(refused > flips / 3, `${refused} refused`)
  assert.deepEqual(readdirSync(dirname(root)), ['backups'])
})

test('a downloaded archive that ends early is refused wherever it ends', async (t) => {
  const { archives, root, id } = await withBackup(t, contents())
  const tar = await archives.asTar(id)
  const bytes = await whole(tar.read())
  await archives.remove(id)
  // The last kilobyte is empty, and programs leave some of it out.
  const ends = [
    0,
    1,
    511,
    512,
    513,
    bytes.length - 1025,
    ...Array.from({ length: 100 }, () => randomInt(bytes.length - 1024)),
  ]
  for (const end of ends.filter((end) => end < bytes.lastIndexOf('}\n') + 2)) {
    await assert.rejects(archives.upload(chunks(bytes.subarray(0, end)), { signal: never }), archiveError('invalid'))
    assert.deepEqual(readdirSync(root), [])
  }
})
