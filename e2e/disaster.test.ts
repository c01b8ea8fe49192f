import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Client, createClient } from '@stackquay/client'
import type { TargetBackup } from '@stackquay/contract'
import { inBrowser } from './support/in-browser.ts'
import { databaseClient } from './support/real-clients.ts'
import { type Service, startService, until } from './support/service.ts'
import { startTargetStorage, type TargetStorage } from './support/target-storage.ts'

const secret = 'öffnet $alles\n'

/** The machine is lost, home included. What is left: a bucket, its passphrase and the secret key, as docs/backups.md says. */
describe('the whole disaster drill', () => {
  const env = { STACKQUAY_SECRET_KEY: randomBytes(32).toString('hex') }
  let storage: TargetStorage
  let service: Service
  let passphrase: string
  let token: string | undefined
  let backups: { readonly instance: string; readonly shop: string }

  before(async () => {
    storage = await startTargetStorage()
    service = await startService({ env })
  })
  after(async () => {
    // Each for itself: whichever step failed, nothing of it is left running. Once the state of then is there, the token of its beginning is
    // not known any more, and closing it cannot delete what is there.
    const remove = {
      params: { id: 'shop' },
      query: { confirm: 'shop', data: 'delete', purge: true, wait: 60 },
    } as const
    if (service !== undefined && token !== undefined)
      await restoredClient()
        .call('deleteProject', remove, { signal: AbortSignal.timeout(90_000) })
        .catch(() => undefined)
    await service?.close().catch(() => undefined)
    await storage?.end()
  })

  const onTarget = async (client: Client, target: string): Promise<readonly TargetBackup[]> =>
    (await client.call('listTargetBackups', { params: { target } })).items

  it('has both by schedule on the bucket before', { timeout: 300_000 }, async () => {
    const { client } = service
    const variables = { API_KEY: { value: secret, secret: true } }
    const databases = { main: { type: 'postgresql' as const } }
    const body = { name: 'Shop', template: 'static', databases, env: variables }
    const made = await client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    await writeFile(join(made.path, 'index.html'), 'open before the storm')
    await databaseClient(service, 'shop', 'postgresql', 'main').write('before the storm')
    assert.match((await service.get('shop')).body, /open before the storm/)

    const target = await client.call('createBackupTarget', { body: { name: 'Offsite', s3: storage.s3 } })
    passphrase = target.recoveryPassphrase ?? ''
    const schedule = { cron: '* * * * *', timezone: 'UTC', targets: [target.id], keepOnTargets: { last: 2 } }
    await client.call('putInstanceBackupSchedule', { body: schedule })
    await client.call('putBackupSchedule', { params: { id: 'shop' }, body: { ...schedule, verify: 'never' } })
    const whole = async () => {
      const items = await onTarget(client, target.id)
      const [instance, shop] = [
        items.find(({ project }) => project === null),
        items.find(({ project }) => project !== null),
      ]
      return instance === undefined || shop === undefined ? null : { instance, shop }
    }
    await until(async () => (await whole()) !== null, 'both on the bucket', 200_000)
    const seen = (await whole())!
    assert.deepEqual([seen.instance.source, seen.shop.source], ['schedule', 'schedule'])
    backups = { instance: seen.instance.id, shop: seen.shop.id }
    await client.call('deleteInstanceBackupSchedule', {})
    await client.call('deleteBackupSchedule', { params: { id: 'shop' } })
    token = service.token
    await service.close()
  })

  it('brings the instance back on a machine that has nothing', { timeout: 180_000 }, async () => {
    service = await startService({ env })
    assert.notEqual(service.token, token)
    const { client } = service
    const target = await client.call('createBackupTarget', { body: { name: 'Bucket', s3: storage.s3, passphrase } })
    assert.equal(target.isNew, false)
    const listed = await onTarget(client, target.id)
    const instance = listed.find(({ id }) => id === backups.instance)
    assert.deepEqual([instance?.opens, instance?.here, instance?.own], [true, false, false])
    const input = { params: { target: target.id }, body: { backup: backups.instance }, query: { wait: 60 } }
    const fetched = await client.call('fetchInstanceBackup', input)
    assert.ok('opensHere' in fetched && fetched.opensHere, JSON.stringify(fetched))
    await inBrowser(service, 'POST', `/instance/backups/${fetched.id}/restore`, { confirm: fetched.id })
    const restored = restoredClient()
    const slugs = async () => (await restored.call('listProjects', { query: {} })).items.map(({ slug }) => slug)
    await until(async () => (await slugs().catch(() => [])).join() === 'shop', 'the state of then')
    assert.equal((await restored.call('verifyAudit', {})).ok, true)
    const { checks } = await restored.call('getDiagnostics', {})
    assert.match(checks.find(({ id }) => id === 'restored')?.detail ?? '', /shop/)
  })

  it('brings the project back, and its address answers', { timeout: 300_000 }, async () => {
    const client = restoredClient()
    const items = await quiet(client)
    const target = items.find(({ name }) => name === 'Offsite')
    assert.ok(target, 'the target of then, with its credentials')
    const found = (await onTarget(client, target.id)).find(({ id }) => id === backups.shop)
    assert.deepEqual([found?.own, found?.here], [true, false], 'it is the same instance')
    const made = await backupsMadeHere(client)
    assert.deepEqual(made, [], 'a project without its folder was backed up')
    const input = { params: { target: target.id }, body: { backup: backups.shop }, query: { wait: 120 } }
    await client.call('fetchBackup', input)
    await client.call('deleteProject', { params: { id: 'shop' }, query: { confirm: 'shop', data: 'delete', wait: 60 } })
    const body = { name: 'Shop', slug: 'shop', start: true }
    const again = await client.call('restoreBackupAs', { params: { backup: backups.shop }, body, query: { wait: 170 } })
    assert.equal(again.operation?.state ?? 'succeeded', 'succeeded', JSON.stringify(again.operation?.error))
    await until(async () => (await service.get('shop')).status === 200, 'its address to answer')
    assert.match((await service.get('shop')).body, /open before the storm/)
    const of = { ...service, client }
    assert.ok(await databaseClient(of, 'shop', 'postgresql', 'main').holds('before the storm'))
    const value = { params: { id: 'shop', name: 'API_KEY' }, query: { reveal: true } }
    assert.equal((await client.call('getProjectEnvValue', value)).value, secret)
  })

  /** With the token from before the disaster: users and tokens are those of then. */
  const restoredClient = () => createClient({ baseUrl: service.url, token: token ?? '', clientName: 'cli' })

  /** The schedules of then go on at once: turned off, and their last operations over. */
  const quiet = async (client: Client) => {
    await client.call('deleteInstanceBackupSchedule', {})
    await client.call('deleteBackupSchedule', { params: { id: 'shop' } })
    await until(async () => {
      const { items } = await client.call('listOperations', { query: { limit: 50 } })
      return items.every(({ state }) => state !== 'queued' && state !== 'running')
    }, 'the end of operations')
    return (await client.call('listBackupTargets', {})).items
  }

  const backupsMadeHere = async (client: Client) =>
    (await client.call('listBackups', { params: { id: 'shop' }, query: {} })).items.map(({ id, parts }) => [id, parts])
})
