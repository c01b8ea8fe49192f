import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TargetError } from '../src/index.ts'
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

test('a folder that goes away while it is used is told as that', async () => {
  await using place = await folderPlace()
  const target = await place.open()
  let away = false
  const goes = setInterval(() => {
    renameSync(
      ...((away ? [`${place.path}-away`, place.path] : [place.path, `${place.path}-away`]) as [string, string]),
    )
    away = !away
  }, 1)
  const told = new Set<unknown>()
  for (let round = 0; round < 300; round += 1)
    await target
      .put(`backups/${round}.age`, Buffer.alloc(1000), never)
      .catch((error: unknown) => told.add(error instanceof TargetError ? error.code : error))
  clearInterval(goes)
  if (away) renameSync(`${place.path}-away`, place.path)
  assert.deepEqual([...told], ['missing'])
})
