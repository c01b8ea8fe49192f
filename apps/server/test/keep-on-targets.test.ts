import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Backup, BackupTarget, DiagnosticCheck, OperationRecord, Problem } from '@stackquay/contract'
import { spawnTracked } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'
import { addFolder, are, daysOn, nameTargets, newFolder, path, untilCopied } from './schedule-targets-support.ts'
import {
  audited,
  nightly,
  openScheduled,
  scheduleOf,
  setAndWake,
  type testClock,
  untilDays,
} from './schedules-support.ts'

const one = { last: 1, daily: 0, weekly: 0, monthly: 0 }

/** A night after which its backup is made and copied. */
async function night(app: TestApp, clock: ReturnType<typeof testClock>, day: string, days: readonly string[]) {
  await setAndWake(clock, `2026-${day}T02:29:59.900Z`, app)
  await untilDays(app, days)
  return untilCopied(app, (copies) => are('complete')(copies) && copies[0]!.at!.startsWith(`2026-${day}`))
}

async function copyByHand({ ask }: TestApp, backup: string, { id }: BackupTarget): Promise<void> {
  const { status, body } = await ask('POST', `/backups/${backup}/copies?wait=60`, { target: id })
  assert.equal(status, 200, JSON.stringify(body))
}

const backupOf = async ({ ask }: TestApp, day: string): Promise<Backup> =>
  (await ask<{ items: Backup[] }>('GET', '/projects/shop/backups')).body.items.find(
    ({ source, createdAt }) => source === 'schedule' && createdAt.includes(day),
  )!

const piecesIn = (folder: string) => readdir(join(folder, 'pieces')).catch(() => [])

test('old copies by schedule go after a new one is complete; those by hand and those of other instances stay', async (t) => {
  const { app, clock, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id], { keepOnTargets: one })
  await night(app, clock, '05-02', ['05-02'])
  await night(app, clock, '05-03', ['05-02', '05-03'])
  assert.deepEqual(await daysOn(app, target), ['05-03'])
  assert.deepEqual((await piecesIn(folder)).length, 1)
  const gone = await backupOf(app, '05-02')
  assert.deepEqual(gone.copies, [])
  const [entry] = await audited(app, 'backup.copy.delete')
  assert.deepEqual([entry?.actor, entry?.target, entry?.project], ['system', `shop/${gone.id}`, project.id])

  // What a person copies stays, also of a schedule; and what another instance copied with its own schedule of the same project.
  await copyByHand(app, gone.id, target)
  const other = await openTestApp(t)
  const passphrase = 'the passphrase of both'
  const shared = await addShared(t, [app, other], passphrase)
  await nameTargets(app, [target.id, shared.of(app).id], { keepOnTargets: one })
  await night(app, clock, '05-04', ['05-02', '05-03', '05-04'])
  const params = `/backup-targets/${shared.of(other).id}`
  const backup = await backupOf(app, '05-04')
  assert.equal((await other.ask('POST', `${params}/fetch?wait=60`, { backup: backup.id })).status, 201)
  await app.ask('DELETE', `/backup-targets/${shared.of(app).id}/backups/${backup.id}?confirm=${backup.id}&wait=60`)
  await copyByHand(other, backup.id, shared.of(other))
  await night(app, clock, '05-05', ['05-02', '05-03', '05-04', '05-05'])
  assert.deepEqual(await daysOn(app, target), ['05-02', '05-05'])
  assert.deepEqual(await daysOn(app, shared.of(app)), ['05-04', '05-05'])
  assert.equal(
    (await scheduleOf(app)).copies.every(({ keepProblem }) => keepProblem === null),
    true,
  )
})

test('pieces that a lost instance left go after the next copy, and are on record', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id], { keepOnTargets: one })
  const left = join(folder, 'pieces', 'a'.repeat(40))
  await mkdir(left, { recursive: true })
  await writeFile(join(left, '000000.age'), 'half a copy')
  const lastWeek = Date.now() / 1000 - 8 * 24 * 3600
  await utimes(join(left, '000000.age'), lastWeek, lastWeek)
  await night(app, clock, '05-02', ['05-02'])
  assert.equal((await piecesIn(folder)).length, 1)
  const [entry] = await audited(app, 'backup.copy.delete')
  assert.deepEqual(
    [entry?.actor, entry?.target, entry?.changes],
    ['system', 'shop', { target: target.id, name: target.name, unfinished: 1 }],
  )
})

async function addShared(t: TestContext, apps: readonly TestApp[], passphrase: string) {
  const folder = await newFolder(t)
  const added = new Map<TestApp, BackupTarget>()
  for (const app of apps) {
    const body = { name: 'Shared', folder: { path: folder }, passphrase }
    const made = await app.ask<BackupTarget>('POST', '/backup-targets', body)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    added.set(app, made.body)
  }
  return { of: (app: TestApp) => added.get(app)! }
}

test('a deletion that was cut off left no backup, and the next copy removes the rest; one that had not begun leaves a whole one', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id])
  await night(app, clock, '05-02', ['05-02'])
  const [index = ''] = await readdir(join(folder, 'backups'))
  await night(app, clock, '05-03', ['05-02', '05-03'])
  const [first, second] = [await backupOf(app, '05-02'), await backupOf(app, '05-03')]
  // As kills leave it: after the index went, and before it.
  await app.store.transaction(async (tx) => {
    await tx.backupTargets.putLeftover(target.id, first.id)
    await tx.backupTargets.putLeftover(target.id, second.id)
  })
  await rm(join(folder, 'backups', index))
  assert.deepEqual(await daysOn(app, target), ['05-03'])
  const again = await app.reopen({ now: clock.now })
  assert.equal((await piecesIn(folder)).length, 2)
  await night(again, clock, '05-04', ['05-02', '05-03', '05-04'])
  assert.deepEqual(await daysOn(again, target), ['05-03', '05-04'])
  assert.equal((await piecesIn(folder)).length, 2, 'what was left of the first')
  assert.deepEqual(await again.store.backupTargets.leftovers(target.id), [])
})

test('what was sent of a copy whose backup was deleted here is removed by the next copy', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id])
  await night(app, clock, '05-02', ['05-02'])
  const given = await backupOf(app, '05-02')
  await rm(join(folder, 'backups'), { recursive: true })
  await app.store.transaction((tx) => tx.backupTargets.putCopy(target.id, given.id, 'incomplete'))
  assert.equal((await app.ask('DELETE', `/backups/${given.id}`)).status, 204)
  await night(app, clock, '05-03', ['05-03'])
  assert.equal((await piecesIn(folder)).length, 1)
})

test('a person deletes one copy with its id typed; the backup here stays, and a scheduled copy does not come back by itself', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const folder = await newFolder(t)
  const target = await addFolder(app, folder)
  await nameTargets(app, [target.id])
  await night(app, clock, '05-02', ['05-02'])
  const { id } = await backupOf(app, '05-02')
  const url = `/backup-targets/${target.id}/backups/${id}`
  const refused = await app.ask<Problem>('DELETE', `${url}?confirm=bak_0000000000`)
  assert.deepEqual([refused.status, refused.body.errors?.[0]?.pointer], [422, '/confirm'])
  assert.equal((await app.ask('DELETE', url)).status, 400)
  assert.deepEqual(await daysOn(app, target), ['05-02'])
  const ended = await app.ask<OperationRecord>('DELETE', `${url}?confirm=${id}&wait=60`)
  assert.deepEqual([ended.status, ended.body.kind, ended.body.state], [200, 'delete-copy', 'succeeded'])
  assert.deepEqual([await daysOn(app, target), await piecesIn(folder)], [[], []])
  assert.deepEqual((await app.ask<Backup>('GET', `/backups/${id}`)).body.copies, [])
  const [entry] = await audited(app, 'backup.copy.delete')
  assert.match(entry?.actor ?? '', /^token:|ada/)
  assert.equal((await app.ask<Problem>('DELETE', `${url}?confirm=${id}`)).body.code, 'not_found')
  await night(app, clock, '05-03', ['05-02', '05-03'])
  assert.deepEqual(await daysOn(app, target), ['05-03'])
})

test('a target that lets nothing be deleted is told, and the copy is as complete as ever; later it is made up for', async (t) => {
  const { app, clock } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const storage = await startWriteOnce(t)
  const s3 = { endpoint: storage.endpoint, bucket: 'offsite', ...storageKeys }
  const made = await app.ask<BackupTarget>('POST', '/backup-targets', { name: 'Vault', s3 })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const target = made.body
  await nameTargets(app, [target.id], { keepOnTargets: one })
  await night(app, clock, '05-02', ['05-02'])
  storage.lock(true)
  const [kept] = await night(app, clock, '05-03', ['05-02', '05-03'])
  assert.deepEqual(await daysOn(app, target), ['05-02', '05-03'])
  assert.deepEqual([kept?.state, kept?.late, kept?.problem], ['complete', false, null])
  assert.equal(kept?.keepProblem, 'The backup target refuses.')
  assert.ok(!kept.keepProblem.includes(storage.endpoint))
  const { body } = await app.ask<{ checks: DiagnosticCheck[] }>('GET', '/system/diagnostics')
  const details = body.checks.filter(({ id }) => id === 'backup-schedules').map(({ detail }) => detail)
  assert.ok(details.includes('Old copies could not be deleted: shop (Vault).'), JSON.stringify(details))
  const told = async () =>
    (await audited(app, 'backup.copy.delete')).filter(({ outcome }) => outcome === 'failure').length
  assert.equal(await told(), 1)
  await night(app, clock, '05-04', ['05-02', '05-03', '05-04'])
  assert.equal(await told(), 1, 'once')
  storage.lock(false)
  const [well] = await night(app, clock, '05-05', ['05-02', '05-03', '05-04', '05-05'])
  assert.deepEqual([await daysOn(app, target), well?.keepProblem], [['05-05'], null])
})

test('a token that is restricted to projects does not change what goes from targets', async (t) => {
  const { app, project } = await openScheduled(t, '2026-05-01T12:00:00Z')
  const target = await addFolder(app, await newFolder(t))
  await nameTargets(app, [target.id])
  const restricted = await app.as('admin', [project.id])
  const put = async (more: object) =>
    (await restricted<Problem>('PUT', path, { ...nightly, targets: [target.id], ...more })).body.code
  assert.equal(await put({ keepOnTargets: one }), 'token_restricted')
  assert.equal(await put({ cron: '0 4 * * *' }), undefined)
  await nameTargets(app, [target.id], { keepOnTargets: { ...one, last: 9 } })
  const keepOnTargets = { ...one, last: 9 }
  assert.equal(await put({ cron: '* * * * *', keepOnTargets }), 'token_restricted', 'it would use the numbers up')
  assert.equal(await put({ timezone: 'Asia/Tokyo', keepOnTargets }), 'token_restricted')
  assert.equal(await put({ keepOnTargets: null }), 'token_restricted')
  assert.equal(await put({ keepOnTargets, keep: { last: 3 } }), undefined)
})

const storageKeys = { accessKeyId: 'ACCESSKEY0123456789A', secretAccessKey: 'secret0123456789secret0123456789secret01' }

/** The object storage of the catalogue behind a door that, while it is locked, refuses deletions as a policy of a bucket does. */
async function startWriteOnce(t: TestContext) {
  const data = await mkdtemp(join(tmpdir(), 'stackquay-vault-'))
  const program = fileURLToPath(import.meta.resolve('@stackquay/catalog/services/storage/server/object-storage'))
  const server = spawnTracked([process.execPath, program, '--data', data, '--port', '0', '--bucket', 'offsite'], {
    env: { STORAGE_ACCESS_KEY: storageKeys.accessKeyId, STORAGE_SECRET_KEY: storageKeys.secretAccessKey },
  })
  const [, endpoint = ''] = await server.line(/listens on (http:\/\/\S+)/)
  let isLocked = false
  const door = createServer((incoming, outgoing) => {
    if (isLocked && incoming.method === 'DELETE') {
      outgoing.writeHead(403, { 'content-type': 'application/xml' })
      outgoing.end('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>')
      return
    }
    const { method, headers, url } = incoming
    const onward = request(new URL(url ?? '/', endpoint), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done))
  t.after(async () => {
    door.closeAllConnections()
    door.close()
    await server.end()
    await rm(data, { recursive: true, force: true })
  })
  const { port } = door.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    lock: (now: boolean) => {
      isLocked = now
    },
  }
}
