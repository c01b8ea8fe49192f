import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProblemError } from '@stackquay/contract'
import type { FrameSocket } from '../src/http/handler.ts'
import { createRelay, type StreamChunk, type StreamSource } from '../src/streams/relay.ts'

const problem = () => new ProblemError('not_found', 'It is gone.')

/** Holds numbers up to `end`, one in a frame, and counts how often each was made. */
function numbers(end: number, made: number[] = []): StreamSource {
  return {
    next: async (after) => {
      if (after >= end) return null
      made.push(after + 1)
      return { frames: [{ kind: 'text', bytes: Buffer.from(String(after + 1)) }], to: after + 1 }
    },
  }
}

/** A socket that takes what it gets, or waits until it is let go on. What it took has left when `left` ends. */
function reader(taken: () => Promise<void> = async () => {}, left: () => Promise<void> = async () => {}) {
  const leaving = new AbortController()
  const texts: string[] = []
  const take = async (bytes: Uint8Array | string) => {
    await taken()
    if (leaving.signal.aborted) throw new Error('gone')
    texts.push(String(bytes))
  }
  const socket: FrameSocket = {
    send: async () => {},
    sendText: take,
    sendBinary: take,
    sendNumbered: (type, fields) => take(`${type} ${fields}`),
    flushed: () => left(),
    receive: () => {},
    signal: leaving.signal,
  }
  return { socket, texts, leave: () => leaving.abort(new Error('gone')) }
}

test('twenty readers get the same, and each chunk is made once', async () => {
  const made: number[] = []
  const relay = createRelay(numbers(50, made))
  const readers = Array.from({ length: 20 }, () => reader())
  const ends = await Promise.all(readers.map(({ socket }) => relay.send(socket, 0)))
  const expected = Array.from({ length: 50 }, (_, at) => String(at + 1))
  for (const { texts } of readers) assert.deepEqual(texts, expected)
  assert.deepEqual(ends, Array(20).fill(50))
  assert.deepEqual(made.map(String), expected)
})

test('a reader that begins later gets what comes after its position alone', async () => {
  const relay = createRelay(numbers(10))
  const late = reader()
  assert.equal(await relay.send(late.socket, 7), 10)
  assert.deepEqual(late.texts, ['8', '9', '10'])
})

test('one that takes nothing keeps nobody waiting, and reads anew what is not held any more', async () => {
  const made: number[] = []
  const relay = createRelay(numbers(1000, made), { keepBytes: 30 })
  const stuck = Promise.withResolvers<void>()
  const slow = reader(() => stuck.promise)
  const sent = relay.send(slow.socket, 0)
  const quick = [reader(), reader()]
  await Promise.all(quick.map(({ socket }) => relay.send(socket, 0)))
  assert.deepEqual(
    quick.map(({ texts }) => texts.length),
    [1000, 1000],
  )
  const before = made.length
  stuck.resolve()
  await sent
  assert.equal(slow.texts.length, 1000)
  assert.ok(made.length >= before + 900, 'most of it was not held')
})

test('a reader that leaves while others wait for the same chunk does not take it from them', async () => {
  const chunk = Promise.withResolvers<StreamChunk | null>()
  const asked = Promise.withResolvers<AbortSignal>()
  const source: StreamSource = {
    next: (after, signal) => {
      asked.resolve(signal)
      return after === 0 ? chunk.promise : Promise.resolve(null)
    },
  }
  const relay = createRelay(source)
  const [leaver, stayer] = [reader(), reader()]
  const left = relay.send(leaver.socket, 0)
  const stayed = relay.send(stayer.socket, 0)
  const signal = await asked.promise
  leaver.leave()
  assert.equal(await left, 0)
  assert.equal(signal.aborted, false)
  chunk.resolve({ frames: [{ kind: 'binary', bytes: Buffer.from('x') }], to: 1 })
  assert.equal(await stayed, 1)
  assert.deepEqual(stayer.texts, ['x'])
})

test('the source is let go when nobody waits for it any more, and asked anew by the next', async () => {
  const signals: AbortSignal[] = []
  const source: StreamSource = {
    next: (_after, signal) => {
      signals.push(signal)
      if (signals.length > 1) return Promise.resolve(null)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const relay = createRelay(source)
  const first = reader()
  const sent = relay.send(first.socket, 0)
  while (signals.length === 0) await Promise.resolve()
  first.leave()
  assert.equal(await sent, 0)
  assert.equal(signals[0]?.aborted, true)
  assert.equal(await relay.send(reader().socket, 0), 0)
  assert.equal(signals.length, 2)
})

test('an error comes to all who wait, also one thrown at once, and the next reader tries anew', async () => {
  let fails = true
  const source: StreamSource<string> = {
    next: () => {
      if (fails) throw problem()
      return Promise.resolve(null)
    },
  }
  const relay = createRelay(source)
  const sent = [reader(), reader(), reader()].map(({ socket }) => relay.send(socket, 'here'))
  for (const one of sent) await assert.rejects(one, { code: 'not_found' })
  fails = false
  assert.equal(await relay.send(reader().socket, 'here'), 'here')
})

test('an end may be followed by more: it is asked for again', async () => {
  let end = 3
  const source: StreamSource = { next: (after, signal) => numbers(end).next(after, signal) }
  const relay = createRelay(source)
  const one = reader()
  assert.equal(await relay.send(one.socket, 0), 3)
  end = 5
  assert.equal(await relay.send(one.socket, 3), 5)
  assert.deepEqual(one.texts, ['1', '2', '3', '4', '5'])
})

test('chunks without frames move the position on, and numbered frames are given their type', async () => {
  const relay = createRelay<string>({
    next: async (after) => {
      if (after === 'a') return { frames: [], to: 'b' }
      if (after === 'b') return { frames: [{ kind: 'numbered', type: 'lines', bytes: Buffer.from('"x":1}') }], to: 'c' }
      return null
    },
  })
  const one = reader()
  assert.equal(await relay.send(one.socket, 'a'), 'c')
  assert.deepEqual(one.texts, ['lines "x":1}'])
})

test('what the socket cannot take ends that reader alone', async () => {
  const relay = createRelay(numbers(100))
  const broken = reader(async () => {
    throw new Error('the wire broke')
  })
  const whole = reader()
  const [bad, good] = await Promise.allSettled([relay.send(broken.socket, 0), relay.send(whole.socket, 0)])
  assert.equal(bad.status, 'rejected')
  assert.equal(good.status, 'fulfilled')
  assert.equal(whole.texts.length, 100)
})

/** Lets everything that can go on without waiting go on. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** The same, and notes whose bytes may be used again. */
function numbersReleased(end: number, released: number[]): StreamSource {
  const { next } = numbers(end)
  return {
    next: async (after, signal) => {
      const chunk = await next(after, signal)
      return chunk === null ? null : { ...chunk, release: () => released.push(chunk.to) }
    },
  }
}

test('bytes may be used again when they have left, each once, and not before', async () => {
  const released: number[] = []
  const leaves: (() => void)[] = []
  const slow = reader(undefined, () => new Promise((resolve) => leaves.push(resolve)))
  const relay = createRelay(numbersReleased(3, released))
  assert.equal(await relay.send(slow.socket, 0), 3)
  await quiet()
  assert.deepEqual(released, [])
  leaves[1]!()
  await quiet()
  assert.deepEqual(released, [2])
  for (const leave of leaves) leave()
  await quiet()
  assert.deepEqual(released, [2, 1, 3])
})

test('bytes that another reader sends or may still get are not used again', async () => {
  const released: number[] = []
  const leaves: (() => void)[] = []
  const slow = reader(undefined, () => new Promise((resolve) => leaves.push(resolve)))
  const relay = createRelay(numbersReleased(2, released), { keepBytes: 1 })
  await Promise.all([relay.send(slow.socket, 0), relay.send(reader().socket, 0)])
  await quiet()
  assert.deepEqual(released, [], 'the slow one has them on their way')
  for (const leave of leaves) leave()
  await quiet()
  assert.deepEqual(released.toSorted(), [1, 2])
})

test('bytes that a reader had who is gone are left alone: they may be on their way', async () => {
  const released: number[] = []
  const going = reader(undefined, () => Promise.reject(new Error('gone')))
  const relay = createRelay(numbersReleased(2, released))
  await relay.send(going.socket, 0)
  await quiet()
  assert.deepEqual(released, [])
})
