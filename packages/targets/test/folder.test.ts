import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { conformance, never, targetError } from './conformance.ts'
import { folderPlace, temporaryFolder } from './places.ts'

conformance('A folder', folderPlace)

test('a link in a folder is not followed, to write or to read', async () => {
  await using place = await folderPlace()
  const { path: elsewhere, remove } = await temporaryFolder()
  symlinkSync(elsewhere, join(place.path, 'pieces'))
  symlinkSync('/etc/hostname', join(place.path, 'stackquay-key.age'))
  const target = await place.open()
  await assert.rejects(target.put('pieces/0.age', Buffer.from('x'), never), targetError('refused'))
  await assert.rejects(target.get('stackquay-key.age', 1000, never), targetError('refused'))
  assert.deepEqual(readdirSync(elsewhere), [])
  await remove()
})

test('what is no plain file is no object', async () => {
  await using place = await folderPlace()
  mkdirSync(join(place.path, 'backups/folder.age'), { recursive: true })
  const target = await place.open()
  assert.deepEqual(await target.list('backups', never), new Map())
  assert.equal(await target.get('backups/folder.age', 1000, never), null)
})
