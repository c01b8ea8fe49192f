import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freePort } from '@stackquay/testkit/free-port'
import { createProxyControl, ensureProxy } from '../src/control.ts'
import type { Limits } from '../src/limits.ts'
import { startProxy } from '../src/proxy.ts'
import { whenBusy } from '../src/workers/busy.ts'
import { alive, ask, httpUpstream, route, table, tcpUpstream, tempHome, until, upstreamAt } from './support.ts'

/** Busy machines start processes slowly. */
const patience = 25_000

/** A proxy with its main process here and workers beside it, all of them listening. */
async function poolOf(t: TestContext, count: number, limits: Partial<Limits> = {}) {
  const home = await tempHome(t)
  const proxy = await startProxy({
    home,
    listen: '127.0.0.1:0',
    workers: { atOnce: count, most: count },
    limits: { drainWithin: 500, tableWithin: patience, ...limits },
  })
  const all: number[] = []
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
    for (const pid of all) assert.equal(alive(pid), false, `worker ${pid} is still there`)
  })
  await until(async () => (await proxy.status()).workers.length === count, 'all workers listen', patience)
  const workers = (await proxy.status()).workers.filter((pid) => pid !== process.pid)
  all.push(...workers)
  return { home, proxy, port: proxy.address.port, control: createProxyControl(home), workers, all }
}

/** One request by a connection of its own on each of many connections: every process gets some. */
async function askMany(port: number, times: number) {
  return Promise.all(Array.from({ length: times }, () => ask(port)))
}

test('after the answer to a new table no process serves the old one', async (t) => {
  const { port, control } = await poolOf(t, 3)
  const upstreams = [
    await httpUpstream(t, (_request, response) => response.end('0')),
    await httpUpstream(t, (_request, response) => response.end('1')),
  ]
  await control.putRoutes(table([route('shop', upstreamAt(upstreams[0]!))]))

  let running = true
  t.after(() => {
    running = false
  })
  const failures: unknown[] = []
  const load = Array.from({ length: 4 }, async () => {
    while (running) {
      const answer = await ask(port).catch((error: unknown) => ({ status: 0, text: String(error) }))
      if (answer.status !== 200) failures.push(answer)
    }
  })
  for (let turn = 1; turn <= 20; turn += 1) {
    const routes = [route('shop', upstreamAt(upstreams[turn % 2]!))]
    // Every third time the whole table, else what changed since the one before.
    if (turn % 3 === 1) await control.putRoutes(table(routes, turn))
    else
      await control.changeRoutes({
        version: 1,
        since: turn - 1,
        generation: turn,
        projects: [{ project: 'prj_shop', routes }],
      })
    const answers = await askMany(port, 12)
    assert.deepEqual(
      answers.map(({ text }) => text),
      answers.map(() => `${turn % 2}`),
    )
  }
  running = false
  await Promise.all(load)
  assert.deepEqual(failures, [])
})

test('a worker that is killed is replaced, the others serve meanwhile, and its successor knows the table', async (t) => {
  const { port, control, proxy, workers, all } = await poolOf(t, 3)
  const upstream = await httpUpstream(t, (_request, response) => response.end('ok'))
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 4))
  process.kill(workers[0]!, 'SIGKILL')
  await until(() => !alive(workers[0]!), 'it is dead', patience)
  for (const { text } of await askMany(port, 40)) assert.equal(text, 'ok')
  await until(
    async () => {
      const now = (await proxy.status()).workers
      return now.length === 3 && !now.includes(workers[0]!)
    },
    'another takes its place',
    patience,
  )
  all.push(...(await proxy.status()).workers.filter((pid) => pid !== process.pid))
  for (const { text } of await askMany(port, 60)) assert.equal(text, 'ok')
})

test('a worker that stands still is replaced when it does not take a new table', async (t) => {
  const { port, control, workers, all, proxy } = await poolOf(t, 2, { tableWithin: 1_500 })
  process.kill(workers[0]!, 'SIGSTOP')
  await control.putRoutes(table([route('shop', { kind: 'page', page: 'stopped' })], 9))
  assert.equal(alive(workers[0]!), false)
  for (const { status } of await askMany(port, 20)) assert.equal(status, 503)
  await until(async () => (await proxy.status()).workers.length === 2, 'another takes its place', patience)
  all.push(...(await proxy.status()).workers.filter((pid) => pid !== process.pid))
})

test('status, flights and the access log are those of all processes together', async (t) => {
  const { port, control } = await poolOf(t, 3)
  const held: (() => void)[] = []
  const upstream = await httpUpstream(t, (_request, response) => {
    held.push(() => response.end('ok'))
  })
  await control.putRoutes(table([route('shop', upstreamAt(upstream))]))
  const answers = askMany(port, 30)
  await until(() => held.length === 30, 'all requests are under way', patience)
  assert.deepEqual(await control.flights('127.0.0.1', upstream), { requests: 30, tunnels: 0 })
  assert.ok((await control.status())!.connections >= 30)
  for (const release of held) release()
  await answers
  await until(
    async () => (await control.flights('127.0.0.1', upstream)).requests === 0,
    'nothing is under way any more',
    patience,
  )
  assert.equal((await control.status())?.requests, 30)
  await until(
    async () => (await control.access('prj_shop', { limit: 100 })).items.length === 30,
    'all requests are noted',
    patience,
  )
  const now = Math.floor(Date.now() / 60_000) * 60
  const { total } = await control.traffic('prj_shop', { from: now - 300, to: now + 60, step: 60 })
  assert.equal(total.requests, 30)
  assert.equal((await control.totals())!.projects[0]?.classes[1], 30)
})

test('WebSockets live in whichever process took them, are counted, and end with a shutdown', async (t) => {
  const { port, control, proxy } = await poolOf(t, 2, { drainWithin: 300 })
  const upstream = await tcpUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
      socket.pipe(socket)
    })
  })
  await control.putRoutes(table([route('shop', upstreamAt(upstream))]))
  const sockets = await Promise.all(Array.from({ length: 12 }, () => openTunnel(port)))
  assert.equal((await control.status())?.tunnels, 12)
  await Promise.all(
    sockets.map(async (socket, index) => {
      socket.write(`hello ${index}`)
      const [answer] = await once(socket, 'data')
      assert.equal(String(answer), `hello ${index}`)
    }),
  )
  const closed = sockets.map((socket) => once(socket, 'close'))
  await proxy.shutdown()
  await Promise.all(closed)
})

async function openTunnel(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  const [head] = await once(socket, 'data')
  assert.match(String(head), /^HTTP\/1\.1 101 /)
  return socket
}

test('a shutdown lets requests of all processes end, frees the address at once and leaves no process', async (t) => {
  const { port, control, proxy, workers } = await poolOf(t, 3, { drainWithin: patience })
  const held: (() => void)[] = []
  const upstream = await httpUpstream(t, (_request, response) => {
    held.push(() => response.end('finished'))
  })
  await control.putRoutes(table([route('shop', upstreamAt(upstream))]))
  const answers = askMany(port, 20)
  await until(() => held.length === 20, 'all requests are under way', patience)
  await proxy.shutdown()
  const next = createServer()
  await new Promise<void>((resolve, reject) => next.once('error', reject).listen(port, '127.0.0.1', resolve))
  next.close()
  for (const release of held) release()
  for (const { text } of await answers) assert.equal(text, 'finished')
  await proxy.done
  for (const pid of workers) assert.equal(alive(pid), false)
})

test('when the main process is killed its workers end by themselves, and a new one serves on the same address', async (t) => {
  const home = await tempHome(t)
  const listen = `127.0.0.1:${await freePort()}`
  const first = await ensureProxy({ home, listen, workers: 3, startWithin: patience })
  await until(async () => (await first.status())?.workers.length === 3, 'all workers listen', patience)
  const { pid, workers } = (await first.status())!
  await first.putRoutes(table([route('shop', { kind: 'page', page: 'stopped' })], 6))
  process.kill(pid, 'SIGKILL')
  await until(() => !alive(pid), 'the main process is dead', patience)
  const second = await ensureProxy({ home, listen, workers: 2, startWithin: patience })
  assert.equal(second.started, true)
  assert.equal((await second.status())?.routesGeneration, 6)
  assert.equal((await ask(Number(listen.split(':')[1]))).status, 503)
  await until(() => !workers.some(alive), 'the old workers end', patience)

  // Another number of workers is another proxy; the same number is the same.
  assert.equal((await ensureProxy({ home, listen, workers: 2 })).started, false)
  const third = await ensureProxy({ home, listen, workers: 1, startWithin: patience })
  assert.equal(third.started, true)
  assert.equal((await third.status())?.mostWorkers, 1)
  assert.match(await readFile(`${home}/proxy.log`, 'utf8'), /"message":"worker started"/)
})

test('a process that is busy for a second asks for another, until there is no room for more', async () => {
  let asked = 0
  const watch = whenBusy(() => {
    asked += 1
    return asked < 2
  })
  const deadline = Date.now() + patience
  while (asked < 2 && Date.now() < deadline) {
    const pause = Date.now() + 50
    while (Date.now() < pause) Math.sqrt(pause)
    await new Promise((resolve) => setImmediate(resolve))
  }
  watch.stop()
  assert.equal(asked, 2)
})
