import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { header } from '../src/archive-tar.ts'
import { newIdentity, openArchiveFolder, sealSettings } from '../src/index.ts'
import { archiveError, fields, never, part, temporaryFolder } from './temp-archives.ts'

const document = readFileSync(fileURLToPath(new URL('../../../docs/backup-format.md', import.meta.url)), 'utf8')
/** The commands of the document, in its order; what lies on targets is tested with them. */
const commands = [...document.split('## On a target')[0]!.matchAll(/^```sh\n([\s\S]+?)^```$/gm)].map(
  ([, block]) => block!,
)

const settings = { env: { PASSWORD: 'pässword' } }

/** Folders packed by the public tar, as a backup of a project has them. */
async function downloadedBackup(t: TestContext, zstd?: null) {
  const work = temporaryFolder(t)
  const source = join(work, 'source')
  mkdirSync(join(source, 'src'), { recursive: true })
  writeFileSync(join(source, 'src/app.js'), 'console.log(1)\n'.repeat(10_000))
  writeFileSync(join(source, 'random'), randomBytes(300_000))
  symlinkSync('src/app.js', join(source, 'main.js'))
  const tar = execFileSync('tar', ['-C', source, '-c', '.'], { maxBuffer: 8 << 20 })
  async function* content() {
    yield tar
  }

  const archives = openArchiveFolder(join(work, 'backups'), zstd === null ? { zstd } : {})
  const { identity, recipient } = await newIdentity()
  await using writer = await archives.create('bak_0123456789')
  await writer.addSealed(part('settings'), await sealSettings(settings, [recipient]))
  await writer.add(part('files'), content(), { signal: never, warnings: ['"file": "no part"'] })
  await writer.add(part('database:main'), content(), { signal: never })
  writer.describe('database:main', { contents: { tables: { file: 'x', sha256: 'y' } } })
  await writer.finish(fields)

  const folder = join(work, 'unpacked')
  mkdirSync(folder)
  const file = await open(join(folder, 'backup.tar'), 'wx')
  for await (const chunk of (await archives.asTar('bak_0123456789')).read()) await file.write(chunk)
  await file.close()
  writeFileSync(join(folder, 'key.txt'), `${identity}\n`)
  return { archives, source, folder }
}

for (const zstd of [undefined, null])
  test(`a backup opens by the commands of its document, compressed by ${zstd === null ? 'node:zlib' : 'the program'}`, async (t) => {
    const { archives, source, folder } = await downloadedBackup(t, zstd)
    assert.equal(commands.length, 5)
    const output = commands.map((command) =>
      execFileSync('sh', ['-e', '-c', command], { cwd: folder, encoding: 'utf8' }),
    )
    assert.equal(output[0], 'settings.json.age: OK\nfiles.tar.zst: OK\ndatabase-main.tar.zst: OK\n')
    for (const name of ['files', 'database-main'])
      execFileSync('diff', ['--no-dereference', '-r', source, join(folder, name)])
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8')), settings)

    const again = await open(join(folder, 'again.tar'))
    t.after(() => again.close())
    const upload = () => archives.upload(again.createReadStream({ start: 0, autoClose: false }), { signal: never })
    await assert.rejects(upload(), archiveError('exists'))
    await archives.remove('bak_0123456789')
    assert.equal((await upload()).parts.length, 3)
  })

test('checksums of the document find a part that changed', async (t) => {
  const { folder } = await downloadedBackup(t)
  execFileSync('tar', ['-xf', 'backup.tar'], { cwd: folder })
  writeFileSync(join(folder, 'files.tar.zst'), 'other')
  rmSync(join(folder, 'backup.tar'))
  const check = commands[0]!.replace('tar -xf backup.tar\n', '')
  assert.throws(
    () => execFileSync('sh', ['-e', '-c', check], { cwd: folder, stdio: 'pipe' }),
    /1 computed checksum did NOT match/,
  )
})

test('a part above 8 GiB has a header that tar reads, and ranges count behind it', async (t) => {
  const root = join(temporaryFolder(t), 'backups')
  const archives = openArchiveFolder(root)
  await using writer = await archives.create('bak_0123456789')
  await writer.addSealed(part('files'), Buffer.of())
  await writer.finish(fields)
  // A file with a hole: written for real it would take minutes.
  const size = 9 * 2 ** 30 + 1
  const folder = join(root, 'bak_0123456789')
  const manifest = readFileSync(join(folder, 'manifest.json'), 'utf8')
  writeFileSync(join(folder, 'manifest.json'), manifest.replaceAll(/ytes": 0,/g, `ytes": ${size},`))
  await truncateTo(join(folder, 'files.json.age'), size)

  const tar = await archives.asTar('bak_0123456789')
  const copy = await open(join(root, 'copy.tar'), 'wx')
  const manifestAt = 512 + size + 511
  for (const [from, to] of [
    [0, 1024],
    [manifestAt - 600, tar.size],
  ] as const) {
    let at = from
    for await (const chunk of tar.read(from, to)) at += (await copy.write(chunk, 0, chunk.length, at)).bytesWritten
    assert.equal(at, to)
  }
  await copy.close()
  const listed = execFileSync('tar', ['-tvf', join(root, 'copy.tar')], { encoding: 'utf8', env: { TZ: 'UTC' } })
  assert.match(
    listed,
    new RegExp(`^-rw------- 0/0 +${size} 2026-03-01 10:00 files\\.json\\.age\\n-rw------- .* manifest\\.json\\n$`),
  )
})

async function truncateTo(path: string, size: number): Promise<void> {
  const file = await open(path, 'r+')
  await file.truncate(size)
  await file.close()
}

test('a header is one block, for the longest name and the largest size', async () => {
  for (const size of [0, 2 ** 33 - 1, 2 ** 33, Number.MAX_SAFE_INTEGER]) {
    const block = await header(`database-${'a'.repeat(41)}.tar.zst`, size, new Date(0x7fff_ffff * 1000))
    assert.equal(block.length, 512)
  }
})
