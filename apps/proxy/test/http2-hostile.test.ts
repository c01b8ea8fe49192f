import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ensureProxy } from '../src/control.ts'
import { endHeaders, endStream, field, frame, rawH2, requestFields } from './h2-frames.ts'
import { httpUpstream, route, table, tempHome, upstreamAt } from './support.ts'
import { given, h2Ask, h2Session, shopCertificate } from './tls-support.ts'

const patience = 30_000
/** How long each attack goes on, at most. */
const attackMs = process.env.STACKQUAY_SOAK === undefined ? 1_500 : 20_000

/** A proxy in a process of its own, whose memory and processor time are its own too. */
async function attacked(t: TestContext) {
  const home = await tempHome(t)
  let asked = 0
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.headers['x-visitor'] === undefined) asked += 1
    response.end('ok')
  })
  const proxy = await ensureProxy({
    home,
    listen: '127.0.0.1:0',
    listenHttps: '127.0.0.1:0',
    workers: 1,
    startWithin: patience,
  })
  await proxy.putRoutes(table([route('shop', upstreamAt(upstream))]))
  const { pid, httpsAddress } = await proxy.setCertificates(given([shopCertificate]))
  const port = httpsAddress!.port
  const visitor = h2Session(t, port)
  // Everything is loaded and warm.
  for (let turn = 0; turn < 50; turn += 1) await h2Ask(visitor, { 'x-visitor': 'yes' })
  const before = await residentMegabytes(pid)
  return {
    port,
    asked: () => asked,
    /** Repeats `act` until it says that it is over, and asks as a visitor meanwhile. Answers what it cost. */
    async during(act: () => Promise<boolean>) {
      const until = Date.now() + attackMs
      let isOver = false
      const attack = (async () => {
        while (Date.now() < until && (await act())) await new Promise((resolve) => setImmediate(resolve))
        isOver = true
      })()
      const waits: number[] = []
      while (!isOver || waits.length < 5) {
        const began = performance.now()
        assert.equal((await h2Ask(visitor, { 'x-visitor': 'yes' })).text, 'ok')
        waits.push(performance.now() - began)
        await delay(20)
      }
      await attack
      const more = (await residentMegabytes(pid)) - before
      return { more, longest: Math.max(...waits), processor: await busyPart(pid) }
    },
  }
}

async function residentMegabytes(pid: number): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** Of one core, afterwards: an attack that is over must cost nothing. */
async function busyPart(pid: number): Promise<number> {
  const ticks = async () => {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return Number(user) + Number(system)
  }
  const first = await ticks()
  await delay(500)
  return ((await ticks()) - first) / 50
}

function bounded(cost: { readonly more: number; readonly longest: number; readonly processor: number }): void {
  assert.ok(cost.more < 64, `${cost.more.toFixed(0)} MB more`)
  assert.ok(cost.longest < 3_000, `a visitor waited ${cost.longest.toFixed(0)} ms`)
  assert.ok(cost.processor < 0.5, `${cost.processor} of a core afterwards`)
}

test('streams that are reset as fast as they are opened end the connection (CVE-2023-44487)', async (t) => {
  const proxy = await attacked(t)
  let client = await rawH2(t, proxy.port)
  let connections = 1
  let id = 1
  const cost = await proxy.during(async () => {
    const frames: Buffer[] = []
    for (let count = 0; count < 50; count += 1, id += 2)
      frames.push(
        frame('headers', endHeaders | endStream, id, requestFields()),
        frame('reset', 0, id, Buffer.from([0, 0, 0, 8])),
      )
    if (await client.send(...frames)) return true
    client = await rawH2(t, proxy.port)
    connections += 1
    id = 1
    return connections < 5
  })
  bounded(cost)
  assert.equal(connections, 5, 'each was ended')
})

test('headers without an end cost nothing and end the connection (CVE-2024-27316)', async (t) => {
  const proxy = await attacked(t)
  const client = await rawH2(t, proxy.port)
  await client.send(frame('headers', endStream, 1, requestFields()))
  const more = Buffer.concat(Array.from({ length: 100 }, (_, index) => field(`x-${index}`, 'x'.repeat(100))))
  const cost = await proxy.during(() => client.send(frame('continuation', 0, 1, more)))
  bounded(cost)
  await client.closed
  assert.equal(proxy.asked(), 0)
})

test('frames that only cost work are bounded: settings, pings, empty data, priorities, windows', async (t) => {
  const proxy = await attacked(t)
  const many = (one: Buffer) => Buffer.concat(Array.from({ length: 500 }, () => one))
  const floods: Readonly<Record<string, Buffer>> = {
    settings: many(frame('settings', 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))),
    ping: many(frame('ping', 0, 0, Buffer.alloc(8))),
    priority: many(frame('priority', 0, 3, Buffer.from([0, 0, 0, 0, 16]))),
    empty: many(frame('data', 0, 1)),
    window: many(frame('window', 0, 0, Buffer.from([0, 0, 0, 1]))),
  }
  for (const [name, bytes] of Object.entries(floods)) {
    const client = await rawH2(t, proxy.port)
    // Nothing is read from it: answers to pings and settings stay in the proxy.
    client.socket.pause()
    await client.send(frame('headers', endHeaders, 1, requestFields('POST')))
    const cost = await proxy.during(() => client.send(bytes))
    client.socket.destroy()
    assert.ok(cost.more < 64, `${name}: ${cost.more.toFixed(0)} MB more`)
    assert.ok(cost.longest < 3_000, `${name}: a visitor waited ${cost.longest.toFixed(0)} ms`)
  }
})

test('a few bytes that stand for megabytes of headers are refused (HPACK)', async (t) => {
  const proxy = await attacked(t)
  const client = await rawH2(t, proxy.port)
  // Put into the table once (literal with indexing), then named thousands of times with one byte each.
  const large = Buffer.concat([Buffer.from([0x40]), field('x-bomb', 'x'.repeat(3_900)).subarray(1)])
  const block = Buffer.concat([requestFields(), large, Buffer.alloc(8_000, 0x80 | 62)])
  let id = 1
  const cost = await proxy.during(async () => {
    const frames = Array.from({ length: 10 }, () => {
      const one = frame('headers', endHeaders | endStream, id, block)
      id += 2
      return one
    })
    return client.send(...frames)
  })
  bounded(cost)
  assert.equal(proxy.asked(), 0)
})

test('uploads to nobody and answers that nobody takes are bounded for each connection', async (t) => {
  const proxy = await attacked(t)
  const clients = await Promise.all(Array.from({ length: 4 }, () => rawH2(t, proxy.port)))
  let round = 0
  const cost = await proxy.during(async () => {
    round += 1
    if (round > 128) return false
    const id = 2 * round - 1
    for (const client of clients) {
      client.socket.pause()
      await client.send(
        frame('headers', endHeaders, id, requestFields('POST')),
        frame('data', 0, id, Buffer.alloc(16_000)),
      )
    }
    return true
  })
  for (const { socket } of clients) socket.destroy()
  assert.ok(cost.more < 96, `${cost.more.toFixed(0)} MB more`)
  assert.ok(cost.longest < 3_000)
})
