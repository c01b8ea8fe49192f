import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { OperationRecord, WorkloadImages } from '@stackquay/contract'
import { inspect } from './support/docker-objects.ts'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { type RealClient, serviceClients } from './support/real-clients.ts'
import { refusal } from './support/refusal.ts'

/**
 * A tag that means another build tomorrow, as `redis:7.0` does after every release. No registry answers here: what the tag
 * says on this machine is the newest there is.
 */
describe('builds of an image', () => {
  let service: DockerService
  let id: string
  let redis: RealClient
  let tag: string
  const builds: string[] = []
  before(async () => {
    service = await startDockerService(['redis'])
    tag = service.lab.image('redis')
    const settings: object = { redis: { version: lines.redis } }
    const made = await service.client.call('createProject', {
      body: { ...settings, name: 'Shop' },
      query: { wait: 120 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    id = made.id
    redis = serviceClients(service, 'shop').redis!
    await redis.write('kept')
    builds.push(await buildOfTag())
  })
  after(() => service?.close())

  it('there is no way back as long as there was only one', async () => {
    const { current, previous, pinned, reference } = await images()
    assert.deepEqual([reference, current?.id, previous, pinned], [tag, builds[0], null, false])
    const problem = await refusal(use('previous'))
    assert.equal(problem.code, 'validation_failed')
    assert.match(problem.detail, /had only one/)
  })

  it('a restart keeps the one that a workload has, whatever its tag has come to mean', async () => {
    builds.push(await release('2'))
    assert.notEqual(builds[1], builds[0])
    await restart()
    assert.equal(await running(), builds[0])
    for (const act of ['stopProject', 'startProject'] as const) succeeded(await service.client.call(act, wait))
    assert.equal(await running(), builds[0])
  })

  it('a restart with newer images takes the new one', async () => {
    await restart({ newerImages: true })
    assert.equal(await running(), builds[1])
    const { current, previous } = await images()
    assert.deepEqual([current?.id, previous?.id], [builds[1], builds[0]])
    assert.ok(await redis.holds('kept'))
  })

  it('the previous one is gone back to, and stays', async () => {
    const { plan } = await service.client.plan('useImage', {
      params: { id: 'shop' },
      body: { workload: 'redis', use: 'previous' },
    })
    assert.deepEqual(plan.restarts, ['redis'])
    assert.equal(await running(), builds[1])
    succeeded(await use('previous'))
    assert.equal(await running(), builds[0])
    const { current, previous, pinned, reference } = await images()
    assert.deepEqual([reference, current?.id, previous?.id, pinned], [tag, builds[0], builds[1], true])

    builds.push(await release('3'))
    await restart({ newerImages: true })
    assert.equal(await running(), builds[0])
    await service.kill()
    await service.start()
    await restart()
    assert.equal(await running(), builds[0])
    assert.ok(await redis.holds('kept'))
  })

  it('the latest one is taken when somebody asks for it, and followed again', async () => {
    succeeded(await use('latest'))
    assert.equal(await running(), builds[2])
    assert.equal((await images()).pinned, false)
    assert.equal((await images()).previous?.id, builds[0])
    builds.push(await release('4'))
    await restart({ newerImages: true })
    assert.equal(await running(), builds[3])
    assert.ok(await redis.holds('kept'))
  })

  it('is as it was when the one to go back to is not there any more', async () => {
    await restart()
    await service.lab.docker(['image', 'rm', '--force', builds[2]!])
    const operation = await use('previous')
    assert.equal(operation.state, 'failed')
    assert.equal(operation.error?.code, 'image_not_found')
    assert.match(operation.error?.detail ?? '', /^The build [0-9a-f]{12} of the image is not on this Docker any more/)
    assert.equal((await images()).pinned, false)
    await restart()
    assert.equal(await running(), builds[3])
    assert.ok(await redis.holds('kept'))
  })

  const wait = { params: { id: 'shop' }, query: { wait: 60 } }

  /** Another build under the same tag. */
  async function release(version: string): Promise<string> {
    const dockerfile = `FROM ${builds[0]}\nLABEL release=${version}\n`
    await service.lab.docker(['build', '--quiet', '--tag', tag, '-'], dockerfile)
    return buildOfTag()
  }

  function buildOfTag(): Promise<string> {
    return service.lab.docker(['image', 'inspect', '--format', '{{.Id}}', tag])
  }

  async function running(): Promise<string> {
    const [container] = await inspect(service.lab, id)
    assert.equal(container?.State.Running, true)
    return container.Image
  }

  async function images(): Promise<WorkloadImages> {
    const { items } = await service.client.call('listImages', { params: { id: 'shop' } })
    assert.equal(items.length, 1)
    return items[0]!
  }

  function use(which: 'previous' | 'latest'): Promise<OperationRecord> {
    return service.client.call('useImage', { ...wait, body: { workload: 'redis', use: which } })
  }

  async function restart(body: { newerImages?: boolean } = {}): Promise<void> {
    succeeded(await service.client.call('restartProject', { ...wait, body }))
  }
})

function succeeded(operation: OperationRecord): void {
  assert.equal(operation.state, 'succeeded', JSON.stringify(operation, null, 2))
}
