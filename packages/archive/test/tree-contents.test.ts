import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { chmod, link, mkdir, mkdtemp, open, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { type TreeContents, treeContents } from '../src/tree-contents.ts'

/** Archives of GNU tar, as backups of files are made. */
describe('what is in a folder', () => {
  let root: string
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'stackquay-tree-'))
  })
  after(() => rm(root, { recursive: true, force: true }))

  const folder = async () => {
    const path = await mkdtemp(join(root, 'tree-'))
    await mkdir(join(path, 'deep', 'er'), { recursive: true })
    await writeFile(join(path, 'empty'), '')
    await writeFile(join(path, 'small'), 'small')
    await writeFile(join(path, 'exact'), Buffer.alloc(8192, 'x'))
    await writeFile(join(path, 'large'), Buffer.alloc(300_001, 'quay '))
    await writeFile(join(path, 'twin'), 'small')
    await writeFile(join(path, 'deep', 'er', 'Zeile\numbruch 🚢'), 'odd')
    await writeFile(join(path, 'deep', `${'long-'.repeat(45)}name`), 'long')
    await symlink('small', join(path, 'link'))
    await symlink('far/'.repeat(40), join(path, 'long link'))
    await link(join(path, 'large'), join(path, 'hard'))
    const sparse = await open(join(path, 'sparse'), 'w')
    // More pieces than one header holds, at odd places.
    for (let n = 0; n < 60; n += 1) await sparse.write(`piece ${n}`, n * 1_000_003)
    await sparse.truncate(70_000_000)
    await sparse.close()
    return path
  }
  const found = async (path: string, options: readonly string[] = ['-S'], chunk = 0): Promise<TreeContents> => {
    const tar = spawn('tar', ['--format=gnu', ...options, '-C', path, '-cf', '-', '.'])
    const contents = treeContents()
    for await (const _ of contents.of(inChunks(tar.stdout, chunk)));
    return contents.found()
  }

  it('is the same whether holes are kept, in whatever order, and however its archive is cut', async () => {
    const path = await folder()
    const whole = await found(path)
    assert.deepEqual({ ...whole, checksum: '' }, { files: 9, folders: 2, links: 2, bytes: 70_308_210, checksum: '' })
    assert.deepEqual(await found(path, []), whole)
    assert.deepEqual(await found(path, ['-S', '--sort=name']), whole)
    assert.deepEqual(await found(path, ['-S', '--sort=inode']), whole)
    for (const size of [7, 511, 513, 4097]) assert.deepEqual(await found(path, ['-S'], size), whole, `${size}`)
    const copy = join(root, 'copy')
    execFileSync('cp', ['-a', '--sparse=never', path, copy])
    assert.deepEqual(await found(copy), whole)
  })

  const faults: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    'a file that is missing': (path) => rm(join(path, 'small')),
    'one of two equal files that is missing': (path) => rm(join(path, 'twin')),
    'a file that was cut off': (path) => truncate(join(path, 'large'), 300_000),
    'a byte that is another one': async (path) => {
      const file = await open(join(path, 'large'), 'r+')
      await file.write('X', 123_456)
      await file.close()
    },
    'a byte in a hole': async (path) => {
      const file = await open(join(path, 'sparse'), 'r+')
      await file.write('X', 65_000_000)
      await file.close()
    },
    'a piece that lies elsewhere': async (path) => {
      const file = await open(join(path, 'sparse'), 'r+')
      await file.write('\0'.repeat(8), 59 * 1_000_003)
      await file.write('piece 59', 62_000_000)
      await file.close()
      await file.close()
    },
    'another mode': (path) => chmod(join(path, 'small'), 0o755),
    'another name': (path) => rename(join(path, 'small'), join(path, 'smaller')),
    'another long name': (path) =>
      rename(join(path, 'deep', `${'long-'.repeat(45)}name`), join(path, 'deep', `${'long-'.repeat(45)}nam3`)),
    'a link that leads elsewhere': async (path) => {
      await rm(join(path, 'link'))
      await symlink('large', join(path, 'link'))
    },
    'a long link that leads elsewhere': async (path) => {
      await rm(join(path, 'long link'))
      await symlink(`${'far/'.repeat(40)}x`, join(path, 'long link'))
    },
    'a folder that is missing': (path) => rm(join(path, 'deep', 'er'), { recursive: true }),
  }
  for (const [what, plant] of Object.entries(faults)) {
    it(`differs by ${what}`, async () => {
      const path = await folder()
      const whole = await found(path)
      await plant(path)
      assert.notDeepEqual(await found(path), whole)
    })
  }

  it('counts a database, whose copies differ, and compares no byte of it', async () => {
    const path = await folder()
    const fill = (rows: number) => {
      const database = new DatabaseSync(join(path, 'app.sqlite'))
      database.exec('CREATE TABLE IF NOT EXISTS notes (text)')
      for (let n = 0; n < rows; n += 1) database.exec("INSERT INTO notes VALUES ('note')")
      database.close()
    }
    fill(1)
    const first = await found(path)
    fill(1)
    assert.deepEqual(await found(path), first)
    assert.equal(first.files, 10)
  })
})

async function* inChunks(source: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  if (size === 0) return yield* source
  for await (const chunk of source) for (let at = 0; at < chunk.length; at += size) yield chunk.subarray(at, at + size)
}
