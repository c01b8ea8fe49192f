import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { OperationRecord, ProjectView, TrashItem } from '@stackquay/contract'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'

const slug = 'shop'

/** In volumes nothing moves: the next one of a name gets a number. */
describe('the trash of a project in containers', () => {
  let service: DockerService
  let clients: readonly RealClient[]

  before(async () => {
    service = await startDockerService(['postgresql', 'redis'])
    const body: object = {
      redis: { version: lines.redis },
      storage: {},
      databases: { main: { type: 'postgresql', version: lines.postgresql } },
    }
    const made = await service.client.call('createProject', { body: { ...body, name: 'Shop' }, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    const all = serviceClients(service, slug)
    clients = [all.redis!, all.storage!, databaseClient(service, slug, 'postgresql', 'main')]
    for (const client of clients) await client.write('before')
  })
  after(() => service?.close())

  const ended = (operation: unknown) => {
    const { state, error } = operation as OperationRecord
    assert.equal(state, 'succeeded', JSON.stringify(error))
  }
  const trash = async (): Promise<readonly TrashItem[]> => (await service.client.call('listTrash', {})).items
  const patch = async (body: object) =>
    ended(
      (
        (await service.client.call('updateProject', {
          params: { id: slug },
          body,
          query: { wait: 120 },
        })) as ProjectView
      ).operation,
    )
  const holds = async (what: string) => {
    for (const client of clients)
      assert.ok(await client.holds(what), `${client.workload} lost what was written ${what}`)
  }
  const start = async () =>
    ended(await service.client.call('startProject', { params: { id: slug }, query: { wait: 120 } }))

  it('comes back with all of its volumes, also after the service was started again', { timeout: 240_000 }, async () => {
    ended(
      await service.client.call('deleteProject', {
        params: { id: slug },
        query: { confirm: slug, data: 'delete', wait: 60 },
      }),
    )
    const [item] = await trash()
    assert.equal(item?.data.length, 3, JSON.stringify(item))
    await service.kill()
    await service.start()
    await service.client.call('restoreTrash', { params: { item: item!.id } })
    await start()
    await holds('before')
  })

  it('removed data begins anew in another volume, and both come and go by themselves', {
    timeout: 240_000,
  }, async () => {
    const redis = clients[0]!
    await patch({ redis: { enabled: false, removeData: true } })
    await patch({ redis: { enabled: true } })
    assert.equal(await redis.holds('before').catch(() => false), false)
    await redis.write('second')
    await patch({ redis: { enabled: false, removeData: true } })
    const [newer, older] = await trash()
    await service.client.call('restoreTrash', { params: { item: older!.id } })
    await patch({ redis: { enabled: true } })
    assert.ok(await redis.holds('before'))
    assert.equal(await redis.holds('second').catch(() => false), false)
    await patch({ redis: { enabled: false, removeData: true } })
    await service.client.call('restoreTrash', { params: { item: newer!.id } })
    await patch({ redis: { enabled: true } })
    assert.ok(await redis.holds('second'), 'a volume with a number, too')
    for (const item of await trash())
      await service.client.call('purgeTrash', { params: { item: item.id }, query: { confirm: item.name } })
    await service.client.call('stopProject', { params: { id: slug }, query: { wait: 60 } })
    await start()
    assert.ok(await redis.holds('second'), 'the purge took the other volume')
  })
})
