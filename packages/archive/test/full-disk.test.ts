import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { smallDisk } from '@stackquay/testkit'
import { findZstd } from '../src/find-zstd.ts'
import { openArchiveFolder } from '../src/index.ts'
import { archiveError, chunks, fields, never, part, temporaryFolder, whole, writeBackup } from './temp-archives.ts'

test('on a full disk a backup and an upload fail with a clear error, and leave nothing', async (t) => {
  const mounted = smallDisk('size=4m')
  if (mounted === null) {
    t.diagnostic('no right to mount a small disk')
    return
  }
  t.after(() => mounted.unmount())
  const disk = mounted.path
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
