import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EngineEvent } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { createDockerEngine } from '../src/docker/index.ts'
import { type DockerHarness, dockerHarness } from './docker-harness.ts'
import { contextOf, never, refusal, remove, start, workloadOf } from './docker-workloads.ts'

const PROJECT = 'outage'

describe('the Docker engine while Docker goes and comes', () => {
  let harness: DockerHarness
  before(async () => {
    harness = await dockerHarness(PROJECT)
  })
  after(() => harness.close())

  const sleeper = (name: string) => workloadOf(PROJECT, name, harness.shell('sleep 600'))
  const watch = (engine: Awaited<ReturnType<DockerHarness['open']>>) => {
    const events: EngineEvent[] = []
    const stop = new AbortController()
    const watching = (async () => {
      for await (const event of engine.watch(stop.signal)) events.push(event)
    })()
    return {
      events,
      count: (type: EngineEvent['type']) => events.filter((event) => event.type === type).length,
      async end() {
        stop.abort()
        await watching
      },
    }
  }

  test('its silence is reported once, with the reason, then what ended meanwhile, then its return', async () => {
    const engine = await harness.open()
    const one = sleeper('one')
    const two = sleeper('two')
    await start(engine, one)
    await start(engine, two)
    const { events, count, end } = watch(engine)
    await harness.lab.kill()
    await waitFor('the loss', () => count('unreachable') === 1, { timeoutMs: 30_000 })
    const lost = events.find((event) => event.type === 'unreachable')
    assert.match(lost?.type === 'unreachable' ? lost.reason : '', /^Docker does not answer/)
    const asked = performance.now()
    const questions = [
      () => engine.observe(PROJECT, never),
      () => engine.projects(never),
      () => engine.dataNames(PROJECT, never),
      () => engine.usage(never),
      () => engine.portOwner(1, never),
    ]
    for (const question of questions) {
      const { code, retryable } = await refusal(question())
      assert.deepEqual([code, retryable], ['engine_unavailable', true])
    }
    assert.equal((await refusal(start(engine, one))).code, 'engine_unavailable')
    assert.ok(performance.now() - asked < 10_000)
    await harness.lab.restart()
    await waitFor('its return', () => count('reachable') === 1, { timeoutMs: 30_000 })
    assert.deepEqual(
      events.filter(({ type }) => type === 'exited').map((event) => event.type === 'exited' && event.ref.workload),
      ['one', 'two'],
    )
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['unreachable', 'reachable'])
    await start(engine, one)
    assert.equal((await engine.observe(PROJECT, never)).find(({ ref }) => ref.workload === 'one')?.state, 'running')
    assert.deepEqual([count('unreachable'), count('exited'), count('reachable')], [1, 2, 1])
    await end()
    await remove(engine, one)
    await remove(engine, two)
  })

  test('an engine that is opened while no daemon is there says so quickly, and finds everything once there is one', async () => {
    await harness.lab.kill()
    const opened = performance.now()
    const engine = await harness.open()
    const { count, end } = watch(engine)
    assert.equal((await refusal(engine.observe(PROJECT, never))).code, 'engine_unavailable')
    assert.equal((await engine.probe(never)).ready, false)
    assert.ok(performance.now() - opened < 10_000)
    await harness.lab.restart()
    await waitFor('the daemon', () => count('reachable') === 1, { timeoutMs: 30_000 })
    const one = sleeper('late')
    await start(engine, one)
    assert.deepEqual(
      (await engine.observe(PROJECT, never)).map(({ ref, state }) => [ref.workload, state]),
      [['late', 'running']],
    )
    await remove(engine, one)
    await end()
  })

  test('a daemon that hangs without closing a connection is noticed, and so is that it goes on', async () => {
    const engine = await harness.open()
    const one = sleeper('steady')
    await start(engine, one)
    const { count, end } = watch(engine)
    process.kill(harness.lab.pid(), 'SIGSTOP')
    try {
      assert.equal((await refusal(engine.observe(PROJECT, never))).code, 'engine_unavailable')
      await waitFor('the loss', () => count('unreachable') === 1, { timeoutMs: 60_000 })
    } finally {
      process.kill(harness.lab.pid(), 'SIGCONT')
    }
    await waitFor('its return', () => count('reachable') === 1, { timeoutMs: 60_000 })
    assert.deepEqual([count('unreachable'), count('exited')], [1, 0])
    await end()
    await remove(engine, one)
  })

  test('what is opened and closed without a daemon does not wait for one', async () => {
    const home = join(harness.directory, '..', 'elsewhere')
    const engine = await createDockerEngine({ ...harness.options, home, host: 'unix:///nowhere/docker.sock' })
    assert.equal((await refusal(engine.observe(PROJECT, never))).code, 'engine_unavailable')
    await engine.close()
  })

  test('a stop that its caller gives up is finished by another process over the same home, and is no crash', async () => {
    const engine = await harness.open()
    const other = await harness.open()
    const stubborn = workloadOf(PROJECT, 'stubborn', harness.shell("trap '' TERM; while :; do sleep 1; done"), {
      stop: { signal: 'SIGTERM', deadlineSeconds: 600 },
    })
    await start(engine, stubborn)
    const { count, end } = watch(engine)
    const cancel = new AbortController()
    const [step] = engine.plan({ type: 'stop', ref: stubborn.ref, title: 'x', stop: stubborn.stop })
    assert.ok(step)
    const stopping = refusal(engine.apply(step, contextOf([], cancel.signal)))
    await new Promise((resolve) => setTimeout(resolve, 300))
    cancel.abort()
    assert.equal((await stopping).code, 'aborted')
    const state = async (one: typeof engine) =>
      (await one.observe(PROJECT, never)).find(({ ref }) => ref.workload === 'stubborn')?.state
    assert.equal(await state(other), 'running')
    await other.apply({ ...step, ...{ stop: { signal: 'SIGTERM', deadlineSeconds: 1 } } } as typeof step, contextOf())
    assert.equal(await state(engine), 'stopped')
    assert.equal(await state(other), 'stopped')
    assert.equal(count('exited'), 0)
    await end()
    await remove(other, stubborn)
  })
})
