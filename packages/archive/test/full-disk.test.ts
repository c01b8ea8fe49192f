import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findZstd } from '../src/compress.ts'
import { openArchiveFolder } from '../src/index.ts'
import { archiveError, chunks, fields, never, part, temporaryFolder, whole, writeBackup } from './temp-archives.ts'

/** A disk of its own, 4 MB small; null where this user may not mount one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-small-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', folder], { stdio: 'pipe' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return null
  }
}

function unmount(folder: string): void {
  execFileSync('umount', [folder])
  rmSync(folder, { recursive: true })
}

test('on a full disk a backup and an upload fail with a clear error, and leave nothing', async (t) => {
  const disk = smallDisk()
  if (disk === null) {
    t.diagnostic('no right to mount a small disk')
    return
  }
  t.after(() => unmount(disk))
  const root = join(disk, 'backups')
  for (const zstd of [findZstd(), null]) {
    const archives = openArchiveFolder(root, { zstd })
    const writer = await archives.create('bak_0123456789')
    await writer.add(part('database:main'), chunks(randomBytes(2_000_000)), { signal: never })
    await assert.rejects(
      writer.add(part('files'), chunks(randomBytes(8_000_000)), { signal: never }),
      archiveError('disk_full'),
    )
    assert.deepEqual(readdirSync(join(root, '.bak_0123456789.new')), ['database-main.tar.zst'])
    // Not even room for the manifest.
    const ballast = join(disk, 'ballast')
    assert.throws(() => writeFileSync(ballast, randomBytes(4_000_000)), { code: 'ENOSPC' })
    await assert.rejects(writer.finish(fields), archiveError('disk_full'))
    assert.deepEqual(await archives.list(), [])
    await writer.abandon()
    assert.deepEqual(readdirSync(root), [])
    rmSync(ballast)
  }
  const elsewhere = openArchiveFolder(join(temporaryFolder(t), 'backups'))
  await writeBackup(elsewhere, 'bak_0123456789', { files: randomBytes(8_000_000) })
  const tar = await elsewhere.asTar('bak_0123456789')
  const archives = openArchiveFolder(root)
  await assert.rejects(archives.upload(tar.read(), { signal: never }), archiveError('disk_full'))
  assert.deepEqual(readdirSync(root), [])
  await writeBackup(archives, 'bak_0123456789', { files: Buffer.from('room again') })
  assert.equal((await whole(archives.open('bak_0123456789', 'files'))).toString(), 'room again')
})
