import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { compress, findZstd } from '../src/compress.ts'
import { openArchiveFolder } from '../src/index.ts'
import { archiveError, chunks, never, part, temporaryFolder, whole } from './temp-archives.ts'

test('zstd is found on the PATH, as a program and nothing else', (t) => {
  const folder = temporaryFolder(t)
  assert.match(findZstd()!, /^\/.*\/zstd$/)
  assert.equal(findZstd(folder), null)
  writeFileSync(join(folder, 'zstd'), '')
  assert.equal(findZstd(folder), null)
  chmodSync(join(folder, 'zstd'), 0o755)
  assert.equal(findZstd(`.::${folder}`), join(folder, 'zstd'))
})

test('a program that dies, complains or stops reading makes no part, however much it wrote before', async (t) => {
  const folder = temporaryFolder(t)
  const program = (body: string) => {
    const file = join(folder, 'zstd')
    writeFileSync(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`, { mode: 0o755 })
    return file
  }
  const bodies = [
    'head -c 100000 | zstd -3 -c -q; kill -KILL $$',
    'head -c 100000 | zstd -3 -c -q; kill -TERM $$',
    'zstd -3 -c -q; echo "Something is wrong." >&2; exit 1',
    'exit 1',
    'head -c 100000 | zstd -3 -c -q; exit 0',
    'exec 0<&-; echo; sleep 0.1; exit 3',
  ]
  for (const body of bodies) {
    const root = join(temporaryFolder(t), 'backups')
    const archives = openArchiveFolder(root, { zstd: program(body) })
    await using writer = await archives.create('bak_0123456789')
    await assert.rejects(
      writer.add(part('files'), chunks(randomBytes(3_000_000)), { signal: never }),
      archiveError('compression_failed'),
      body,
    )
    assert.deepEqual(readdirSync(join(root, '.bak_0123456789.new')), [], body)
  }
  await assert.rejects(
    whole(compress(chunks(randomBytes(10)), { zstd: '/nowhere/zstd', signal: never })),
    archiveError('compression_failed'),
  )
  const complaint = compress(chunks(randomBytes(10)), { zstd: program(bodies[2]!), signal: never })
  await assert.rejects(whole(complaint), /exit code 1 Something is wrong/)
})

test('a program that dies while the content waits is noticed at once', async (t) => {
  const file = join(temporaryFolder(t), 'zstd')
  writeFileSync(file, '#!/bin/sh\nexit 7\n', { mode: 0o755 })
  async function* waits() {
    yield randomBytes(10)
    await new Promise(() => {})
  }
  await assert.rejects(whole(compress(waits(), { zstd: file, signal: never })), /exit code 7/)
})

for (const zstd of [findZstd(), null])
  test(`the content is read no faster than it is written, by ${zstd === null ? 'node:zlib' : 'the program'}`, async () => {
    let given = 0
    async function* endless() {
      for (; given < 1 << 30; given += 1 << 16) yield randomBytes(1 << 16)
    }
    const compressed = compress(endless(), { zstd, signal: never })
    await compressed.next()
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.ok(given < 32 << 20, `${given} bytes were read ahead`)
    await compressed.return(undefined)
    const small = await whole(compress(chunks(Buffer.from('stackquay')), { zstd, signal: never }))
    assert.equal(zstdDecompressSync(small).toString(), 'stackquay')
  })
