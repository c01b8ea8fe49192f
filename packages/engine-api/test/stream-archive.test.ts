import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { archiveOfStream, checkedArchive, EngineError, streamOfArchive } from '../src/index.ts'

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}

/** Entries of an archive with small pieces, the end apart. */
async function entriesOf(bytes: Buffer, piece: number): Promise<Buffer[]> {
  const archive = await whole(archiveOfStream(inChunks(bytes, 7), piece))
  const entries: Buffer[] = []
  for (let at = 0; at + 1024 < archive.length; ) {
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
    const length = 512 + Math.ceil(size / 512) * 512
    entries.push(archive.subarray(at, at + length))
    at += length
  }
  return entries
}

const end = Buffer.alloc(1024)

test('a stream of any length comes back as it was, through archives of any chunks that were checked on the way', async () => {
  for (const length of [0, 1, 511, 512, 5000, 70_000])
    for (const piece of [512, 1000, 65_536]) {
      const bytes = randomBytes(length)
      const archive = await whole(checkedArchive(archiveOfStream(inChunks(bytes, 333), piece)))
      for (const size of [1, 700, 1 << 20])
        assert.ok(
          (await whole(streamOfArchive(inChunks(archive, size === 1 && length > 5000 ? 3 : size)))).equals(bytes),
        )
    }
})

test('the order of its files is none of it', async () => {
  const bytes = randomBytes(5000)
  const entries = await entriesOf(bytes, 600)
  const archive = Buffer.concat([...entries.toReversed(), end])
  assert.ok((await whole(streamOfArchive(inChunks(archive, 4096)))).equals(bytes))
  await assert.rejects(whole(streamOfArchive(inChunks(archive, 4096), { mostWaiting: 2000 })), /another order/)
})

test('what is missing, cut off or another one is found', async () => {
  const entries = await entriesOf(randomBytes(5000), 600)
  const without = (at: number) => Buffer.concat([...entries.filter((_, index) => index !== at), end])
  for (const archive of [
    ...entries.slice(1).map((_, at) => without(at + 1)),
    Buffer.concat(entries.slice(0, 3)).subarray(0, 900),
    Buffer.alloc(0),
    randomBytes(2048),
  ])
    await assert.rejects(
      whole(streamOfArchive(inChunks(archive, 4096))),
      (error) => error instanceof EngineError && error.code === 'invalid_archive',
    )
})

test('an error of its source is thrown as it is', async () => {
  const failing = async function* () {
    yield Buffer.from('some')
    throw new RangeError('gone')
  }
  await assert.rejects(whole(archiveOfStream(failing())), RangeError)
  await assert.rejects(whole(streamOfArchive(failing())), RangeError)
})
