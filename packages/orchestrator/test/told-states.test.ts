import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { projectStatus } from '@stackquay/domain'
import { job, project, quiet, type Supervised, until, withSupervisor, workload } from './support.ts'

const web = workload('web')
const ref = web.ref

/** What a person is told while nothing but the supervisor is at work: the state after each change of what is known. */
function toldStates({ observations, watches, wanted, onChange }: Supervised): () => readonly string[] {
  const states: string[] = []
  const tell = () => {
    const { state } = projectStatus({
      phase: 'ready',
      desired: 'running',
      operation: null,
      wanted: [...wanted.values()],
      kinds: {},
      observed: observations.of(project),
      supervision: watches.of(project),
      blockers: [],
      since: '2026-01-01T00:00:00.000Z',
    })
    if (state !== states.at(-1)) states.push(state)
  }
  observations.onChange(tell)
  onChange.add(tell)
  tell()
  return () => states
}

/** It crashed, and the time of its next start has come: it is being started, and that goes on until it is released. */
async function untilStarting(t: TestContext, all: Supervised) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  all.engine.crash(ref)
  await until('a restart is planned', () => all.watches.of(project).web?.nextRestartAt != null)
  const start = all.engine.hangNext('start:web')
  all.clock.ahead += 200
  t.mock.timers.tick(200)
  await start.reached
  return start
}

/** The native engine shows a program that is just being made as stopped. */
function showAsStopped(t: TestContext, { engine }: Supervised) {
  const { observe } = engine
  return t.mock.method(engine, 'observe', async (...args: Parameters<typeof observe>) => {
    const observed = await observe(...args)
    return observed.map((one) => ({ ...one, state: 'stopped' as const, pid: null }))
  })
}

test('who looks in the middle of a start by itself is not told of a failure, nor is anybody until it was seen to run', async (t) => {
  await withSupervisor(async (all) => {
    await all.start(web)
    const told = toldStates(all)
    const start = await untilStarting(t, all)
    const shown = showAsStopped(t, all)
    await all.observations.refresh(project)
    shown.mock.restore()
    start.release()
    await until('it runs', () => told().at(-1) === 'running')
    assert.deepEqual(told(), ['running', 'degraded', 'running'])
  })
})

test('when it cannot be looked at after its start, it counts as starting until it can', async (t) => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { health: { kind: 'tcp', port: 'http', timeoutSeconds: 60 } }))
    all.engine.setHealth(ref, 'healthy')
    await quiet()
    const told = toldStates(all)
    const start = await untilStarting(t, all)
    const shown = showAsStopped(t, all)
    await all.observations.refresh(project)
    shown.mock.restore()
    const ready = all.engine.hangNext('ready:web')
    const blind = t.mock.method(all.engine, 'observe', async () => {
      throw new Error('It cannot be looked at.')
    })
    start.release()
    await ready.reached
    await quiet()
    assert.equal(all.watches.of(project).web?.nextRestartAt, null)
    blind.mock.restore()
    all.engine.setHealth(ref, 'healthy')
    ready.release()
    await until('it runs', () => told().at(-1) === 'running')
    assert.deepEqual(told(), ['running', 'degraded', 'starting', 'running'])
  })
})

test('one that answers before it was looked at is not shown as waiting for a start that has happened', async (t) => {
  await withSupervisor(async (all) => {
    await all.start(web)
    const start = await untilStarting(t, all)
    const { observe } = all.engine
    const looks = t.mock.method(all.engine, 'observe', async (...args: Parameters<typeof observe>) => {
      const observed = await observe(...args)
      // The check passes while the look that follows the start goes on.
      if (observed[0]?.state === 'running' && observed[0].health !== 'healthy') {
        all.engine.setHealth(ref, 'healthy')
        await quiet()
      }
      return observed
    })
    start.release()
    await until('it is well', () => all.observations.of(project)[0]?.health === 'healthy')
    await quiet()
    looks.mock.restore()
    const { nextRestartAt, reason } = all.watches.of(project).web!
    assert.deepEqual({ nextRestartAt, reason }, { nextRestartAt: null, reason: null })
  })
})

test('what waited for a file is starting, not failed, from when the file is there until it runs', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    const told = toldStates(all)
    all.wanted.set('web', workload('web', { setup: [job('install')] }))
    const install = all.engine.hangNext('job:web:install')
    all.engine.addFile('/srv/app.py')
    await install.reached
    await all.observations.refresh(project)
    assert.equal(told().at(-1), 'starting')
    install.release()
    await until('it runs', () => told().at(-1) === 'running')
    assert.deepEqual(told(), ['degraded', 'starting', 'running'])
  })
})

test('what waited for a file and is not wanted any more is not said to start', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    all.wanted.delete('web')
    all.engine.addFile('/srv/app.py')
    await quiet()
    assert.deepEqual(all.watches.of(project), {})
  })
})
