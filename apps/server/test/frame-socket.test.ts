import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@stackquay/testkit'
import { WebSocket, WebSocketServer } from 'ws'
import { type OpenSocket, openFrameSocket } from '../src/http/frame-socket.ts'

async function pair(t: TestContext): Promise<{ opened: OpenSocket; peer: WebSocket; connection: Socket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const arrives = once(server, 'connection') as Promise<[WebSocket, IncomingMessage]>
  const peer = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  peer.on('error', () => {})
  t.after(() => {
    peer.terminate()
    for (const client of server.clients) client.terminate()
    server.close()
  })
  await once(peer, 'open')
  const [socket, request] = await arrives
  const connection = request.socket
  return { opened: openFrameSocket(socket, connection, 'req_1'), peer, connection }
}

test('a peer that is gone is noticed also while its messages wait', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { opened, peer } = await pair(t)
  let taken = 0
  opened.receive(() => {
    taken += 1
    return new Promise<void>(() => {})
  })
  // More than the network takes in one chunk: its end lies behind what nobody reads.
  for (let index = 0; index < 300; index += 1) peer.send(Buffer.alloc(60_000))
  await waitFor('the first message', () => taken === 1)
  peer.terminate()
  await waitFor('its end to be noticed', () => {
    t.mock.timers.tick(20_000)
    return opened.signal.aborted
  })
})

test('one that is held is not gone', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { opened, peer } = await pair(t)
  const gate = Promise.withResolvers<void>()
  const heard: string[] = []
  opened.receive(async (message) => {
    if (message.kind === 'text') heard.push(message.text)
    await gate.promise
  })
  peer.send('one')
  await waitFor('the first message', () => heard.length === 1)
  t.mock.timers.tick(200_000)
  peer.send('two')
  gate.resolve()
  await waitFor('the second message', () => heard.length === 2)
  assert.equal(opened.signal.aborted, false)
})

test('what a peer does not read has not left, and arrives whole and in order when it does', async (t) => {
  const { opened, peer } = await pair(t)
  const fields = Buffer.concat([Buffer.from('"text":"'), Buffer.alloc(200_000, 'x'), Buffer.from('"}')])
  const seqs: number[] = []
  peer.on('message', (data: Buffer) => {
    const { seq, text } = JSON.parse(data.toString()) as { seq: number; text: string }
    assert.equal(text.length, 200_000)
    seqs.push(seq)
  })
  peer.pause()
  // More than the network takes.
  const sending = (async () => {
    for (let index = 0; index < 100; index += 1) await opened.sendNumbered('lines', fields)
  })()
  let hasLeft = false
  const left = sending
    .then(() => opened.flushed())
    .then(() => {
      hasLeft = true
    })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(hasLeft, false)
  peer.resume()
  await left
  await waitFor('the last frame', () => seqs.length === 100)
  assert.deepEqual(
    seqs,
    Array.from({ length: 100 }, (_, at) => at + 1),
  )
})

test('what is sent in one turn leaves in one write', async (t) => {
  const { opened, peer, connection } = await pair(t)
  const heard: string[] = []
  peer.on('message', (data: Buffer) => heard.push(data.toString()))
  const writes = t.mock.method(connection as Socket & { _writev(): void }, '_writev')
  for (const word of ['one', 'two', 'three']) void opened.sendText(word)
  await waitFor('the last message', () => heard.length === 3)
  assert.deepEqual(heard, ['one', 'two', 'three'])
  assert.equal(writes.mock.callCount(), 1)
})

test('bytes of a peer that is gone never count as having left', async (t) => {
  const { opened, peer } = await pair(t)
  peer.pause()
  const sending = (async () => {
    for (;;) await opened.sendBinary(Buffer.alloc(200_000))
  })()
  const ended = assert.rejects(sending, { name: 'SocketGoneError' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  const left = assert.rejects(opened.flushed(), { name: 'SocketGoneError' })
  peer.terminate()
  await Promise.all([ended, left])
})
