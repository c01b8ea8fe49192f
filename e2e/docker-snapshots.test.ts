import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { OperationRecord, ProjectView, Snapshot } from '@stackquay/contract'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { databaseClient, type RealClient } from './support/real-clients.ts'

const id = 'shop'

/** The same as on the native engine, where data lies in volumes and a helper container copies them. */
describe('snapshots and clones of databases in containers', () => {
  let service: DockerService
  let main: RealClient
  let reports: RealClient

  before(async () => {
    service = await startDockerService(['postgresql', 'mariadb'])
    main = databaseClient(service, id, 'postgresql', 'main')
    reports = databaseClient(service, id, 'mariadb', 'reports')
    const databases = {
      main: { type: 'postgresql', version: lines.postgresql },
      reports: { type: 'mariadb', version: lines.mariadb },
    }
    const made = await service.client.call('createProject', { body: { name: 'Shop', databases }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    for (const client of [main, reports]) await client.write('before')
  })
  after(() => service?.close())

  for (const db of ['main', 'reports'])
    it(`${db}: what came after a snapshot is gone when it is restored, and a clone is its own`, {
      timeout: 300_000,
    }, async () => {
      const client = db === 'main' ? main : reports
      const params = { id, db }
      const made = (await service.client.call('createSnapshot', {
        params,
        body: { name: 'first' },
        query: { wait: 120 },
      })) as Snapshot
      assert.ok(made.method === 'copy' || made.method === 'copy-on-write', JSON.stringify(made))
      await client.write('after')
      const restored = (await service.client.call(
        'restoreSnapshot',
        { params: { ...params, snapshot: 'first' }, body: { confirm: db }, query: { wait: 200 } },
        { ifMatch: '*' },
      )) as OperationRecord
      assert.equal(restored.state, 'succeeded', JSON.stringify(restored.error))
      assert.deepEqual([await client.holds('before'), await client.holds('after')], [true, false])

      const name = `${db}_copy`
      const cloned = (await service.client.call('cloneDatabase', {
        params,
        body: { name },
        query: { wait: 200 },
      })) as ProjectView
      assert.ok(cloned.databases?.[name], JSON.stringify(cloned))
      const twin = databaseClient(service, id, db === 'main' ? 'postgresql' : 'mariadb', name)
      assert.ok(await twin.holds('before'))
      await twin.write('alone')
      assert.equal(await client.holds('alone'), false)
    })
  it('a dropped database takes its snapshots along, and brings them back from the trash', {
    timeout: 300_000,
  }, async () => {
    const params = { id, db: 'main' }
    const volumes = async () => (await service.lab.docker(['volume', 'ls', '-q'])).split('\n').sort()
    const before = await volumes()
    const snapshots = (await service.client.call('listSnapshots', { params })).items.map((one) => one.id).sort()
    const wait = { wait: 200 }
    const query = { confirm: 'main', ...wait }
    await service.client.call('deleteDatabase', { params, query })
    const { items } = await service.client.call('listTrash', {})
    const [item] = items
    assert.deepEqual(item?.data.map((one) => one.name).sort(), ['postgresql-main', ...snapshots])
    assert.deepEqual(await volumes(), before)
    // Another of the name has nothing of it.
    await service.client.call('createDatabase', {
      params: { id },
      body: { name: 'main', type: 'postgresql', version: lines.postgresql },
      query: wait,
    })
    assert.deepEqual((await service.client.call('listSnapshots', { params })).items, [])
    assert.equal(await main.holds('before'), false)
    await service.client.call('deleteDatabase', { params, query: { ...query, purge: true } })
    await service.client.call('restoreTrash', { params: { item: item!.id }, query: wait })
    await service.client.call('startProject', { params: { id }, query: wait })
    await main.write('later')
    const restored = (await service.client.call(
      'restoreSnapshot',
      { params: { ...params, snapshot: 'first' }, body: { confirm: 'main' }, query: wait },
      { ifMatch: '*' },
    )) as OperationRecord
    assert.equal(restored.state, 'succeeded', JSON.stringify(restored.error))
    assert.deepEqual([await main.holds('before'), await main.holds('later')], [true, false])
    await service.client.call('deleteDatabase', { params, query })
    const [gone] = (await service.client.call('listTrash', {})).items
    await service.client.call('purgeTrash', { params: { item: gone!.id }, query: { confirm: 'main' } })
    const left = await volumes()
    assert.equal(left.length, before.length - 1 - snapshots.length, `purged, it leaves nothing: ${left.join(' ')}`)
  })
})
