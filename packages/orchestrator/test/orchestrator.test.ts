import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFakeEngine, type FakeEngine } from '@stackquay/engine-api/fake-engine'
import { createObservations, type Observations } from '../src/observations.ts'
import { createOrchestrator, type Orchestrator } from '../src/orchestrator.ts'
import { createProjectQueues, type ProjectQueues } from '../src/project-queues.ts'
import { InterruptedError } from '../src/runner.ts'
import { createWatches, type Watches } from '../src/watches.ts'
import type { Outcome, Work } from '../src/work.ts'
import { project, quiet, until, workload } from './support.ts'

interface Orchestrated {
  readonly engine: FakeEngine
  readonly orchestrator: Orchestrator
  readonly queues: ProjectQueues
  readonly observations: Observations
  readonly watches: Watches
  /** What an operation does, by its id; without an entry it succeeds at once. */
  readonly works: Map<string, Partial<Work> | Error>
  /** What happened, in order. */
  readonly course: string[]
  readonly outcomes: Map<string, Outcome>
  readonly errors: string[]
  submit(id: string, more?: { project?: string | null; queue?: string; attempts?: number }): void
  ended(id: string): Promise<void>
}

const never = new AbortController().signal

async function withOrchestrator(work: (all: Orchestrated) => Promise<void>): Promise<void> {
  const engine = createFakeEngine()
  const works: Orchestrated['works'] = new Map()
  const course: string[] = []
  const outcomes = new Map<string, Outcome>()
  const errors: string[] = []
  const life = new AbortController()
  const queues = createProjectQueues()
  const observations = createObservations(engine, life.signal)
  const watches = createWatches()
  const orchestrator = createOrchestrator({
    engine,
    queues,
    observations,
    watches,
    life,
    reveal: async () => '',
    progressLog: {
      started: async ({ id }) => {
        course.push(`${id} started`)
        return true
      },
      progress: async () => undefined,
      output: () => undefined,
      ended: async (id, outcome) => {
        course.push(`${id} ${outcome.state}`)
        outcomes.set(id, outcome)
      },
    },
    work: async (id) => {
      const given = works.get(id) ?? {}
      if (given instanceof Error) throw given
      return {
        stages: [],
        deadlineSeconds: 60,
        settle: async (outcome) => void course.push(`${id} settled ${outcome.state}`),
        ...given,
      }
    },
    wanted: async (ref) => (ref.workload === 'web' ? workload('web') : null),
    onError: (error, what) => errors.push(`${what}: ${(error as Error).message}`),
    projects: () => [],
    now: () => new Date(),
  })
  try {
    await work({
      engine,
      orchestrator,
      queues,
      observations,
      watches,
      works,
      course,
      outcomes,
      errors,
      submit: (id, more = {}) =>
        orchestrator.submit({ id, project, queue: more.project ?? project, attempts: 0, ...more }),
      ended: (id) => orchestrator.ended(id, never),
    })
  } finally {
    await orchestrator.close()
    await engine.close()
  }
}

/** Work with one step that goes on until it is released or aborted. */
function hanging() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const work: Partial<Work> = {
    stages: [
      async () => [
        {
          id: 'hang',
          title: 'Hang',
          run: ({ signal }) =>
            Promise.race([
              promise,
              new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
            ]),
        },
      ],
    ],
  }
  return { work, release: resolve }
}

test('an operation is begun, carried out, settled and ended, in this order', async () => {
  await withOrchestrator(async ({ submit, ended, course }) => {
    submit('op_1')
    await ended('op_1')
    assert.deepEqual(course, ['op_1 started', 'op_1 settled succeeded', 'op_1 succeeded'])
  })
})

test('operations of one project wait for each other; another project’s does not', async () => {
  await withOrchestrator(async ({ submit, ended, works, course }) => {
    const first = hanging()
    works.set('op_1', first.work)
    submit('op_1')
    submit('op_2')
    submit('op_3', { project: 'prj_2' })
    await ended('op_3')
    assert.deepEqual(
      course.filter((line) => line.startsWith('op_2')),
      [],
    )
    first.release()
    await ended('op_2')
    assert.deepEqual(
      course.filter((line) => !line.startsWith('op_3') && !line.includes('settled')),
      ['op_1 started', 'op_1 succeeded', 'op_2 started', 'op_2 succeeded'],
    )
  })
})

test('operations of no project wait for those of their queue, and hold up no project', async () => {
  await withOrchestrator(async ({ submit, ended, works, course }) => {
    const first = hanging()
    works.set('op_1', first.work)
    submit('op_1', { project: null, queue: 'tgt_1' })
    submit('op_2', { project: null, queue: 'tgt_1' })
    submit('op_3', { project: null, queue: 'tgt_2' })
    submit('op_4')
    await Promise.all([ended('op_3'), ended('op_4')])
    assert.ok(course.every((line) => !line.startsWith('op_2')))
    first.release()
    await ended('op_2')
    assert.ok(course.includes('op_2 succeeded'))
  })
})

test('what an operation left behind was seen before it is settled', async () => {
  await withOrchestrator(async ({ submit, ended, works, engine, observations }) => {
    const one = workload('web')
    let seen: readonly string[] = []
    works.set('op_1', {
      stages: [
        async () =>
          engine.plan({ type: 'start', workload: one }).map((step) => ({
            id: step.id,
            title: step.title,
            run: ({ signal }) => engine.apply(step, { signal, output: () => undefined, reveal: async () => '' }),
          })),
      ],
      settle: async () => {
        seen = observations.of(project).map(({ ref, state }) => `${ref.workload} ${state}`)
      },
    })
    submit('op_1')
    await ended('op_1')
    assert.deepEqual(seen, ['web running'])
  })
})

test('an operation whose work cannot be decided fails, and the next one has its turn', async () => {
  await withOrchestrator(async ({ submit, ended, works, outcomes }) => {
    const reason = new Error('there is no such project')
    works.set('op_1', reason)
    submit('op_1')
    submit('op_2')
    await ended('op_2')
    assert.deepEqual(outcomes.get('op_1'), { state: 'failed', error: reason })
    assert.equal(outcomes.get('op_2')?.state, 'succeeded')
  })
})

test('an error in settling fails what had succeeded, and hides no other failure', async () => {
  await withOrchestrator(async ({ submit, ended, works, outcomes, errors }) => {
    const settle = () => Promise.reject(new Error('not settled'))
    const reason = new Error('the step failed')
    works.set('op_1', { settle })
    works.set('op_2', { settle, stages: [() => Promise.reject(reason)] })
    submit('op_1')
    submit('op_2')
    await ended('op_2')
    const first = outcomes.get('op_1')
    assert.ok(first?.state === 'failed' && (first.error as Error).message === 'not settled')
    assert.deepEqual(outcomes.get('op_2'), { state: 'failed', error: reason })
    assert.equal(errors.length, 2)
  })
})

test('an engine that cannot be asked what runs keeps no operation from ending', async () => {
  await withOrchestrator(async ({ submit, ended, engine, outcomes, errors }) => {
    engine.observe = () => Promise.reject(new Error('it cannot be seen'))
    submit('op_1')
    await ended('op_1')
    assert.equal(outcomes.get('op_1')?.state, 'succeeded')
    assert.deepEqual(errors, ['looking at prj_1: it cannot be seen'])
  })
})

test('an operation that is cancelled while it runs ends as cancelled', async () => {
  await withOrchestrator(async ({ submit, ended, works, orchestrator, course }) => {
    works.set('op_1', hanging().work)
    submit('op_1')
    await until('it runs', () => course.includes('op_1 started'))
    await quiet()
    assert.equal(orchestrator.cancel('op_1'), true)
    await ended('op_1')
    assert.deepEqual(course, ['op_1 started', 'op_1 settled cancelled', 'op_1 cancelled'])
    assert.equal(orchestrator.cancel('op_1'), false)
    assert.equal(orchestrator.cancel('op_9'), false)
  })
})

test('an operation that is cancelled while it waits runs no step', async () => {
  await withOrchestrator(async ({ submit, ended, works, orchestrator, course }) => {
    const first = hanging()
    works.set('op_1', first.work)
    works.set('op_2', { stages: [async () => assert.fail('not asked')] })
    submit('op_1')
    submit('op_2')
    orchestrator.cancel('op_2')
    first.release()
    await ended('op_2')
    assert.equal(course.at(-1), 'op_2 cancelled')
  })
})

test('waiting for an end ends with the caller’s patience, and at once for what is not there', async () => {
  await withOrchestrator(async ({ submit, works, orchestrator }) => {
    works.set('op_1', hanging().work)
    submit('op_1')
    await orchestrator.ended('op_1', AbortSignal.abort())
    await orchestrator.ended('op_1', AbortSignal.timeout(10))
    await orchestrator.ended('op_9', never)
    assert.equal(orchestrator.cancel('op_1'), true)
  })
})

test('an operation that ended the service three times is not tried again; it is ended first and then settled', async () => {
  await withOrchestrator(async ({ submit, ended, works, course, outcomes }) => {
    works.set('op_1', { stages: [async () => assert.fail('not asked')] })
    submit('op_1', { attempts: 3 })
    await ended('op_1')
    assert.deepEqual(course, ['op_1 failed', 'op_1 settled failed'])
    const outcome = outcomes.get('op_1')
    assert.ok(outcome?.state === 'failed' && outcome.error instanceof InterruptedError)
    submit('op_2', { attempts: 2 })
    await ended('op_2')
    assert.equal(outcomes.get('op_2')?.state, 'succeeded')
  })
})

test('when the service ends, operations are neither settled nor ended, and waiting ones are not begun', async () => {
  await withOrchestrator(async ({ submit, works, orchestrator, course, errors }) => {
    works.set('op_1', hanging().work)
    submit('op_1')
    submit('op_2')
    await until('it runs', () => course.includes('op_1 started'))
    await quiet()
    await orchestrator.close()
    assert.deepEqual(course, ['op_1 started'])
    assert.deepEqual(errors, [])
  })
})

test('work beside operations has the project for itself', async () => {
  await withOrchestrator(async ({ submit, ended, course, queues }) => {
    const beside = queues.enter(project, async () => {
      await quiet()
      course.push('beside')
      return 7
    })
    submit('op_1')
    assert.equal(await beside, 7)
    await ended('op_1')
    assert.deepEqual(course.slice(0, 2), ['beside', 'op_1 started'])
  })
})

test('what the engine tells is followed: a crash is seen and counted', async () => {
  await withOrchestrator(async ({ engine, orchestrator, observations, watches }) => {
    orchestrator.watch()
    const one = workload('web')
    for (const step of engine.plan({ type: 'start', workload: one }))
      await engine.apply(step, { signal: never, output: () => undefined, reveal: async () => '' })
    await until('it is seen', () => observations.of(project)[0]?.state === 'running')
    engine.crash(one.ref)
    await until('it is counted', () => watches.of(project).web?.restarts === 1)
    assert.equal(observations.of(project)[0]?.state, 'exited')
    await until('it runs again', () => observations.of(project)[0]?.state === 'running')
  })
})

test('an engine whose events break off is followed again', async () => {
  await withOrchestrator(async ({ engine, orchestrator, errors }) => {
    const watch = engine.watch
    let times = 0
    engine.watch = (signal) => {
      times += 1
      if (times === 1) throw new Error('the line is cut')
      return watch(signal)
    }
    orchestrator.watch()
    await until('it is followed again', () => times === 2)
    assert.deepEqual(errors, ['following the engine: the line is cut'])
  })
})

test('after the end nothing is started any more', async () => {
  await withOrchestrator(async ({ engine, orchestrator, watches }) => {
    orchestrator.watch()
    const one = workload('web')
    for (const step of engine.plan({ type: 'start', workload: one }))
      await engine.apply(step, { signal: never, output: () => undefined, reveal: async () => '' })
    engine.crash(one.ref)
    await until('it is counted', () => watches.of(project).web !== undefined)
    await orchestrator.close()
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal(engine.machine.workloads.get('prj_1/web')?.state, 'exited')
  })
})
