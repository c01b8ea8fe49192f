import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { databaseTypeOf } from '../src/databases/index.ts'
import { momentText } from '../src/databases/postgresql/point-in-time/point-in-time-method.ts'
import { lookScript, pruneScript } from '../src/databases/postgresql/point-in-time/scripts.ts'
import type { ArchiveLook } from '../src/point-in-time-method.ts'

const run = promisify(execFile)
const finished = new Date('2026-11-26T10:00:00Z')

/** A file of the log whose first page says that it is at this place. */
function page(name: string): Buffer {
  const bytes = Buffer.alloc(8192)
  bytes.writeBigUInt64LE(BigInt(`0x${name.slice(8, 16)}${name.slice(22)}000000`), 8)
  return bytes
}

async function folders(t: { after(fn: () => unknown): void }) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-wal-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  const [archive, cluster] = [join(root, "an 'archive"), join(root, 'cluster')]
  await mkdir(join(archive, 'wal'), { recursive: true })
  await mkdir(join(cluster, 'pg_wal', 'archive_status'), { recursive: true })
  const put = async (folder: string, name: string, content: Buffer | string = '') => {
    await writeFile(join(folder, name), content)
    await utimes(join(folder, name), finished, finished)
  }
  const sh = async (script: string, ...words: string[]) =>
    (await run('/bin/sh', ['-c', script, 'x', ...words], { env: { ...process.env, STACKQUAY_ARCHIVE: archive } }))
      .stdout
  return {
    archived: (name: string) => put(join(archive, 'wal'), `${name}.gz`),
    inServer: (name: string, as = name) => put(join(cluster, 'pg_wal'), name, page(as)),
    waits: (name: string) => put(join(cluster, 'pg_wal', 'archive_status'), `${name}.ready`),
    look: async (of = cluster) => JSON.parse(await sh(lookScript, of)) as ArchiveLook,
    prune: (first: string) => sh(pruneScript, first),
    names: async () => (await readdir(join(archive, 'wal'))).sort(),
    put: (name: string) => put(join(archive, 'wal'), name),
  }
}

const piece = (n: number) =>
  `00000001${(n >> 8).toString(16).toUpperCase().padStart(8, '0')}000000${(n & 255).toString(16).toUpperCase().padStart(2, '0')}`

test('what is in the archive and what the server still has are one log, and files for later use are not in it', async (t) => {
  const log = await folders(t)
  for (const n of [253, 254, 255, 256]) await log.archived(piece(n))
  await log.inServer(piece(256))
  await log.inServer(piece(257))
  await log.waits(piece(257))
  // The one that is written, and one that was renamed for later use.
  await log.inServer(piece(258))
  await log.inServer(piece(259), piece(250))
  const { runs, newest, waiting, waitingSince } = await log.look()
  assert.deepEqual(runs, [{ first: piece(253), last: piece(258), endsAt: '2026-11-26T10:00:00Z' }])
  assert.deepEqual([newest, waiting, waitingSince], [piece(258), 1, '2026-11-26T10:00:00Z'])
  const alone = await log.look('')
  assert.deepEqual(
    [alone.runs.map(({ first, last }) => [first, last]), alone.newest],
    [[[piece(253), piece(256)]], null],
  )
})

test('a piece that is missing divides the log; other files are none of it', async (t) => {
  const log = await folders(t)
  for (const n of [1, 2, 4, 5, 9]) await log.archived(piece(n))
  for (const other of ['new', '00000002.history.gz', `${piece(3)}.gz.aside`, `${piece(2)}.00000028.backup.gz`])
    await log.put(other)
  const { runs } = await log.look()
  assert.deepEqual(
    runs.map(({ first, last }) => [first, last]),
    [
      [piece(1), piece(2)],
      [piece(4), piece(5)],
      [piece(9), piece(9)],
    ],
  )
  await log.prune(piece(4))
  assert.deepEqual(
    (await log.names()).filter((name) => /^[0-9A-F]{24}\.gz$/.test(name)),
    [4, 5, 9].map((n) => `${piece(n)}.gz`),
  )
  assert.ok((await log.names()).includes('00000002.history.gz'))
  await log.prune(piece(100))
  assert.deepEqual(
    (await log.names()).filter((name) => /^[0-9A-F]{24}\.gz$/.test(name)),
    [],
  )
})

test('nothing at all is no log', async (t) => {
  const log = await folders(t)
  assert.deepEqual(await log.look(), { runs: [], newest: null, waiting: 0, waitingSince: null })
})

test('a moment is in UTC for the server, with all that it said of fractions', () => {
  assert.equal(momentText('2026-11-26T10:00:00Z'), '2026-11-26 10:00:00+00')
  assert.equal(momentText('2026-11-26T01:30:00.123456+02:00'), '2026-11-25 23:30:00.123456+00')
})

test('versions without a copy of what runs cannot keep changes', () => {
  const { pointInTime } = databaseTypeOf('postgresql')!
  assert.equal(pointInTime?.blocker('15.4'), null)
  assert.match(pointInTime?.blocker('14.9') ?? '', /15 or later/)
})
