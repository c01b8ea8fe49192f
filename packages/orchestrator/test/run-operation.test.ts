import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CancelledError, DeadlineError, runOperation, type StepRecord } from '../src/run-operation.ts'
import type { StepContext, Work, WorkStep } from '../src/work.ts'

const step = (id: string, run: (context: StepContext) => Promise<void> | void = () => undefined): WorkStep => ({
  id,
  title: `Do ${id}`,
  run: async (context) => run(context),
})

/** Until it is aborted, as an engine's step is. */
const forever = ({ signal }: StepContext) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('the step was aborted'))))

async function run(
  stages: readonly (readonly WorkStep[] | (() => Promise<readonly WorkStep[]>))[],
  more: { deadlineSeconds?: number; signal?: AbortSignal; failProgress?: boolean } = {},
) {
  const told: { states: string; progress: number }[] = []
  const lines: string[] = []
  const work: Work = {
    stages: stages.map((stage) => (typeof stage === 'function' ? stage : async () => stage)),
    deadlineSeconds: more.deadlineSeconds ?? 60,
    settle: async () => assert.fail('who runs it settles it'),
  }
  const result = await runOperation({
    operation: 'op_1',
    work,
    progressLog: {
      progress: async (_operation, steps, progress) => {
        if (more.failProgress === true) throw new Error('the disk is full')
        told.push({ states: states(steps), progress })
      },
      output: (_operation, id, text) => lines.push(...text.map((line) => `${id}: ${line}`)),
    },
    signal: more.signal ?? new AbortController().signal,
    now: () => new Date('2026-01-01T00:00:00Z'),
  })
  return { ...result, told, lines }
}

const states = (steps: readonly StepRecord[]) => steps.map(({ state }) => state).join(' ')

test('steps run one after the other; each beginning is told with the share that is done', async () => {
  const { outcome, steps, told } = await run([[step('a'), step('b')], [step('c')]])
  assert.deepEqual(outcome, { state: 'succeeded' })
  assert.equal(states(steps), 'succeeded succeeded succeeded')
  assert.deepEqual(told, [
    { states: 'running pending', progress: 0 },
    { states: 'succeeded running', progress: 0.5 },
    { states: 'succeeded succeeded running', progress: 2 / 3 },
  ])
})

test('a stage is asked for its steps only when the one before has ended', async () => {
  const course: string[] = []
  await run([
    async () => [step('a', () => void course.push('a ran'))],
    async () => {
      course.push('the second was asked')
      return []
    },
  ])
  assert.deepEqual(course, ['a ran', 'the second was asked'])
})

test('the share that is shown never falls, though later stages add steps', async () => {
  const { told } = await run([
    ['a', 'b', 'c'].map((id) => step(id)),
    ['d', 'e', 'f', 'g', 'h', 'i'].map((id) => step(id)),
  ])
  const shares = told.map(({ progress }) => progress)
  assert.deepEqual(
    shares,
    [...shares].sort((a, b) => a - b),
  )
})

test('steps of the same name are told apart', async () => {
  const { steps } = await run([[step('stop'), step('stop')], [step('stop')]])
  assert.deepEqual(
    steps.map(({ id }) => id),
    ['stop', 'stop-2', 'stop-3'],
  )
})

test('a failing step fails the operation; what comes after it in its stage is skipped and later stages are not asked', async () => {
  const reason = new Error('no')
  const { outcome, steps } = await run([
    [step('a'), step('b', () => Promise.reject(reason)), step('c')],
    async () => assert.fail('not asked'),
  ])
  assert.deepEqual(outcome, { state: 'failed', error: reason })
  assert.equal(states(steps), 'succeeded failed skipped')
  assert.ok(steps[1]?.finishedAt !== null && steps[2]?.startedAt === null)
})

test('a stage that cannot say its steps fails the operation', async () => {
  const reason = new Error('no')
  const { outcome, steps } = await run([() => Promise.reject(reason)])
  assert.deepEqual([outcome, steps], [{ state: 'failed', error: reason }, []])
})

test('output is told as whole lines, and the last fifty stay in the record', async () => {
  const { steps, lines } = await run([
    [
      step('a', ({ output }) => {
        output({ stream: 'stdout', text: 'one\ntw' })
        output({ stream: 'stderr', text: 'oh\r\n' })
        output({ stream: 'stdout', text: 'o\n\nlast' })
      }),
      step('b', ({ output }) => {
        for (let index = 0; index < 120; index += 1) output({ stream: 'stdout', text: `line ${index}\n` })
      }),
      step('c', ({ output }) => output({ stream: 'stdout', text: 'x'.repeat(20_000) })),
    ],
  ])
  assert.deepEqual(steps[0]?.output, ['one', 'oh', 'two', '', 'last'])
  assert.deepEqual(lines.slice(0, 5), ['a: one', 'a: oh', 'a: two', 'a: ', 'a: last'])
  assert.equal(lines.filter((line) => line.startsWith('b: ')).length, 120)
  assert.equal(steps[1]?.output.length, 50)
  assert.equal(steps[1]?.output.at(-1), 'line 119')
  assert.equal(steps[2]?.output.join('').length, 20_000)
})

test('output of a step that failed is in its record', async () => {
  const { steps } = await run([
    [
      step('a', async ({ output }) => {
        output({ stream: 'stderr', text: 'half a line' })
        throw new Error('no')
      }),
    ],
  ])
  assert.deepEqual(steps[0]?.output, ['half a line'])
})

test('a cancelled operation ends its step and skips the rest', async () => {
  const controller = new AbortController()
  const { outcome, steps } = await run(
    [
      [
        step('a', (context) => {
          queueMicrotask(() => controller.abort(new CancelledError('It was cancelled.')))
          return forever(context)
        }),
        step('b'),
      ],
    ],
    { signal: controller.signal },
  )
  assert.deepEqual(outcome, { state: 'cancelled' })
  assert.equal(states(steps), 'cancelled skipped')
})

test('an operation that was cancelled before its turn runs no step', async () => {
  const signal = AbortSignal.abort(new CancelledError('It was cancelled.'))
  const { outcome, steps } = await run([async () => assert.fail('not asked')], { signal })
  assert.deepEqual([outcome, steps], [{ state: 'cancelled' }, []])
})

test('an operation that takes too long fails and says so', async () => {
  const { outcome, steps } = await run([[step('a', forever), step('b')]], { deadlineSeconds: 0.02 })
  assert.ok(outcome.state === 'failed' && outcome.error instanceof DeadlineError)
  assert.match(outcome.error.message, /longer than 0\.02 seconds/)
  assert.equal(states(steps), 'failed skipped')
})

test('when the operation has ended its deadline is gone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const seen: AbortSignal[] = []
  const { outcome } = await run([[step('a', ({ signal }) => void seen.push(signal))]])
  t.mock.timers.tick(3_600_000)
  assert.equal(outcome.state, 'succeeded')
  assert.equal(seen[0]?.aborted, false)
})

test('when the service ends, nothing is decided about the operation', async () => {
  const controller = new AbortController()
  const closing = new Error('the service is ending')
  await assert.rejects(
    run(
      [
        [
          step('a', (context) => {
            queueMicrotask(() => controller.abort(closing))
            return forever(context)
          }),
        ],
      ],
      { signal: controller.signal },
    ),
    (error) => error === closing,
  )
})

test('a progress log that cannot write fails the operation, and no step is left running in the record', async () => {
  const { outcome, steps } = await run([[step('a', () => assert.fail('not run')), step('b')]], { failProgress: true })
  assert.equal(outcome.state, 'failed')
  assert.equal(states(steps), 'failed skipped')
})

/** A step of a branch that says when it begins and ends, and ends when the test lets it. */
function branched(course: string[]) {
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const endOf = (id: string) => {
    const known = ends.get(id) ?? Promise.withResolvers<void>()
    ends.set(id, known)
    return known
  }
  return {
    step: (id: string, name: string, after: readonly string[] = []): WorkStep => ({
      ...step(id, async () => {
        course.push(`${id} begins`)
        await endOf(id).promise
        course.push(`${id} ends`)
      }),
      branch: { name, after },
    }),
    end: async (id: string) => {
      endOf(id).resolve()
      await settled()
    },
    fail: async (id: string) => {
      endOf(id).reject(new Error(`${id} failed`))
      await settled()
    },
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

test('branches run beside each other, and one that waits for others begins when they have ended', async () => {
  const course: string[] = []
  const branches = branched(course)
  const steps = [
    branches.step('redis', 'redis'),
    branches.step('init', 'database'),
    branches.step('database', 'database'),
    branches.step('web', 'web', ['redis', 'database', 'one that is not there']),
  ]
  const running = run([[...steps, step('after all', () => void course.push('after all'))]])
  await settled()
  assert.deepEqual(course.splice(0), ['redis begins', 'init begins'])
  await branches.end('init')
  await branches.end('redis')
  assert.deepEqual(course.splice(0), ['init ends', 'database begins', 'redis ends'])
  await branches.end('database')
  assert.deepEqual(course.splice(0), ['database ends', 'web begins'])
  await branches.end('web')
  assert.deepEqual((await running).outcome, { state: 'succeeded' })
  assert.deepEqual(course, ['web ends', 'after all'])
})

test('when a branch fails, what runs beside it ends, nothing more begins, and its error is the outcome', async () => {
  const course: string[] = []
  const branches = branched(course)
  const running = run([
    [
      branches.step('redis', 'redis'),
      branches.step('init', 'database'),
      branches.step('database', 'database'),
      branches.step('web', 'web', ['redis']),
    ],
  ])
  await settled()
  await branches.fail('redis')
  await branches.end('init')
  const { outcome, steps } = await running
  assert.equal(outcome.state === 'failed' && (outcome.error as Error).message, 'redis failed')
  assert.equal(states(steps), 'failed succeeded skipped skipped')
})

test('a cancellation reaches every branch', async () => {
  const abort = new AbortController()
  const running = run(
    [
      [
        { ...step('a', forever), branch: { name: 'a', after: [] } },
        { ...step('b', forever), branch: { name: 'b', after: [] } },
      ],
    ],
    { signal: abort.signal },
  )
  await settled()
  abort.abort(new CancelledError('enough'))
  const { outcome, steps } = await running
  assert.equal(outcome.state, 'cancelled')
  assert.equal(states(steps), 'cancelled cancelled')
})
