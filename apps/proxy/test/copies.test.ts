import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { copyOf } from '../src/copies.ts'
import { httpUpstream, open, proxyTo, upstreamAt } from './support.ts'

test('memory is used again only after it was given back, once, however often that is said', () => {
  const source = randomBytes(256 * 1024)
  const one = copyOf(source, 0, source.length)
  const two = copyOf(source, 0, source.length)
  assert.notEqual(one.bytes.buffer, two.bytes.buffer)
  one.done()
  one.done()
  const three = copyOf(source, 10, source.length)
  const four = copyOf(source, 10, source.length)
  assert.equal(three.bytes.buffer, one.bytes.buffer)
  assert.notEqual(four.bytes.buffer, three.bytes.buffer)
  assert.deepEqual(three.bytes, source.subarray(10))
  const small = copyOf(source, 5, 105)
  assert.deepEqual(small.bytes, source.subarray(5, 105))
})

test('large answers to many readers at once, some slow and some that leave, arrive as they were sent', async (t) => {
  const bodies = Array.from({ length: 12 }, (_, index) => randomBytes(2_000_000 + index * 77_777))
  const upstream = await httpUpstream(t, (request, response) => {
    const index = Number(request.url?.slice(1, 3))
    if (request.url?.endsWith('chunked')) response.write(bodies[index]!.subarray(0, 300_000))
    else response.setHeader('content-length', bodies[index]!.length)
    response.end(request.url?.endsWith('chunked') ? bodies[index]!.subarray(300_000) : bodies[index])
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const read = async (index: number, kind: string) => {
    const answer = await open(port, { path: `/${String(index).padStart(2, '0')}/${kind}` })
    const chunks: Buffer[] = []
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      if (kind === 'left' && chunks.length === 3) return
      if (kind === 'slow' && chunks.length % 8 === 0) await pause(2)
    }
    assert.equal(digest(Buffer.concat(chunks)), digest(bodies[index]!), `${kind} ${index}`)
  }
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      bodies.flatMap((_, index) => ['plain', 'slow', 'chunked', 'left'].map((kind) => read(index, kind))),
    )
  }
})
