import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
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

/** Each makes another archive of a good one, as chance, a broken disk or an attacker would. */
const damages: readonly ((tar: Buffer) => Buffer)[] = [
  // A few bits at once.
  (tar) => {
    const changed = Buffer.from(tar)
    for (let count = 1 + randomInt(8); count > 0; count -= 1) changed[randomInt(tar.length)]! ^= 1 << randomInt(8)
    return changed
  },
  (tar) => tar.subarray(0, randomInt(tar.length - 1024)),
  // Two stretches change places.
  (tar) => {
    const size = 512 * (1 + randomInt(4))
    const [from, to] = [512 * randomInt(tar.length / 512 - 4), 512 * randomInt(tar.length / 512 - 4)]
    const changed = Buffer.from(tar)
    tar.copy(changed, from, to, to + size)
    tar.copy(changed, to, from, from + size)
    return changed
  },
  // A stretch is missing, or comes twice.
  (tar) => {
    const at = 512 * randomInt(tar.length / 512 - 4)
    const more = 512 * (1 + randomInt(3))
    return Buffer.concat([tar.subarray(0, at), tar.subarray(chance() ? at + more : Math.max(0, at - more))])
  },
  // The name of a file leads somewhere.
  (tar) =>
    withHeader(tar, (header) => {
      const names = ['../../etc/cron.d/x', '/etc/passwd', './files.tar.zst', 'files.tar.zst/../../x', 'a\nb', '.', '']
      header.fill(0, 0, 100)
      header.write(names[randomInt(names.length)]!, 0)
    }),
  // It is a link, a device or a folder.
  (tar) => withHeader(tar, (header) => header.write('1234567LKxgS'[randomInt(12)]!, 156)),
  // It says another size, up to terabytes.
  (tar) =>
    withHeader(tar, (header) =>
      header.write(
        `${randomInt(2 ** 33)
          .toString(8)
          .padStart(11, '0')}\0`,
        124,
      ),
    ),
  // A part is a bomb, whose manifest names its size and checksum as stored, and less as content.
  (tar) => withBomb(tar),
]

test('of archives that are damaged in every way at random, none makes another backup, and none leaves anything', async (t) => {
  const { archives, root, id } = await withBackup(t, contents())
  const tar = await whole((await archives.asTar(id)).read())
  const stored = new Map(readdirSync(join(root, id)).map((file) => [file, readFileSync(join(root, id, file))]))
  await archives.remove(id)
  const outside = readdirSync(dirname(root))
  const counts = { refused: 0, harmless: 0, bombs: 0 }
  for (let round = 0; round < rounds(80, 1000); round += 1) {
    const damage = damages[round % damages.length]!
    const uploaded = await archives.upload(chunks(damage(tar)), { signal: never }).catch((error) => {
      assert.ok(error instanceof ArchiveError, String(error?.stack ?? error))
      return null
    })
    if (uploaded === null) {
      counts.refused += 1
      assert.deepEqual(readdirSync(root), [])
      continue
    }
    const isBomb = uploaded.parts.some(({ file }) => !stored.has(file) || !same(uploaded, file))
    if (isBomb) {
      counts.bombs += 1
      // No more of it is unpacked than the manifest names.
      const { id: part, contentBytes } = uploaded.parts.find(({ file }) => !same(uploaded, file))!
      let unpacked = 0
      await assert.rejects(
        async () => {
          for await (const chunk of archives.open(uploaded.id, part)) unpacked += chunk.length
        },
        archiveError('damaged', part),
      )
      assert.ok(unpacked <= contentBytes + (1 << 20), `${unpacked} bytes came out`)
    } else {
      counts.harmless += 1
      await archives.check(uploaded.id)
    }
    await archives.remove(uploaded.id)
  }
  t.diagnostic(
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', '),
  )
  assert.deepEqual(readdirSync(dirname(root)), outside)
  assert.ok(counts.refused > counts.harmless && counts.bombs > 0, JSON.stringify(counts))

  function same({ id: of }: Manifest, file: string): boolean {
    return stored.has(file) && readFileSync(join(root, of, file)).equals(stored.get(file)!)
  }
})

const chance = () => randomInt(2) === 0

/** With the header of one of its files changed, and its checksum right again. */
function withHeader(tar: Buffer, change: (header: Buffer) => void): Buffer {
  const changed = Buffer.from(tar)
  const at = headersOf(tar)
  const start = at[randomInt(at.length)]!
  const header = changed.subarray(start, start + 512)
  change(header)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return changed
}

function headersOf(tar: Buffer): readonly number[] {
  const found: number[] = []
  for (let at = 0; tar[at] !== 0; ) {
    found.push(at)
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8)
    at += 512 + Math.ceil(size / 512) * 512
  }
  return found
}

/** The last part becomes 64 MB of zeros; everything that can be named right is. */
function withBomb(tar: Buffer): Buffer {
  const bomb = zstdCompressSync(Buffer.alloc(64 << 20))
  const [part = 0, manifestAt = 0] = headersOf(tar).slice(-2)
  const manifestSize = Number.parseInt(tar.toString('latin1', manifestAt + 124, manifestAt + 135), 8)
  const manifest = JSON.parse(tar.toString('utf8', manifestAt + 512, manifestAt + 512 + manifestSize))
  Object.assign(manifest.parts.at(-1), {
    bytes: bomb.length,
    sha256: createHash('sha256').update(bomb).digest('hex'),
  })
  const file = (header: Buffer, content: Buffer) => {
    const whole = Buffer.concat([header, content, Buffer.alloc(-content.length & 511)])
    whole.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
    whole.fill(' ', 148, 156)
    const sum = whole.subarray(0, 512).reduce((total, byte) => total + byte, 0)
    whole.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return whole
  }
  return Buffer.concat([
    tar.subarray(0, part),
    file(tar.subarray(part, part + 512), bomb),
    file(tar.subarray(manifestAt, manifestAt + 512), Buffer.from(JSON.stringify(manifest))),
    Buffer.alloc(1024),
  ])
}
