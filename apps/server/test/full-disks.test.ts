import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Backup, BackupTarget, InstanceBackup, OperationRecord, Problem } from '@stackquay/contract'
import { type SmallDisk, smallDisk, waitFor } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'
import { addFolder, daysOn, nameTargets, untilCopied } from './schedule-targets-support.ts'
import { openScheduled, scheduleOf, setAndWake, untilDays } from './schedules-support.ts'

/** Null, and told, where this user may not mount one. */
function mounted(t: TestContext, options: string): SmallDisk | null {
  const disk = smallDisk(options)
  if (disk === null) t.diagnostic('no right to mount a small disk')
  else t.after(() => disk.unmount())
  return disk
}

async function copied({ ask }: TestApp, backup: string, target: BackupTarget) {
  const body = { target: target.id }
  const { body: answer } = await ask<OperationRecord & Backup>('POST', `/backups/${backup}/copies?wait=60`, body)
  return answer
}

test('a target that runs full says so at each moment of a copy, nothing on it looks like a backup, and there is room later', async (t) => {
  const disk = mounted(t, 'size=200m')
  if (disk === null) return
  const app = await openTestApp(t)
  const target = await addFolder(app, disk.path)
  const { body: project } = await app.ask('POST', '/projects?wait=10', { name: 'Shop' })
  await writeFile(join(project.path, 'data.bin'), randomBytes(20_000_000))
  const { body: backup } = await app.ask<Backup>('POST', '/projects/shop/backups?wait=60')
  const used = 2
  let isWhole = false
  let failures = 0
  // One file more each time: the folders, each piece, the index.
  for (let files = used; !isWhole; files += 1) {
    assert.ok(files < 20)
    disk.change(`nr_inodes=${files}`)
    const answer = await copied(app, backup.id, target)
    isWhole = answer.state === undefined
    assert.deepEqual(await daysOn(app, target), isWhole ? [backup.createdAt.slice(5, 10)] : [])
    if (isWhole) break
    failures += 1
    assert.deepEqual([answer.state, answer.error?.code], ['failed', 'target_full'])
    assert.match(answer.error?.detail ?? '', /There is no room in /)
    const seen = await app.ask<Backup>('GET', `/backups/${backup.id}`)
    assert.notEqual(seen.body.copies[0]?.state, 'complete')
  }
  assert.ok(failures >= 5, String(failures))
  const { body: other } = await app.ask<Backup>('POST', '/projects/shop/backups?wait=60')
  disk.change('nr_inodes=100,size=30m')
  const refused = await copied(app, other.id, target)
  assert.equal(refused.error?.code, 'target_full')
  assert.match(refused.error?.detail ?? '', /The copy needs \d+ bytes, and the target has \d+ free\./)
  assert.equal((await daysOn(app, target)).length, 1)
  assert.equal(readdirSync(join(disk.path, 'pieces')).length, 1, 'nothing was sent of what does not fit')
})

test('a copy by schedule to a target that is full is told, and made up for when there is room', async (t) => {
  const disk = mounted(t, 'size=64m')
  if (disk === null) return
  const { app, clock, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  await writeFile(join(project.path, 'data.bin'), randomBytes(9_000_000))
  const target = await addFolder(app, disk.path)
  await nameTargets(app, [target.id])
  disk.change('size=1m')
  await setAndWake(clock, '2026-05-02T02:29:59.900Z', app)
  await untilDays(app, ['05-02'])
  const [full] = await untilCopied(app, ([copy]) => copy?.state === 'incomplete')
  assert.match(full?.problem ?? '', /^The backup target (is full|has no room)/)
  assert.deepEqual(await daysOn(app, target), [])
  disk.change('size=64m')
  await setAndWake(clock, '2026-05-02T03:31:00Z', app)
  const [copy] = await untilCopied(app, ([one]) => one?.state === 'complete')
  assert.equal(copy?.problem, null)
  assert.equal((await scheduleOf(app)).late, false)
})

test('the disk of the home runs full while backups are made: told, nothing is left, and they are made when there is room', async (t) => {
  const disk = smallDisk('size=500m,mode=0711')
  if (disk === null) return t.diagnostic('no right to mount a small disk')
  const folder = join(disk.path, 'home')
  await mkdir(folder)
  const app = await openTestApp(t, { folder })
  // After the app, which is open on it.
  t.after(() => disk.unmount())
  const { body: project } = await app.ask('POST', '/projects?wait=10', { name: 'Shop' })
  await writeFile(join(project.path, 'data.bin'), randomBytes(60_000_000))
  const names = (of: string) => readdirSync(join(folder, of)).sort()
  const { body: operation } = await app.ask<OperationRecord>('POST', '/projects/shop/backups')
  await waitFor(
    'the backup to be written',
    () => readdirSync(folder).includes('backups') && names('backups').length > 0,
  )
  const ballast = fill(disk)
  // Long enough for the backup to come upon it. Nothing is written down on a full disk: the state shows when there is room.
  await delay(1500)
  rmSync(ballast)
  const ended = await waitFor('the end of the backup', async () => {
    const { body } = await app.ask<OperationRecord>('GET', `/operations/${operation.id}`)
    return body.state !== 'running' && body.state !== 'queued' && body
  })
  assert.deepEqual([ended.state, ended.error?.code], ['failed', 'disk_full'], JSON.stringify(ended.error))
  const { items } = (await app.ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body
  assert.deepEqual([items, names('backups')], [[], []])

  const full = fill(disk)
  const refused = await app.ask<Problem>('POST', '/instance/backups')
  assert.ok(refused.status >= 500, String(refused.status))
  rmSync(full)
  assert.deepEqual((await app.ask<{ items: unknown[] }>('GET', '/instance/backups')).body.items, [])
  assert.equal((await app.ask<InstanceBackup>('POST', '/instance/backups')).status, 201)
  assert.equal((await app.ask<Backup>('POST', '/projects/shop/backups?wait=60')).status, 201)
})

test('a disk of backups alone that is full is told as such, and leaves nothing of a backup', async (t) => {
  const app = await openTestApp(t)
  const { body: project } = await app.ask('POST', '/projects?wait=10', { name: 'Shop' })
  await writeFile(join(project.path, 'data.bin'), randomBytes(9_000_000))
  const small = []
  for (const name of ['backups', 'instance-backups']) {
    await mkdir(join(app.folder, name), { mode: 0o700, recursive: true })
    const disk = smallDisk('size=64k', join(app.folder, name))
    if (disk === null) return t.diagnostic('no right to mount a small disk')
    small.push(disk)
  }
  try {
    const { body: ended } = await app.ask<OperationRecord>('POST', '/projects/shop/backups?wait=60')
    assert.deepEqual([ended.state, ended.error?.code], ['failed', 'disk_full'])
    const refused = await app.ask<Problem>('POST', '/instance/backups')
    assert.equal(refused.body.code, 'disk_full', JSON.stringify(refused.body))
    for (const { path } of small) assert.deepEqual(readdirSync(path), [])
    for (const disk of small) disk.change('size=64m')
    assert.equal((await app.ask('POST', '/instance/backups')).status, 201)
    assert.equal((await app.ask('POST', '/projects/shop/backups?wait=60')).status, 201)
  } finally {
    for (const disk of small) disk.unmount()
  }
})

/** Whatever is free, to the last byte. */
function fill(disk: SmallDisk): string {
  const path = join(disk.path, 'ballast')
  const file = openSync(path, 'w')
  const zeros = Buffer.alloc(1 << 20)
  try {
    for (;;) writeSync(file, zeros)
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  } finally {
    closeSync(file)
  }
  return path
}
