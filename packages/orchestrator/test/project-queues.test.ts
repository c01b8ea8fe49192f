import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProjectQueues } from '../src/project-queues.ts'
import { quiet } from './support.ts'

test('work of one project goes one after the other in the order it came, even after a failure', async () => {
  const queues = createProjectQueues()
  const course: string[] = []
  const work = (name: string, fails = false) =>
    queues.enter('a', async () => {
      course.push(`${name} begins`)
      await quiet()
      course.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    })
  const answers = await Promise.allSettled([work('1'), work('2', true), work('3')])
  assert.deepEqual(course, ['1 begins', '1 ends', '2 begins', '2 ends', '3 begins', '3 ends'])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('projects do not wait for each other', async () => {
  const queues = createProjectQueues()
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = queues.enter('a', () => promise)
  assert.equal(await queues.enter('b', async () => 'done'), 'done')
  resolve()
  await first
})

test('quiet work enters only a free queue and answers whether it was done', async () => {
  const queues = createProjectQueues()
  const { promise, resolve } = Promise.withResolvers<void>()
  const operation = queues.enter('a', () => promise)
  assert.equal(queues.isFree('a'), false)
  assert.equal(await queues.enterQuietly('a', async () => assert.fail('it is not free')), false)
  resolve()
  await operation
  assert.equal(queues.isFree('a'), true)
  let did = false
  assert.equal(
    await queues.enterQuietly('a', async () => {
      did = true
    }),
    true,
  )
  assert.ok(did)
})

test('quiet work is asked to step aside when an operation arrives, which waits until it did', async () => {
  const queues = createProjectQueues()
  const course: string[] = []
  const silent = queues.enterQuietly('a', async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await quiet()
    course.push('quiet work stepped aside')
    signal.throwIfAborted()
  })
  await quiet()
  await queues.enter('a', async () => course.push('operation'))
  assert.equal(await silent, false)
  assert.deepEqual(course, ['quiet work stepped aside', 'operation'])
})

test('quiet work that came to its end in spite of an operation was done', async () => {
  const queues = createProjectQueues()
  const silent = queues.enterQuietly('a', async () => quiet())
  await queues.enter('a', async () => undefined)
  assert.equal(await silent, true)
})

test('an error of quiet work is told to who asked for it', async () => {
  const queues = createProjectQueues()
  await assert.rejects(
    queues.enterQuietly('a', async () => {
      throw new Error('no')
    }),
    /no/,
  )
  assert.equal(queues.isFree('a'), true)
})

test('whoever waits for a free queue goes on after the last of the queue', async () => {
  const queues = createProjectQueues()
  const course: number[] = []
  const work = (index: number) => queues.enter('a', async () => quiet().then(() => course.push(index)))
  void work(1)
  void work(2)
  const free = queues.whenFree('a').then(() => course.push(0))
  void work(3)
  await queues.allFree()
  await free
  assert.deepEqual(course, [1, 2, 3, 0])
  await queues.whenFree('a')
})
