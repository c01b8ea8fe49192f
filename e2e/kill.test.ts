import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { alive, type Service, startService, until } from './support/service.ts'

describe('killing the control plane', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service.close())

  const pids = async (slug: string) => {
    const { status } = await service.client.call('getProject', { params: { id: slug } })
    return Object.fromEntries(status.workloads.map((workload) => [workload.name, workload.pid]))
  }

  it('costs no request of 2,000 through the proxy; the same processes run afterwards, none is left over, none is doubled', async () => {
    await service.client.call('createProject', { body: { name: 'Steady', template: 'static' }, query: { wait: 60 } })
    await service.client.call('createDatabase', {
      params: { id: 'steady' },
      query: { wait: 60 },
      body: { name: 'main', type: 'postgresql' },
    })
    const before = await pids('steady')
    assert.ok(Object.values(before).every((pid) => pid !== null && alive(pid)))

    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    const load = fire(agent, service.proxyPort, 'steady.localhost', 2_000)
    await delay(150)
    await service.kill()
    const statuses = await load
    agent.destroy()
    assert.deepEqual(statuses, { 200: 2_000 })

    await service.start()
    await until(
      async () => (await service.client.call('getProject', { params: { id: 'steady' } })).status.state === 'running',
      'the project to be known as running',
    )
    assert.deepEqual(await pids('steady'), before)
    assert.deepEqual(await strays(service), [])
  })

  it('at random moments of create, start, stop, PATCH and delete leaves a state that can be explained and ended', {
    timeout: 280_000,
  }, async () => {
    const random = randomFrom(20_261_120)
    const outcomes: Record<string, number> = {}
    const moments = rounds(10, 50)
    for (let round = 0; round < moments; round += 1) {
      const slug = `round-${round}`
      const what = ['create', 'start', 'stop', 'update', 'delete'][round % 5]!
      if (what !== 'create') {
        await service.client.call('createProject', {
          body: { name: slug, template: 'static', start: what !== 'start' },
          query: { wait: 60 },
        })
      }
      const call = act(service, slug, what).catch(() => null)
      await delay(random() * 250)
      await service.kill()
      await call
      await service.start()

      const found = await service.client.call('listProjects', { query: { limit: 200 } })
      const project = found.items.find((item) => item.slug === slug)
      if (project !== undefined) {
        // What was under way is taken up by itself; nothing hangs.
        await until(
          async () => (await active(service, slug)) === null,
          `the operation on ${slug} after a kill during ${what}`,
        )
        const state = await stateOf(service, slug)
        outcomes[`${what}: ${state}`] = (outcomes[`${what}: ${state}`] ?? 0) + 1
        assert.ok([null, 'running', 'stopped'].includes(state), `${slug} is ${state} after a kill during ${what}`)
        if (state !== null) {
          const operation = await service.client.call('startProject', { params: { id: slug }, query: { wait: 60 } })
          assert.equal(operation.state, 'succeeded', JSON.stringify(operation.error) + service.output())
          assert.equal((await service.get(slug)).status, 200)
          const removal = await service.client.call('deleteProject', {
            params: { id: slug },
            query: { confirm: slug, data: 'delete', purge: true, wait: 60 },
          })
          assert.equal(removal.state, 'succeeded', JSON.stringify(removal.error))
          assert.equal((await service.get(slug)).status, 404)
        }
      } else {
        outcomes[`${what}: gone`] = (outcomes[`${what}: gone`] ?? 0) + 1
        assert.ok(what === 'create' || what === 'delete', `${slug} is gone after a kill during ${what}`)
      }
      // The service may have answered before it told the proxy what it found.
      await until(async () => (await service.get(slug)).status === 404, `the address of ${slug} to be gone`, 5_000)
    }
    assert.deepEqual(await strays(service), [])
    assert.ok(Object.keys(outcomes).length >= rounds(4, 5), JSON.stringify(outcomes))
  })
})

async function act({ client }: Service, slug: string, what: string): Promise<unknown> {
  const params = { id: slug }
  switch (what) {
    case 'create':
      return client.call('createProject', { body: { name: slug, template: 'static' }, query: { wait: 60 } })
    case 'start':
      return client.call('startProject', { params, query: { wait: 60 } })
    case 'stop':
      return client.call('stopProject', { params, query: { wait: 60 } })
    case 'update':
      return client.call('updateProject', {
        params,
        query: { wait: 60 },
        body: { static: { spaFallback: true } } as object,
      })
    default:
      return client.call('deleteProject', { params, query: { confirm: slug, data: 'delete', purge: true, wait: 60 } })
  }
}

async function active(service: Service, slug: string): Promise<string | null> {
  const project = await service.client.call('getProject', { params: { id: slug } }).catch(() => null)
  return project?.operation?.id ?? null
}

async function stateOf(service: Service, slug: string): Promise<string | null> {
  const project = await service.client.call('getProject', { params: { id: slug } }).catch(() => null)
  return project?.status.state ?? null
}

/** Processes that carry the mark of this home's engine and belong to no workload that the service knows. */
async function strays(service: Service): Promise<readonly string[]> {
  const known = new Set<number>()
  const { items } = await service.client.call('listProjects', { query: { limit: 200 } })
  for (const { slug } of items) {
    const { status } = await service.client.call('getProject', { params: { id: slug } })
    for (const workload of status.workloads) if (workload.pid !== null) known.add(workload.pid)
  }
  const found: string[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const environ = await readFile(`/proc/${entry}/environ`, 'latin1').catch(() => '')
    if (!environ.includes('STACKQUAY_RUN=') || !environ.includes(service.home)) continue
    const stat = await readFile(`/proc/${entry}/stat`, 'latin1').catch(() => '')
    const [, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (known.has(Number(entry)) || known.has(Number(session))) continue
    found.push(
      `${entry}: ${(await readFile(`/proc/${entry}/cmdline`, 'latin1').catch(() => '')).replaceAll('\0', ' ')}`,
    )
  }
  return found
}

function fire(agent: Agent, port: number, host: string, count: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {}
  let left = count
  const one = (): Promise<void> => {
    if (left === 0) return Promise.resolve()
    left -= 1
    const { promise, resolve } = Promise.withResolvers<void>()
    const note = (status: string) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      resolve()
    }
    request({ host: '127.0.0.1', port, agent, headers: { host } }, (answer) => {
      answer.resume().on('end', () => note(String(answer.statusCode)))
      answer.on('error', (error) => note(error.message))
    })
      .on('error', (error) => note(error.message))
      .end()
    return promise.then(one)
  }
  return Promise.all(Array.from({ length: 8 }, one)).then(() => statuses)
}
