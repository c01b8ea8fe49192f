import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as breathe, setTimeout as delay } from 'node:timers/promises'
import { proxyTo, tcpUpstream, until, upstreamAt } from './support.ts'

const request = 'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'

/** Numbers from 0 to below `most`, the same for the same seed. */
function dice(seed: number): (most: number) => number {
  let state = seed
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Resolves with the connection when the head of the answer is there; `early` came behind it. */
function dial(port: number): Promise<{ readonly socket: Socket; readonly early: Buffer }> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0)
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(request))
    socket.on('error', reject)
    socket.on('data', function onData(chunk: Buffer) {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) return
      socket.off('data', onData).pause()
      assert.match(head.toString('latin1', 0, end), /^HTTP\/1\.1 101 /)
      resolve({ socket, early: head.subarray(end + 4) })
    })
  })
}

async function readAll(socket: Socket, early: Buffer, onChunk: () => Promise<void> | void = () => {}): Promise<Buffer> {
  const chunks: Buffer[] = [early]
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    await onChunk()
  }
  return Buffer.concat(chunks)
}

async function writeInPieces(socket: Socket, bytes: Buffer, roll: (most: number) => number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + (roll(4) === 0 ? roll(300_000) : roll(2_000))
    if (!socket.write(bytes.subarray(at, at + size))) await new Promise((resolve) => socket.once('drain', resolve))
    at += size
    if (roll(3) === 0) await breathe()
  }
  socket.end()
}

test('many tunnels at once carry random bytes in random pieces both ways, to readers that pause, and note how many', async (t) => {
  const upstream = await tcpUpstream(t, (socket) => {
    socket.allowHalfOpen = true
    let isOpen = false
    socket.on('data', (chunk: Buffer) => {
      if (!isOpen) socket.write(switching)
      const rest = isOpen ? chunk : chunk.subarray(chunk.indexOf('\r\n\r\n') + 4)
      isOpen = true
      if (rest.length > 0 && !socket.write(rest)) {
        socket.pause()
        socket.once('drain', () => socket.resume())
      }
    })
    socket.on('end', () => socket.end())
  })
  const { port, control, proxy } = await proxyTo(t, upstreamAt(upstream))
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  t.diagnostic(`SEED=${seed}`)
  let all = 0
  await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const roll = dice(seed + index)
      const sent = randomBytes(500_000 + roll(2_000_000))
      all += sent.length
      const { socket, early } = await dial(port)
      const back = readAll(socket, early, () => (roll(5) === 0 ? delay(roll(8)) : undefined))
      await writeInPieces(socket, sent, roll)
      assert.equal(hashOf(await back), hashOf(sent), `tunnel ${index} with SEED=${seed}`)
    }),
  )
  await until(async () => (await proxy.status()).tunnels === 0, 'the tunnels are gone')
  await until(async () => {
    const { items } = await control.access('prj_shop', { limit: 50 })
    return items.length === 12 && items.reduce((sum, { bytes }) => sum + bytes, 0) === all
  }, 'the access log has every byte')
})

test('clients that do not read hold their project back, and get all of it later, each its own bytes', async (t) => {
  const sent = Array.from({ length: 4 }, () => randomBytes(24 * 1024 * 1024))
  const projects: Socket[] = []
  const upstream = await tcpUpstream(t, (socket) => {
    const bytes = sent[projects.push(socket) - 1]!
    socket.once('data', () => {
      socket.write(switching)
      socket.end(bytes)
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  const clients: Awaited<ReturnType<typeof dial>>[] = []
  for (const _ of sent) clients.push(await dial(port))
  const left = () => projects.map(({ writableLength }) => writableLength)
  let before = ''
  await until(async () => {
    const now = String(left())
    const stands = now === before
    before = now
    await delay(100)
    return stands
  }, 'the project stands still')
  for (const bytes of left()) assert.ok(bytes > 24 * 1024 * 256, `${bytes} bytes still wait at the project`)
  const got = await Promise.all(clients.map(({ socket, early }) => readAll(socket, early)))
  assert.deepEqual(got.map(hashOf), sent.map(hashOf))
  for (const { socket } of clients) socket.destroy()
})

test('the answer to an upgrade is understood wherever it is cut, and what follows it belongs to the tunnel', async (t) => {
  const answer = Buffer.from(`${switching}early`)
  let cut = 0
  const upstream = await tcpUpstream(t, (socket) => {
    socket.setNoDelay(true)
    socket.once('data', async () => {
      const at = cut
      socket.write(answer.subarray(0, at))
      await delay(3)
      socket.write(answer.subarray(at))
      await delay(3)
      socket.end(' and late')
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  for (cut = 1; cut < answer.length; cut += 3) {
    const { socket, early } = await dial(port)
    assert.equal((await readAll(socket, early)).toString(), 'early and late', `cut at ${cut}`)
    socket.destroy()
  }
})

test('a long refusal of an upgrade reaches slow clients unchanged', async (t) => {
  const bodies = Array.from({ length: 4 }, () => randomBytes(12 * 1024 * 1024))
  let next = 0
  const upstream = await tcpUpstream(t, (socket) => {
    socket.once('data', () => {
      const body = bodies[next]!
      next += 1
      socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\nX-Body: ${next - 1}\r\n\r\n`)
      socket.write(body)
    })
  })
  const { port } = await proxyTo(t, upstreamAt(upstream))
  await Promise.all(
    bodies.map(async () => {
      const socket = connect(port, '127.0.0.1', () => socket.write(request))
      await delay(400)
      const all = await readAll(socket, Buffer.alloc(0))
      const end = all.indexOf('\r\n\r\n')
      const index = Number(/x-body: (\d)/i.exec(all.toString('latin1', 0, end))?.[1])
      assert.equal(hashOf(all.subarray(end + 4)), hashOf(bodies[index]!))
    }),
  )
})
