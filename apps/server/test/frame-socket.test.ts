import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { waitFor } from '@stackquay/testkit'
import { WebSocket, WebSocketServer } from 'ws'
import { type OpenSocket, openFrameSocket } from '../src/http/frame-socket.ts'

async function pair(t: TestContext): Promise<{ opened: OpenSocket; peer: WebSocket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const arrives = once(server, 'connection') as Promise<[WebSocket]>
  const peer = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  peer.on('error', () => {})
  t.after(() => {
    peer.terminate()
    for (const client of server.clients) client.terminate()
    server.close()
  })
  await once(peer, 'open')
  const [socket] = await arrives
  return { opened: openFrameSocket(socket, 'req_1'), peer }
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
