import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from '@stackquay/testkit'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { containersOf, dockerObjects, strayObjects } from './support/docker-strays.ts'
import { serviceClients } from './support/real-clients.ts'
import { until } from './support/service.ts'

/**
 * What Docker needs itself until it answers is not counted. Two seconds at most pass until it is asked again; the rest is for a
 * machine that is busy with other things.
 */
const rightWithinMs = 5_000

describe('a Docker daemon that is killed and started again under load', () => {
  let service: DockerService
  before(async () => {
    service = await startDockerService(['redis'])
    await Promise.all(['shop', 'busy'].map((slug) => createSite(service, slug)))
  })
  after(() => service?.close())

  it('makes projects unknown, ends what is under way with a reason, and has every one of them up again afterwards', {
    timeout: 240_000,
  }, async (t) => {
    const { client, lab } = service
    const redis = serviceClients(service, 'shop').redis!
    await redis.write('before')
    // Redis writes every second, and Docker ends what it finds running with SIGKILL.
    await delay(1_500)
    const shop = await client.call('getProject', { params: { id: 'shop' } })
    const containers = await containersOf(service, shop.id)
    const requests = startRequests(service, 'shop')
    const states = startLooks(service, 'shop')

    const restarting = client.call('restartProject', { params: { id: 'busy' }, query: { wait: 60 } })
    await until(async () => (await operationOf(service, 'busy')) !== null, 'the restart to be under way')
    const killedAt = performance.now()
    await lab.kill()
    await until(async () => (await stateOf(service, 'shop')) === 'unknown', 'the project to be unknown')
    t.diagnostic(`unknown ${ms(killedAt)} after the daemon was killed`)

    const under = await restarting
    assert.equal(under.state, 'failed')
    assert.equal(under.error?.code, 'engine_unavailable', JSON.stringify(under.error))
    await until(async () => (await stateOf(service, 'busy')) === 'unknown', 'the other project to be unknown')
    const shown = await client.call('getProject', { params: { id: 'shop' } })
    assert.equal(shown.status.warnings[0]?.code, 'engine_unavailable')
    assert.match(shown.status.warnings[0]?.detail ?? '', /Docker does not answer/)
    assert.ok(shown.status.workloads.every(({ state }) => state === 'unknown'))

    for (const call of ['restartProject', 'stopProject', 'startProject'] as const) {
      const operation = await client.call(call, { params: { id: 'busy' }, query: { wait: 60 } })
      assert.equal(operation.state, 'failed', call)
      assert.equal(operation.error?.code, 'engine_unavailable', `${call}: ${JSON.stringify(operation.error)}`)
    }
    assert.equal(await operationOf(service, 'busy'), null)

    await lab.restart()
    const backAt = performance.now()
    await until(async () => (await stateOf(service, 'shop')) !== 'unknown', 'the states to be known')
    const known = performance.now() - backAt
    for (const slug of ['shop', 'busy'])
      await until(async () => (await stateOf(service, slug)) === 'running', `${slug} to run`, 60_000)
    const running = performance.now() - backAt
    t.diagnostic(`known ${Math.round(known)} ms and running ${Math.round(running)} ms after the daemon answered`)
    assert.ok(known < rightWithinMs, `${known} ms`)
    await requests.answersMore(50)
    await Promise.all([requests.end(), states.end()])

    await answers(service, 'busy')
    assert.equal(await redis.holds('before'), true)
    const now = await containersOf(service, shop.id)
    assert.deepEqual(Object.keys(now).sort(), Object.keys(containers).sort())
    for (const [name, id] of Object.entries(now)) assert.notEqual(id, containers[name], `${name} was made anew`)
    assert.deepEqual(await strayObjects(service), [])
    for (const slug of ['shop', 'busy']) assert.equal(await operationOf(service, slug), null)

    t.diagnostic(`${states.asked} looks: ${states.seen.join(', ')}`)
    t.diagnostic(requests.inWords())
    assert.equal(states.failures, 0, 'the API answered all the time')
    const whileAway = states.seen.slice(states.seen.indexOf('unknown'), states.seen.lastIndexOf('unknown') + 1)
    assert.deepEqual(whileAway, ['unknown'])
    assert.ok(!states.seen.includes('stopped') && !states.seen.includes('failed'), states.seen.join(', '))
  })
})

describe('a Docker daemon that lets containers run on', () => {
  let service: DockerService
  before(async () => {
    service = await startDockerService(['redis'], { lab: { daemonArgs: ['--live-restore'] } })
    await createSite(service, 'shop')
  })
  after(() => service?.close())

  it('is killed and started again without a request that fails and without a container that is another', {
    timeout: 180_000,
  }, async (t) => {
    const { id, status } = await service.client.call('getProject', { params: { id: 'shop' } })
    const containers = await containersOf(service, id)
    const requests = startRequests(service, 'shop')
    await requests.answersMore(20)
    await service.lab.kill()
    await until(async () => (await stateOf(service, 'shop')) === 'unknown', 'the project to be unknown')
    await requests.answersMore(100)
    await service.lab.restart()
    const backAt = performance.now()
    await until(async () => (await stateOf(service, 'shop')) === 'running', 'the project to run')
    t.diagnostic(`known ${ms(backAt)} after the daemon answered`)
    assert.ok(performance.now() - backAt < rightWithinMs)
    await requests.answersMore(50)
    await requests.end()

    t.diagnostic(requests.inWords())
    assert.deepEqual(requests.failures, [])
    assert.deepEqual(await containersOf(service, id), containers)
    const after = await service.client.call('getProject', { params: { id: 'shop' } })
    assert.deepEqual(pidsOf(after.status), pidsOf(status))
    assert.ok(after.status.workloads.every(({ restarts }) => restarts === 0))
  })

  it('is back when one of them ended meanwhile, which is started again', { timeout: 180_000 }, async (t) => {
    const { id, status } = await service.client.call('getProject', { params: { id: 'shop' } })
    const containers = await containersOf(service, id)
    await service.lab.kill()
    const pid = pidsOf(status).static!
    process.kill(pid, 'SIGKILL')
    await until(async () => !(await isAlive(pid)), 'its program to end')
    await service.lab.restart()
    const backAt = performance.now()
    await until(async () => (await service.get('shop')).status === 200, 'the project to answer')
    await until(async () => (await stateOf(service, 'shop')) === 'running', 'the project to run')
    t.diagnostic(`up again ${ms(backAt)} after the daemon answered`)
    const now = await containersOf(service, id)
    assert.notEqual(now.static, containers.static)
    assert.equal(now.redis, containers.redis)
    assert.deepEqual(await strayObjects(service), [])
  })
})

describe('a service that is started while no Docker daemon answers', () => {
  let service: DockerService
  before(async () => {
    service = await startDockerService(['redis'])
    await createSite(service, 'shop')
    await service.stop()
    await service.lab.kill()
    await service.start()
  })
  after(() => service?.close())

  it('says so, runs what needs no Docker, and has the rest up as soon as one answers', {
    timeout: 240_000,
  }, async (t) => {
    const { client, lab } = service
    const { status } = await client.call('getProject', { params: { id: 'shop' } })
    assert.equal(status.state, 'unknown')
    assert.match(status.warnings[0]?.detail ?? '', /Docker does not answer/)
    const page = await service.get('shop')
    assert.equal(page.status, 503)
    assert.match(page.body, /Docker does not answer/)
    const { checks } = await client.call('getDiagnostics', {})
    const engine = checks.find((check) => check.id === 'engine')
    assert.equal(engine?.status, 'error')
    assert.match(engine?.detail ?? '', /Docker does not answer/)

    const native = await client.call('createProject', {
      body: { name: 'bare', template: 'static', engine: 'native' },
      query: { wait: 60 },
    })
    assert.equal(native.status.state, 'running', JSON.stringify(native.operation?.error))
    assert.equal((await service.get('bare')).status, 200)
    const refused = await client.call('startProject', { params: { id: 'shop' }, query: { wait: 60 } })
    assert.equal(refused.error?.code, 'engine_unavailable', JSON.stringify(refused.error))

    await lab.restart()
    const backAt = performance.now()
    await until(async () => (await stateOf(service, 'shop')) !== 'unknown', 'the state to be known')
    const known = performance.now() - backAt
    await until(async () => (await stateOf(service, 'shop')) === 'running', 'the project to run', 60_000)
    t.diagnostic(`known ${Math.round(known)} ms and running ${ms(backAt)} after the daemon answered`)
    assert.ok(known < rightWithinMs, `${known} ms`)
    await answers(service, 'shop')
    assert.equal((await service.get('bare')).status, 200)
    assert.deepEqual(await strayObjects(service), [])
    const made = await createSite(service, 'later')
    assert.equal(made.status.state, 'running')
    for (const slug of ['shop', 'later'])
      await client.call('deleteProject', {
        params: { id: slug },
        query: { confirm: slug, data: 'delete', purge: true, wait: 60 },
      })
    assert.deepEqual(await dockerObjects(service), [])
  })
})

async function createSite({ client }: DockerService, slug: string) {
  const body: object = { name: slug, template: 'static', redis: { version: lines.redis } }
  const made = await client.call('createProject', { body: body as { name: string }, query: { wait: 60 } })
  assert.equal(made.status.state, 'running', JSON.stringify(made.operation?.error))
  return made
}

/** The proxy hears of what started by itself a moment after the status says so. */
function answers(service: DockerService, slug: string): Promise<void> {
  return until(async () => (await service.get(slug)).status === 200, `${slug} to answer`)
}

async function stateOf({ client }: DockerService, slug: string): Promise<string> {
  return (await client.call('getProject', { params: { id: slug } })).status.state
}

async function operationOf({ client }: DockerService, slug: string): Promise<string | null> {
  return (await client.call('getProject', { params: { id: slug } })).operation?.id ?? null
}

function pidsOf({
  workloads,
}: {
  readonly workloads: readonly { readonly name: string; readonly pid: number | null }[]
}) {
  return Object.fromEntries(workloads.map(({ name, pid }) => [name, pid]))
}

const ms = (since: number) => `${Math.round(performance.now() - since)} ms`

/** A request every ten milliseconds through the proxy, whatever became of the ones before. */
function startRequests(service: DockerService, slug: string) {
  const failures: string[] = []
  let answers = 0
  let longest = 0
  let failingSince: number | null = null
  const one = async () => {
    const status = await service.get(slug).then(
      (answer) => String(answer.status),
      (error: Error) => error.message,
    )
    if (status === '200') {
      answers += 1
      if (failingSince !== null) longest = Math.max(longest, performance.now() - failingSince)
      failingSince = null
    } else {
      failures.push(status)
      failingSince ??= performance.now()
    }
  }
  const under = new Set<Promise<void>>()
  const timer = setInterval(() => {
    // A busy machine is asked no more than it answers.
    if (under.size > 20) return
    const mine = one().finally(() => under.delete(mine))
    under.add(mine)
  }, 10)
  return {
    failures,
    answersMore: async (count: number) => {
      const goal = answers + count
      await until(async () => answers >= goal, `${count} more answers`, 60_000)
    },
    inWords: () =>
      `${answers} requests answered, ${failures.length} failed (${[...new Set(failures)].join(', ')}), at most ${Math.round(longest)} ms without an answer`,
    end: async () => {
      clearInterval(timer)
      await Promise.all(under)
    },
  }
}

/** Looks at a project all the time, and keeps the states in their order, each once for as long as it lasted. */
function startLooks(service: DockerService, slug: string) {
  const seen: string[] = []
  let asked = 0
  let failures = 0
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      asked += 1
      const state = await stateOf(service, slug).catch(() => null)
      if (state === null) failures += 1
      else if (state !== seen.at(-1)) seen.push(state)
      await delay(20)
    }
  })()
  return {
    seen,
    get asked() {
      return asked
    },
    get failures() {
      return failures
    },
    end: async () => {
      isOver = true
      await looking
    },
  }
}
