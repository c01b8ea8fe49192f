import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ApiError } from '@stackquay/client'
import type { Backup, OperationRecord } from '@stackquay/contract'
import { type SftpServer, startSftpServer, waitFor } from '@stackquay/testkit'
import { databaseClient } from './support/real-clients.ts'
import { type Service, startService } from './support/service.ts'
import { startTargetStorage, type TargetStorage } from './support/target-storage.ts'

const run = promisify(execFile)
const id = 'shop'
const secret = 'öffnet $alles\n'

/** A project whose machine is lost, home and secret key included, comes back from a bucket and from another machine. */
describe('copies of backups on targets', () => {
  let service: Service
  let storage: TargetStorage
  let machine: SftpServer
  let kept: string
  let backup: string
  let sftpTarget: string
  let s3Passphrase: string
  const sftpPassphrase = 'a passphrase that is my own'

  before(async () => {
    storage = await startTargetStorage()
    machine = await startSftpServer()
    kept = await mkdtemp(join(tmpdir(), 'stackquay-kept-'))
    service = await startService()
    const env = { API_KEY: { value: secret, secret: true } }
    const body = { name: 'Shop', databases: { main: { type: 'postgresql' } }, env }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await databaseClient(service, id, 'postgresql', 'main').write('before the copy')
    await mkdir(join(made.path, 'assets'))
    for (let at = 0; at < 12; at += 1) await writeFile(join(made.path, 'assets', `${at}.bin`), randomBytes(10 << 20))
    await symlink('assets/0.bin', join(made.path, 'first'))
    await run('cp', ['-a', made.path, join(kept, 'files')])
    backup = ((await service.client.call('createBackup', { params: { id }, query: { wait: 120 } })) as Backup).id
  })
  after(async () => {
    await service?.close()
    await storage?.end()
    await machine?.[Symbol.asyncDispose]()
    if (kept !== undefined) await rm(kept, { recursive: true, force: true })
  })

  const s3 = () => ({ ...storage.s3, prefix: 'shop' })
  const sftp = () => {
    const { host, port, user, path, privateKey } = machine
    return { host, port, user, path, privateKey }
  }
  /** The host key comes from the refusal, as a person would take it. */
  const addSftp = async (passphrase: string) => {
    const body = { name: 'NAS', sftp: sftp(), passphrase }
    const refused = await service.client.call('createBackupTarget', { body }).catch((error: unknown) => error)
    assert.ok(refused instanceof ApiError)
    const hostKey = String(refused.problem?.hostKey)
    assert.match(hostKey, /^ssh-ed25519 SHA256:/)
    return service.client.call('createBackupTarget', { body: { ...body, sftp: { ...sftp(), hostKey } } })
  }

  it('is complete on a bucket after every piece was read back', { timeout: 120_000 }, async () => {
    const target = await service.client.call('createBackupTarget', { body: { name: 'Offsite', s3: s3() } })
    s3Passphrase = target.recoveryPassphrase ?? ''
    const input = { params: { backup }, body: { target: target.id }, query: { wait: 100 } }
    const copied = (await service.client.call('copyBackup', input)) as Backup
    assert.deepEqual(
      copied.copies?.map(({ name, state }) => `${name} ${state}`),
      ['Offsite complete'],
      JSON.stringify(copied),
    )
  })

  it('goes on where it was after the service was killed in the middle of it', { timeout: 180_000 }, async () => {
    const target = await addSftp(sftpPassphrase)
    sftpTarget = target.id
    const input = { params: { backup }, body: { target: target.id } }
    const { id: op } = (await service.client.call('copyBackup', input)) as OperationRecord
    const pieces = join(machine.path, 'pieces')
    const names = async () => {
      const [copy] = await readdir(pieces).catch(() => [])
      return copy === undefined ? [] : (await readdir(join(pieces, copy))).map((name) => join(pieces, copy, name))
    }
    await waitFor('three pieces on the other machine', async () => ((await names()).length >= 3 ? true : null), {
      timeoutMs: 60_000,
    })
    await service.kill()
    assert.deepEqual(await readdir(join(machine.path, 'backups')).catch(() => []), [], 'half a copy looks whole')
    const inodes = async () =>
      Promise.all(
        (await names())
          .sort()
          .slice(0, 2)
          .map(async (name) => (await stat(name)).ino),
      )
    const before = await inodes()
    await service.start()
    const ended = await service.client.call('getOperation', { params: { op }, query: { wait: 120 } })
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    assert.deepEqual(await inodes(), before, 'what was there was sent again')
    assert.ok((await names()).length >= 15)
  })

  it('brings the project back where everything was lost, from each of them', { timeout: 300_000 }, async () => {
    await service.close()
    service = await startService()
    const nas = await addSftp(sftpPassphrase)
    assert.equal(nas.isNew, false)
    const bucket = await service.client.call('createBackupTarget', {
      body: { name: 'Offsite', s3: s3(), passphrase: s3Passphrase },
    })
    for (const [target, slug] of [
      [nas.id, 'from-nas'],
      [bucket.id, 'from-bucket'],
    ] as const) {
      const params = { target }
      const list = await service.client.call('listTargetBackups', { params })
      assert.deepEqual(
        list.items.map((item) => [item.id, item.project?.slug, item.here]),
        [[backup, 'shop', false]],
      )
      const fetched = await service.client.call('fetchBackup', { params, body: { backup }, query: { wait: 120 } })
      assert.equal((fetched as Backup).opensHere, true, JSON.stringify(fetched))
      const made = await service.client.call('restoreBackupAs', {
        params: { backup },
        body: { name: slug, slug, start: true },
        query: { wait: 170 },
      })
      assert.equal(made.operation?.state ?? 'succeeded', 'succeeded', JSON.stringify(made.operation?.error))
      await run('diff', ['-r', '--no-dereference', join(kept, 'files'), made.path])
      const value = await service.client.call('getProjectEnvValue', {
        params: { id: slug, name: 'API_KEY' },
        query: { reveal: true },
      })
      assert.equal(value.value, secret)
      assert.ok(await databaseClient(service, slug, 'postgresql', 'main').holds('before the copy'), `rows ${slug}`)
      await service.client.call('deleteAnyBackup', { params: { backup } })
    }
    assert.notEqual(nas.id, sftpTarget)
  })

  it('ends at once where the other machine shows another key', { timeout: 60_000 }, async () => {
    const { items } = await service.client.call('listBackupTargets', {})
    const nas = items.find(({ name }) => name === 'NAS')!
    await machine.newHostKey()
    const refused = await service.client
      .call('checkBackupTarget', { params: { target: nas.id } })
      .catch((error: unknown) => error)
    assert.ok(refused instanceof ApiError)
    assert.equal(refused.problem?.code, 'target_changed')
  })
})
