import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { dockerObjects, strayObjects } from './support/docker-strays.ts'
import { serviceClients } from './support/real-clients.ts'
import { until } from './support/service.ts'

const kills = rounds(3, 13)
/** Those that are changed in every round. */
const lasting = ['lasting', 'other']

describe('killing the control plane while it changes containers', () => {
  let service: DockerService
  before(async () => {
    service = await startDockerService(['redis'])
  })
  after(() => service?.close())

  const query = { wait: 60 }
  const create = (slug: string) =>
    service.client.call('createProject', {
      body: { name: slug, template: 'static', redis: { version: lines.redis } } as object as { name: string },
      query,
    })
  /** Both containers are replaced. */
  const update = (slug: string, round: number) =>
    service.client.call('updateProject', {
      params: { id: slug },
      query,
      body: { static: { spaFallback: round % 2 === 1 }, redis: { exposePort: round % 2 === 1 } } as object,
    })
  const remove = (slug: string) =>
    service.client.call('deleteProject', {
      params: { id: slug },
      query: { ...query, confirm: slug, data: 'delete', purge: true },
    })

  it('at random moments of create, PATCH and delete leaves nothing over, loses no data, doubles nothing, and one more call completes each', {
    timeout: 900_000,
  }, async (t) => {
    const random = randomFrom(20_261_122)
    const interrupted: Record<string, number> = {}
    const began = performance.now()
    let slowest = 0

    const all = [...lasting, 'round-0']
    await Promise.all(all.map(create))
    // A machine that is busy with other things must not spread the moments until nothing is under way at any.
    const spread = Math.min(performance.now() - began, 4_000)
    for (let round = 1; round <= kills; round += 1) {
      for (const client of clients()) await client.write(`before-${round}`)
      const [coming, going] = [`round-${round}`, `round-${round - 1}`]
      // Each is begun at a moment of its own before the kill, at most so long before as it may take.
      const acts = [
        { reach: 0.8, act: () => create(coming) },
        ...lasting.map((slug) => ({ reach: 1, act: () => update(slug, round) })),
        { reach: 0.3, act: () => remove(going) },
      ]
      const under = acts.map(async ({ reach, act }) => {
        await delay(spread * (1 - reach * random()))
        return act().catch(() => null)
      })
      await delay(spread)
      for (const step of await stepsUnderWay(service)) interrupted[step] = (interrupted[step] ?? 0) + 1
      await service.kill()
      await Promise.all(under)

      const killedAt = performance.now()
      await service.start()
      await nothingUnderWay(service)
      slowest = Math.max(slowest, performance.now() - killedAt)
      assert.deepEqual(await strayObjects(service), [], `after kill ${round}`)

      await Promise.all([
        completeCreate(coming),
        ...lasting.map((slug) => completeUpdate(slug, round)),
        completeDelete(going),
      ])
      assert.deepEqual(await strayObjects(service), [], `after all was completed after kill ${round}`)
      for (const client of clients())
        for (let earlier = 1; earlier <= round; earlier += 1)
          assert.equal(await client.holds(`before-${earlier}`), true, `what was written before kill ${earlier}`)
    }

    const count = Object.values(interrupted).reduce((sum, one) => sum + one, 0)
    t.diagnostic(`${count} of ${kills * 4} changes were under way: ${JSON.stringify(interrupted)}`)
    t.diagnostic(`the slowest start and take-up took ${Math.round(slowest)} ms`)
    t.diagnostic(`all of it took ${Math.round((performance.now() - began) / 1000)} s`)
    assert.ok(count >= kills, `only ${count} changes were under way when the service was killed`)
    await Promise.all([...lasting, `round-${kills}`].map(remove))
    assert.deepEqual(await dockerObjects(service), [])
  })

  const clients = () => lasting.map((slug) => serviceClients(service, slug).redis!)

  async function completeCreate(slug: string): Promise<void> {
    if ((await stateOf(service, slug)) === 'gone') await create(slug)
    else {
      const operation = await service.client.call('startProject', { params: { id: slug }, query })
      assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error))
    }
    assert.equal((await service.get(slug)).status, 200, slug)
    assert.equal(await stateOf(service, slug), 'running', slug)
  }

  async function completeUpdate(slug: string, round: number): Promise<void> {
    const changed = await update(slug, round)
    assert.equal(changed.operation?.state ?? 'succeeded', 'succeeded', JSON.stringify(changed.operation?.error))
    assert.equal(changed.status.state, 'running')
    assert.equal((await service.get(slug)).status, 200)
  }

  async function completeDelete(slug: string): Promise<void> {
    if ((await stateOf(service, slug)) !== 'gone') await remove(slug)
    assert.equal(await stateOf(service, slug), 'gone')
    assert.equal((await service.get(slug)).status, 404)
  }
})

/** "kind step" of each operation that goes on. */
async function stepsUnderWay({ client }: DockerService): Promise<readonly string[]> {
  const { items } = await client.call('listOperations', { query: { active: true, limit: 200 } })
  return items.map(({ kind, state, steps }) => {
    const step = steps.find((one) => one.state === 'running')
    return `${kind} ${step?.id ?? (steps.length === 0 ? state : 'between two steps')}`
  })
}

async function nothingUnderWay(service: DockerService): Promise<void> {
  const isOver = async () => (await stepsUnderWay(service)).length === 0
  await until(isOver, 'what was under way to end', 90_000).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${(await stepsUnderWay(service)).join(', ')}\n${service.output()}`)
  })
}

async function stateOf(service: DockerService, slug: string): Promise<string> {
  const project = await service.client.call('getProject', { params: { id: slug } }).catch(() => null)
  return project?.status.state ?? 'gone'
}
