import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { directoryArchive, type TarEntry, tarEntries } from '../src/docker/tar.ts'

const run = promisify(execFile)
const long = 'ä'.repeat(60)
const content = 'x'.repeat(700)
let archive = Buffer.alloc(0)
let folder = ''

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stackquay-tar-'))
  await mkdir(join(folder, 'tree', 'sub', long), { recursive: true })
  await writeFile(join(folder, 'tree', 'a.txt'), content, { mode: 0o640 })
  await writeFile(join(folder, 'tree', 'empty'), '')
  await writeFile(join(folder, 'tree', 'sub', long, `${long}.txt`), 'end')
  await symlink('/etc/passwd', join(folder, 'tree', 'link'))
  const options = { encoding: 'buffer', maxBuffer: 1e7 } as const
  archive = (await run('tar', ['--sort=name', '--format=pax', '-c', '-C', folder, 'tree'], options)).stdout
})
after(() => rm(folder, { recursive: true, force: true }))

test('an archive is read entry by entry, also when it comes byte by byte', async () => {
  const directory = await directoryArchive('main', { mode: 0o750, uid: 48_211, gid: 7 })
  const entries = await Array.fromAsync(tarEntries(bytesOf(directory)), ({ body: _, ...entry }) => entry)
  assert.deepEqual(entries, [{ name: 'main/', kind: 'directory', mode: 0o750, uid: 48_211, gid: 7, size: 0 }])
})

test('what the archive of a directory says is what tar reads from it, with any owner', async () => {
  for (const owner of [
    { mode: 0o700, uid: 999, gid: 999 },
    { mode: 0o700, uid: 262_143, gid: 262_143 },
    { mode: 0o1777, uid: 262_144, gid: 7 },
    { mode: 0o1777, uid: 7, gid: 1_234_567_890 },
  ]) {
    const shown = run('tar', ['--numeric-owner', '-tv'])
    shown.child.stdin?.end(await directoryArchive('data', owner))
    const mode = owner.mode === 0o700 ? 'drwx------' : 'drwxrwxrwt'
    assert.match((await shown).stdout, new RegExp(`^${mode} ${owner.uid}/${owner.gid} +0 1970-01-01 .* data/\n$`))
  }
})

test('files, folders and links are distinguished, and a name may be longer than the field for it', async () => {
  const shown = await Array.fromAsync(tarEntries(bytesOf(archive)), async ({ name, kind, size, body }) => {
    return [name, kind, size, await textOf(body)]
  })
  assert.deepEqual(shown, [
    ['tree/', 'directory', 0, ''],
    ['tree/a.txt', 'file', 700, content],
    ['tree/empty', 'file', 0, ''],
    ['tree/link', 'other', 0, ''],
    ['tree/sub/', 'directory', 0, ''],
    [`tree/sub/${long}/`, 'directory', 0, ''],
    [`tree/sub/${long}/${long}.txt`, 'file', 3, 'end'],
  ])
})

test('a body that is left unread is passed over', async () => {
  const names = await Array.fromAsync(tarEntries(bytesOf(archive)), ({ name }) => name)
  assert.equal(names.length, 7)
})

test('nothing is taken from the source ahead of what is read, and it is ended when the caller stops', async () => {
  const header = await fileHeader(64 * 1024 * 1024)
  let taken = 0
  let ended = false
  async function* source() {
    try {
      yield header
      for (; taken < 64; taken += 1) yield Buffer.alloc(1024 * 1024)
    } finally {
      ended = true
    }
  }
  for await (const { kind } of tarEntries(source())) {
    assert.equal(kind, 'file')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.ok(taken <= 4, `${taken} MB were taken`)
    break
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(ended)
})

test('an archive that ends too early is a fault, within a body and within a header', async () => {
  const cut = (at: number) => tarEntries(bytesOf(archive.subarray(0, at)))
  const header = archive.indexOf(content)
  await assert.rejects(readAll(cut(header + 100)), Error)
  await assert.rejects(readAll(cut(header - 100)), Error)
  await assert.rejects(Array.fromAsync(cut(header + 100)), Error)
})

test('what goes wrong with the source is thrown to the reader', async () => {
  async function* source() {
    yield archive.subarray(0, 600)
    throw new Error('the daemon went away')
  }
  await assert.rejects(readAll(tarEntries(source())), /the daemon went away/)
})

test('what is no archive is refused', async () => {
  await assert.rejects(readAll(tarEntries(bytesOf(Buffer.alloc(2048, 'no archive')))), /Invalid tar header/)
})

async function* bytesOf(buffer: Buffer): AsyncGenerator<Buffer> {
  for (const byte of buffer) yield Buffer.from([byte])
}

async function readAll(entries: AsyncIterable<TarEntry>): Promise<void> {
  for await (const { body } of entries) await textOf(body)
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString()
}

/** The header of a file alone, as tar writes it. */
async function fileHeader(size: number): Promise<Buffer> {
  const path = join(folder, 'sparse')
  await run('truncate', [`--size=${size}`, path])
  const options = { encoding: 'buffer', maxBuffer: size + 1e6 } as const
  return (await run('tar', ['--format=ustar', '-c', '-C', folder, 'sparse'], options)).stdout.subarray(0, 512)
}
