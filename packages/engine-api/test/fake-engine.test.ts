import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFakeEngine } from '../src/fake-engine.ts'
import { fingerprintOf } from '../src/fingerprint.ts'
import type { EngineEvent } from '../src/observed.ts'
import type { Workload } from '../src/workload.ts'

const signal = new AbortController().signal
const context = { signal, reveal: async () => 'secret', output: () => {} }

function workload(): Workload {
  const spec: Omit<Workload, 'fingerprint'> = {
    ref: { project: 'p', workload: 'web' },
    title: 'Web',
    run: { kind: 'process', argv: ['/bin/web'], cwd: '/' },
    env: {},
    data: [],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    dependsOn: [],
  }
  return { ...spec, fingerprint: fingerprintOf(spec) }
}

test('a step fails once when a test asks for it, by kind or by id', async () => {
  const engine = createFakeEngine()
  const [start] = engine.plan({ type: 'start', workload: workload() })
  assert.ok(start)
  for (const key of ['start', 'start:web']) {
    engine.failNext(key)
    await assert.rejects(engine.apply(start, context), { code: 'io_failed' })
    await engine.apply(start, context)
  }
  assert.deepEqual(
    engine.applied.map((one) => one.outcome),
    ['failed', 'done', 'failed', 'done'],
  )
})

test('a step that hangs ends by release or by abort', async () => {
  const engine = createFakeEngine()
  const [start] = engine.plan({ type: 'start', workload: workload() })
  assert.ok(start)
  const { release } = engine.hangNext('start')
  const applying = engine.apply(start, context)
  assert.equal(engine.applied[0]?.outcome, 'running')
  release()
  await applying
  engine.hangNext('start')
  await assert.rejects(engine.apply(start, { ...context, signal: AbortSignal.timeout(20) }), { code: 'aborted' })
})

test('a crash is reported and observed', async () => {
  const engine = createFakeEngine()
  const stop = new AbortController()
  const seen: EngineEvent['type'][] = []
  const watching = (async () => {
    for await (const event of engine.watch(stop.signal)) seen.push(event.type)
  })()
  for (const step of engine.plan({ type: 'start', workload: workload() })) await engine.apply(step, context)
  engine.crash({ project: 'p', workload: 'web' }, { code: 139 })
  const [observed] = await engine.observe('p', signal)
  assert.deepEqual([observed?.state, observed?.lastExit?.code], ['exited', 139])
  await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  await watching
  assert.deepEqual(seen, ['started', 'exited'])
})
