import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { EngineError } from '@stackquay/engine-api'
import { job, project, quiet, type Supervised, until, withSupervisor, workload } from './support.ts'

const web = workload('web')
const db = workload('db')
const ref = web.ref

/** Restarts wait for seconds: the test says when those are over. */
function stopTime(t: TestContext, clock: { ahead: number }) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return async (ms: number) => {
    clock.ahead += ms
    t.mock.timers.tick(ms)
    await quiet()
  }
}

const seenAs = ({ watches }: Supervised, name: string) => watches.of(project)[name]

/** A wish that holds the queue until it is let go. */
function holdQueue({ queues }: Supervised) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = queues.enter(project, () => promise)
  return async () => {
    resolve()
    await held
    await quiet()
  }
}

test('what ended by itself is started again after a short wait, and what is known of it is told', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.print(ref, 'oh no')
    all.engine.crash(ref, { code: 3 })
    await until('it is counted', () => seenAs(all, 'web') !== undefined)
    const { nextRestartAt, ...rest } = seenAs(all, 'web')!
    assert.deepEqual(rest, {
      restarts: 1,
      gaveUp: false,
      reason: 'It ended with exit code 3.',
      logTail: ['oh no'],
    })
    const wait = Date.parse(nextRestartAt ?? '') - Date.now()
    assert.ok(wait > 0 && wait <= 200, String(wait))
    assert.equal(all.state('web'), 'exited')
    await pass(200)
    await until('it runs again', () => all.state('web') === 'running')
    await until('nothing is planned', () => seenAs(all, 'web')?.nextRestartAt === null)
    assert.deepEqual(all.done(), ['start:web'])
  })
})

test('a restart is planned until the new run is seen: nobody is told of a workload that is down and not coming', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    const { observe } = all.engine
    t.mock.method(all.engine, 'observe', async (...args: Parameters<typeof observe>) => {
      const observed = await observe(...args)
      await quiet()
      return observed
    })
    const seen: (string | undefined)[] = []
    all.onChange.add(() => {
      if (seenAs(all, 'web')?.nextRestartAt === null) seen.push(all.observations.of(project)[0]?.state)
    })
    await pass(200)
    await until('nothing is planned', () => seenAs(all, 'web')?.nextRestartAt === null)
    assert.deepEqual(seen, ['running'])
  })
})

test('waits grow, and after the sixth crash in a row it is given up with its reason', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    for (const [index, wait] of [200, 1_000, 2_000, 4_000, 8_000].entries()) {
      all.engine.crash(ref, { signal: 'SIGSEGV' })
      await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
      assert.equal(seenAs(all, 'web')?.restarts, index + 1)
      await pass(wait - 1)
      assert.equal(all.state('web'), 'exited')
      await pass(1)
      await until('it runs again', () => all.state('web') === 'running' && seenAs(all, 'web')?.nextRestartAt === null)
    }
    all.engine.crash(ref, { signal: 'SIGSEGV' })
    await until('it is given up', () => seenAs(all, 'web')?.gaveUp === true)
    assert.match(
      seenAs(all, 'web')?.reason ?? '',
      /^It was ended by SIGSEGV, 6 times in a row, and is not started again/,
    )
    await pass(600_000)
    assert.equal(all.state('web'), 'exited')
  })
})

test('a run that lasted a minute begins the waits anew; the number of restarts goes on', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    for (let times = 1; times <= 8; times += 1) {
      await pass(61_000)
      all.engine.crash(ref)
      await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
      assert.equal(seenAs(all, 'web')?.restarts, times)
      await pass(200)
      await until('it runs again', () => all.state('web') === 'running')
    }
  })
})

test('what crashes at once every time is given up, however long it ran well before that', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    await pass(3_600_000)
    all.engine.crash(ref)
    all.wanted.set('web', workload('web', { run: { kind: 'process', argv: ['/fake/exit', '1'], cwd: '/srv' } }))
    for (let waits = 0; waits < 5; waits += 1) {
      await until('it is counted', () => seenAs(all, 'web')?.nextRestartAt != null)
      await pass(8_000)
      await until('the start has been tried', () => all.done().includes('start:web'))
      await quiet()
    }
    await until('it is given up', () => seenAs(all, 'web')?.gaveUp === true)
    assert.deepEqual(all.errors, [])
  })
})

test('what is not wanted, or never to be restarted, stays down', async () => {
  await withSupervisor(async (all) => {
    await all.start(web)
    all.wanted.delete('web')
    all.engine.crash(ref)
    await all.start(workload('once', { restart: { kind: 'never' } }))
    all.engine.crash({ project, workload: 'once' })
    await quiet()
    assert.deepEqual(all.watches.of(project), {})
  })
})

test('what stopped being wanted during the wait stays down', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    all.wanted.delete('web')
    await pass(200)
    await until('the wait is over', () => seenAs(all, 'web')?.nextRestartAt === null)
    assert.deepEqual(all.done(), [])
  })
})

test('a restart runs the program and not its jobs: nothing was changed', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(workload('web', { setup: [job('build')] }))
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    await pass(200)
    await until('it runs again', () => all.state('web') === 'running')
    assert.deepEqual(all.done(), ['start:web'])
  })
})

test('a crash while an operation holds the project is counted when that has ended', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    const release = holdQueue(all)
    all.engine.crash(ref)
    await quiet()
    assert.equal(seenAs(all, 'web'), undefined)
    await release()
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    await pass(200)
    await until('it runs again', () => all.state('web') === 'running')
  })
})

test('an operation that started it again leaves nothing to do', async () => {
  await withSupervisor(async (all) => {
    await all.start(web)
    const release = holdQueue(all)
    all.engine.crash(ref)
    await quiet()
    await all.start(web)
    await release()
    await quiet()
    assert.equal(seenAs(all, 'web'), undefined)
    assert.equal(all.state('web'), 'running')
  })
})

test('an operation that gave it up is right', async () => {
  await withSupervisor(async (all) => {
    await all.start(web)
    const release = holdQueue(all)
    all.engine.crash(ref)
    await quiet()
    all.watches.giveUp(ref, 'It did not start.', ['why'])
    await release()
    await quiet()
    assert.deepEqual(seenAs(all, 'web'), {
      restarts: 0,
      nextRestartAt: null,
      gaveUp: true,
      reason: 'It did not start.',
      logTail: ['why'],
    })
  })
})

test('a restart whose time comes while an operation holds the project is done afterwards', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    const release = holdQueue(all)
    await pass(200)
    assert.deepEqual(all.done(), [])
    assert.notEqual(seenAs(all, 'web')?.nextRestartAt, null, 'it still waits for its start')
    await release()
    await until('it runs again', () => all.state('web') === 'running')
  })
})

test('a restart steps aside for an operation and is done after it', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    all.engine.hangNext('start')
    await pass(200)
    await until('it is starting', () => all.done().includes('start:web'))
    let state: string | undefined
    await all.queues.enter(project, async () => {
      state = all.state('web')
    })
    assert.equal(state, 'exited')
    await until('it runs again', () => all.state('web') === 'running')
    assert.deepEqual(all.errors, [])
  })
})

test('a restart that an operation made pointless is not done', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    const release = holdQueue(all)
    await pass(200)
    all.watches.forget(project)
    await release()
    assert.deepEqual(all.done(), [])
    assert.deepEqual(all.watches.of(project), {})
  })
})

test('two that crash at the same time are both started again', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    const health = { kind: 'tcp', port: 'http', timeoutSeconds: 60 } as const
    await all.start(workload('web', { health }))
    await all.start(db)
    all.engine.crash(ref)
    all.engine.crash(db.ref)
    await until('both are counted', () => seenAs(all, 'web') !== undefined && seenAs(all, 'db') !== undefined)
    // The first one does not become ready before the second one is there.
    const ready = all.engine.hangNext('ready:web')
    await pass(200)
    await until('both run', () => all.state('web') === 'running' && all.state('db') === 'running')
    ready.release()
  })
})

test('one that runs again and never becomes ready says so, until it does', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(workload('web', { health: { kind: 'tcp', port: 'http', timeoutSeconds: 60 } }))
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    all.engine.failNext('ready:web', new EngineError('never_ready', 'It was not ready.', { hint: 'See its log.' }))
    await pass(200)
    await until('it says so', () => seenAs(all, 'web')?.gaveUp === true)
    assert.equal(seenAs(all, 'web')?.reason, 'It was not ready.')
    assert.deepEqual(all.errors, [])
    all.engine.setHealth(ref, 'healthy')
    await until('it is well', () => seenAs(all, 'web')?.gaveUp === false)
    assert.deepEqual([seenAs(all, 'web')?.reason, seenAs(all, 'web')?.logTail], [null, []])
  })
})

test('one that is well after it was given up and then crashes is started again', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.watches.giveUp(ref, 'It was not ready.', [])
    all.engine.setHealth(ref, 'healthy')
    await until('it is well', () => seenAs(all, 'web')?.gaveUp === false)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    await pass(200)
    await until('it runs again', () => all.state('web') === 'running')
  })
})

test('a start that the machine refuses gives it up with the engine’s words', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    all.engine.crash(ref)
    await until('a restart is planned', () => seenAs(all, 'web')?.nextRestartAt != null)
    all.engine.failNext(
      'start',
      new EngineError('program_not_found', 'The program is gone.', { hint: 'Install it.', logTail: ['last'] }),
    )
    await pass(200)
    await until('it is given up', () => seenAs(all, 'web')?.gaveUp === true)
    assert.deepEqual([seenAs(all, 'web')?.reason, seenAs(all, 'web')?.logTail], ['The program is gone.', ['last']])
    assert.equal(all.errors.length, 1)
  })
})

test('a file that appears starts what waited for it, with its jobs', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    assert.equal(all.state('web'), 'waiting')
    all.wanted.set('web', workload('web', { setup: [job('install')] }))
    all.engine.addFile('/srv/app.py')
    await until('it runs', () => all.state('web') === 'running')
    assert.deepEqual(all.done(), ['job:web:install', 'start:web'])
  })
})

test('a file that appears while an operation holds the project starts it afterwards', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    const release = holdQueue(all)
    all.engine.addFile('/srv/app.py')
    await quiet()
    assert.equal(all.state('web'), 'waiting')
    await release()
    await until('it runs', () => all.state('web') === 'running')
  })
})

test('a file that appears starts nothing that is not wanted', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    all.wanted.delete('web')
    all.engine.addFile('/srv/app.py')
    await quiet()
    assert.equal(all.state('web'), 'waiting')
    assert.deepEqual(all.done(), [])
  })
})

test('an installation that fails when its file appears is told with its last lines', async () => {
  await withSupervisor(async (all) => {
    await all.start(workload('web', { requires: [{ anyOf: ['/srv/app.py'], hint: 'Add app.py.' }] }))
    all.wanted.set('web', workload('web', { setup: [{ ...job('install'), argv: ['/fake/exit', '1', 'no network'] }] }))
    all.engine.addFile('/srv/app.py')
    await until('it is given up', () => seenAs(all, 'web')?.gaveUp === true)
    assert.deepEqual(seenAs(all, 'web')?.logTail, ['no network'])
  })
})

test('a reset forgets one workload or all of a project, with what was planned', async (t) => {
  await withSupervisor(async (all) => {
    const pass = stopTime(t, all.clock)
    await all.start(web)
    await all.start(db)
    all.engine.crash(ref)
    all.engine.crash(db.ref)
    await until('both are counted', () => Object.keys(all.watches.of(project)).length === 2)
    all.watches.forget(project, 'web')
    assert.deepEqual(Object.keys(all.watches.of(project)), ['db'])
    all.watches.forget(project)
    assert.deepEqual(all.watches.of(project), {})
    await pass(10_000)
    assert.deepEqual(all.done(), [])
  })
})
