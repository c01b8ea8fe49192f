import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Engine, EngineError, type Observed } from '@stackquay/engine-api'
import { createObservations } from '../src/observations.ts'
import { quiet } from './support.ts'

/** An engine whose looks end when the test says so. */
function slowEngine() {
  const looks: { answer(...names: string[]): void; fail(): void }[] = []
  const engine = {
    observe: () => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Observed[]>()
      looks.push({
        answer: (...names) => resolve(names.map((pid) => ({ pid: Number(pid) }) as Observed)),
        fail: () => reject(new Error('it cannot be seen')),
      })
      return promise
    },
  } as unknown as Engine
  return { looks, observations: createObservations(engine, new AbortController().signal) }
}

const pids = (observed: readonly Observed[]) => observed.map(({ pid }) => pid)

test('nothing is known before the first look', () => {
  assert.deepEqual(slowEngine().observations.of('a'), [])
})

test('every refresh answers a look that began after it was asked for, and the askers share it', async () => {
  const { looks, observations } = slowEngine()
  const first = observations.refresh('a')
  const second = observations.refresh('a')
  const third = observations.refresh('a')
  await quiet()
  assert.equal(looks.length, 1)
  looks[0]!.answer('1')
  await quiet()
  assert.equal(looks.length, 2)
  looks[1]!.answer('2')
  assert.deepEqual(pids(await first), [1])
  assert.deepEqual(pids(await second), [2])
  assert.deepEqual(pids(await third), [2])
  assert.equal(looks.length, 2)
})

test('who asks while the second look goes on gets a third', async () => {
  const { looks, observations } = slowEngine()
  void observations.refresh('a')
  void observations.refresh('a')
  looks[0]!.answer('1')
  await quiet()
  const late = observations.refresh('a')
  looks[1]!.answer('2')
  await quiet()
  looks[2]!.answer('3')
  assert.deepEqual(pids(await late), [3])
  assert.deepEqual(pids(observations.of('a')), [3])
})

test('a look that failed fails for who asked for it; the next ones look again', async () => {
  const { looks, observations } = slowEngine()
  const first = observations.refresh('a')
  const second = observations.refresh('a')
  const third = observations.refresh('a')
  looks[0]!.fail()
  await assert.rejects(first, /cannot be seen/)
  await quiet()
  looks[1]!.answer('2')
  assert.deepEqual(pids(await second), [2])
  assert.deepEqual(pids(await third), [2])
  const fourth = observations.refresh('a')
  looks[2]!.answer('4')
  assert.deepEqual(pids(await fourth), [4])
})

test('projects are looked at apart', async () => {
  const { looks, observations } = slowEngine()
  const a = observations.refresh('a')
  const b = observations.refresh('b')
  assert.equal(looks.length, 2)
  looks[1]!.answer('7')
  assert.deepEqual(pids(await b), [7])
  looks[0]!.answer()
  assert.deepEqual(pids(await a), [])
})

test('a listener hears of what is different and of nothing else', async () => {
  const { looks, observations } = slowEngine()
  const heard: string[] = []
  observations.onChange((project) => heard.push(project))
  const look = async (...names: string[]) => {
    const asked = observations.refresh('a')
    looks.at(-1)!.answer(...names)
    await asked
    return heard.splice(0)
  }
  assert.deepEqual(await look(), [])
  assert.deepEqual(await look('1'), ['a'])
  assert.deepEqual(await look('1'), [])
  assert.deepEqual(await look(), ['a'])
  await look('1')
  observations.forget('a')
  assert.deepEqual(observations.of('a'), [])
})

test('an engine that does not answer takes nothing back; that nothing is known is told, and ends with the next look', async () => {
  let answers = true
  const engine = {
    observe: async () => {
      if (!answers) throw new EngineError('engine_unavailable', 'Docker does not answer.', { hint: 'Wait.' })
      return [{ pid: 1 } as Observed]
    },
  } as unknown as Engine
  const observations = createObservations(engine, new AbortController().signal)
  const told: (string | null)[] = []
  observations.onChange((project) => told.push(observations.unknown(project)))
  await observations.refresh('a')
  answers = false
  await assert.rejects(observations.refresh('a'), EngineError)
  await assert.rejects(observations.refresh('a'), EngineError)
  assert.deepEqual(pids(observations.of('a')), [1])
  answers = true
  await observations.refresh('a')
  assert.deepEqual(told, [null, 'Docker does not answer.', null])
  answers = false
  await assert.rejects(observations.refresh('a'), EngineError)
  observations.forget('a')
  assert.equal(observations.unknown('a'), null)
})

test('what was seen last is answered as long as nothing is known to have changed since', async () => {
  const { looks, observations } = slowEngine()
  const first = observations.current('a')
  await quiet()
  looks[0]!.answer('1')
  assert.deepEqual(pids(await first), [1])
  assert.deepEqual(pids(await observations.current('a')), [1])
  assert.equal(looks.length, 1)
  observations.outdate('a')
  const second = observations.current('a')
  await quiet()
  // Something happens during the look, and may be missing in it.
  observations.outdate('a')
  looks[1]!.answer('2')
  assert.deepEqual(pids(await second), [2])
  const third = observations.current('a')
  await quiet()
  looks[2]!.answer('3')
  assert.deepEqual(pids(await third), [3])
  observations.outdate('a')
  const failed = observations.current('a')
  await quiet()
  looks[3]!.fail()
  await assert.rejects(failed, /cannot be seen/)
  void observations.current('a')
  await quiet()
  assert.equal(looks.length, 5)
})

test('what happens in quick succession is looked at once, and not at all when somebody looked meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { looks, observations } = slowEngine()
  for (let count = 0; count < 5; count += 1) observations.refreshSoon('a')
  assert.equal(looks.length, 0)
  t.mock.timers.tick(250)
  assert.equal(looks.length, 1)
  looks[0]!.answer('1')
  await quiet()
  observations.refreshSoon('a')
  const asked = observations.refresh('a')
  looks[1]!.answer('2')
  await asked
  t.mock.timers.tick(1_000)
  assert.equal(looks.length, 2)
})
