import assert from 'node:assert/strict'
import { lstat, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Checkpoint, OperationRecord, ProjectView } from '@stackquay/contract'
import { objectsNaming } from './support/docker-objects.ts'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { fill, treeOf } from './support/project-files.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'

const id = 'shop'

/** The same as on the native engine, where data lies in volumes and the source folder beside them. */
describe('checkpoints of a project in containers', { concurrency: 1 }, () => {
  let service: DockerService
  let path: string
  let clients: readonly RealClient[]
  let first: Checkpoint

  before(async () => {
    service = await startDockerService(['postgresql', 'redis'])
    const body = {
      name: 'Shop',
      databases: { main: { type: 'postgresql', version: lines.postgresql } },
      redis: { version: lines.redis },
      env: { API_KEY: { value: 'then', secret: true } },
    }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    path = made.path
    await fill(path)
    clients = [databaseClient(service, id, 'postgresql', 'main'), serviceClients(service, id).redis!]
    for (const client of clients) await client.write('before')
  })
  after(() => service?.close())

  const begin = (checkpoint: string, wait: number) =>
    service.client.call(
      'restoreCheckpoint',
      { params: { id, checkpoint }, body: { confirm: id }, query: { wait } },
      { ifMatch: '*' },
    ) as Promise<OperationRecord>
  const list = async () => (await service.client.call('listCheckpoints', { params: { id } })).items
  const secret = async () =>
    (await service.client.call('getProjectEnvValue', { params: { id, name: 'API_KEY' }, query: { reveal: 'true' } }))
      .value
  const changeAll = async (name: string) => {
    for (const client of clients) await client.write(name)
    await rm(join(path, 'run.sh'), { force: true })
    await writeFile(join(path, 'new'), name)
    const env = { API_KEY: { value: name, secret: true } }
    await service.client.call('updateProject', { params: { id }, body: { env }, query: { wait: 100 } })
  }

  it('put everything back, and what they replaced too', { timeout: 400_000 }, async (t) => {
    const tree = await treeOf(path)
    first = (await service.client.call('createCheckpoint', {
      params: { id },
      body: { name: 'first' },
      query: { wait: 170 },
    })) as Checkpoint
    assert.deepEqual(
      first.parts?.map(({ name }) => name),
      ['source', 'postgresql-main', 'redis'],
      JSON.stringify((first as never as OperationRecord).error ?? first),
    )
    t.diagnostic(`${first.parts.map(({ name, method }) => `${name} ${method}`).join(', ')}: ${first.milliseconds} ms`)
    const { uid } = await lstat(join(path, 'run.sh'))
    await changeAll('after')
    const restored = await begin(first.id, 200)
    assert.equal(restored.state, 'succeeded', JSON.stringify(restored.error))
    for (const client of clients)
      assert.deepEqual([await client.holds('before'), await client.holds('after')], [true, false], client.workload)
    assert.deepEqual([await treeOf(path), await secret()], [tree, 'then'])
    assert.equal((await lstat(join(path, 'run.sh'))).uid, uid)
    const [before] = (await list()).filter(({ source }) => source === 'before-restore')
    const undone = await begin(before!.id, 200)
    assert.equal(undone.state, 'succeeded', JSON.stringify(undone.error))
    for (const client of clients) assert.ok(await client.holds('after'), client.workload)
    assert.equal(await secret(), 'after')
    for (const { state, name } of ((await service.client.call('getProject', { params: { id } })) as ProjectView).status
      .workloads)
      assert.equal(state, 'running', name)
  })

  it('go on when the service is killed, and leave no volume when they are deleted', { timeout: 400_000 }, async () => {
    await changeAll('later')
    const begun = await begin(first.id, 0)
    await sleep(1000 + Math.random() * 5000)
    await service.kill()
    await service.start()
    const ended = await service.client.call('getOperation', { params: { op: begun.id }, query: { wait: 200 } })
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.error))
    for (const client of clients)
      assert.deepEqual([await client.holds('before'), await client.holds('later')], [true, false], client.workload)
    assert.equal(await secret(), 'then')
    assert.ok((await objectsNaming(service.lab, 'chk_')).length > 0)
    for (const { id: checkpoint } of await list())
      await service.client.call('deleteCheckpoint', { params: { id, checkpoint } })
    assert.deepEqual(await objectsNaming(service.lab, 'chk_'), [])
  })
})
