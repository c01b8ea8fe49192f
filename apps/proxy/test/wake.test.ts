import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ProjectUse } from '../src/project-use.ts'
import { createWaitsForWake, createWantedProjects } from '../src/wanted.ts'
import { ask, httpUpstream, open, proxyTo, raw, route, table, tcpUpstream, until, upstreamAt } from './support.ts'

const never = new AbortController().signal
const asleep = (wakeWithin = 60_000) => ({ kind: 'page', page: 'sleeping', wakeWithin }) as const
const upgrade = 'GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const accepted = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

test('50 requests to a project that sleeps wake it once, wait with their bodies, and all are answered', async (t) => {
  const upstream = await httpUpstream(t, async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    response.end(`got ${text}`)
  })
  const { port, control } = await proxyTo(t, asleep())
  const called = control.wanted(0, 30, never)
  const answers = Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(port, { method: 'POST', path: '/', body: `body ${index}` })),
  )
  assert.deepEqual((await called)?.projects, ['prj_shop'])
  await until(async () => (await control.status())?.held === 50, 'all wait', 20_000)
  // Told once: those who came later are the same call.
  const { position } = (await control.wanted(0, 0, never))!
  assert.deepEqual((await control.wanted(position, 0.2, never))?.projects, [])
  // Somebody else who asks from the beginning, such as the next service, hears of it too.
  assert.deepEqual((await control.wanted(0, 0, never))?.projects, ['prj_shop'])
  // On its way up they wait on.
  await control.putRoutes(table([route('shop', { kind: 'page', page: 'starting', wakeWithin: 60_000 })], 2))
  await until(async () => (await control.status())?.held === 50, 'all wait on', 20_000)
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 3))
  assert.deepEqual(
    (await answers).map(({ status, text }) => `${status} ${text}`).toSorted(),
    Array.from({ length: 50 }, (_, index) => `200 got body ${index}`).toSorted(),
  )
  assert.deepEqual((await control.wanted(0, 0, never))?.projects, [])
})

test('a WebSocket wakes it too, waits, and is opened with what was sent ahead', async (t) => {
  let received = ''
  const upstream = await tcpUpstream(t, (socket) => {
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.endsWith('\r\n\r\n')) socket.write(accepted)
      if (received.endsWith('early')) socket.write('hello')
    })
  })
  const { port, control } = await proxyTo(t, asleep())
  const answer = raw(port, `${upgrade}early`, { closeAfter: 2_500 })
  assert.deepEqual((await control.wanted(0, 20, never))?.projects, ['prj_shop'])
  await until(async () => (await control.status())?.held === 1, 'it waits', 20_000)
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.match(await answer, /^HTTP\/1\.1 101 [\s\S]*\r\n\r\nhello$/)
})

test('who is not let in wakes nobody: rules, share passwords, unknown hosts, redirects', async (t) => {
  const { port, control } = await proxyTo(t, asleep())
  const hash = '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$2m2kq1VwS0mJr0m8m1m0m1m0m1m0m1m0m1m0m1m0m1k'
  const shop = route('shop', asleep())
  const redirects = [{ from: '/*', host: null, to: 'http://example.org/*', status: 308 as const }]
  const share = { id: 'shr_1', expiresAt: Date.now() + 60_000, passwordHash: hash }
  await control.putRoutes(
    table(
      [
        { ...shop, rules: { allow: ['10.0.0.1'] } },
        { ...route('closed', asleep()), rules: { password: { username: 'ada', hash } } },
        { ...route('moved', asleep()), rules: { redirects } },
        { ...route('shared', asleep()), share },
      ],
      2,
    ),
  )
  const statuses = []
  for (const name of ['shop', 'closed', 'moved', 'shared', 'nobody'])
    statuses.push((await ask(port, { host: `${name}.localhost` })).status)
  assert.deepEqual(statuses, [403, 401, 308, 401, 404])
  assert.match(await raw(port, upgrade), /^HTTP\/1\.1 403 /)
  assert.deepEqual((await control.wanted(0, 0.2, never))?.projects, [])
  assert.deepEqual((await control.uses())?.projects, [])
})

test('while nobody wakes it a request has its page when its own time is over, however many tables come', async (t) => {
  const { port, control } = await proxyTo(t, asleep(1_500))
  const began = Date.now()
  const answer = ask(port)
  for (let generation = 2; generation < 8; generation += 1) {
    await new Promise((resolve) => setTimeout(resolve, 150))
    await control.putRoutes(table([route('shop', asleep(1_500 + generation))], generation))
  }
  const { status, headers } = await answer
  const took = Date.now() - began
  assert.deepEqual([status, headers['x-stackquay-notice'], headers['retry-after']], [503, 'project_sleeping', '2'])
  assert.ok(took >= 1_400 && took < 4_000, `${took} ms`)
  assert.deepEqual((await control.wanted(0, 0, never))?.projects, [])
})

test('when it cannot be woken all who wait have the page of the failure at once', async (t) => {
  const { port, control } = await proxyTo(t, asleep())
  const answers = [ask(port), ask(port)]
  await until(async () => (await control.status())?.held === 2, 'both wait', 20_000)
  await control.putRoutes(table([route('shop', { kind: 'page', page: 'failed' })], 2))
  for (const { status, headers } of await Promise.all(answers))
    assert.deepEqual([status, headers['x-stackquay-notice']], [503, 'project_failed'])
})

test('a client that leaves wants nothing any more', async (t) => {
  const { port, control } = await proxyTo(t, asleep())
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'))
  assert.deepEqual((await control.wanted(0, 20, never))?.projects, ['prj_shop'])
  socket.destroy()
  await until(async () => (await control.wanted(0, 0, never))?.projects.length === 0, 'nobody is there', 20_000)
})

test('workers tell of those who wait with them, and how projects were used there', async (t) => {
  const { startProxy } = await import('../src/proxy.ts')
  const { createProxyControl } = await import('../src/control.ts')
  const { tempHome } = await import('./support.ts')
  const home = await tempHome(t)
  const proxy = await startProxy({
    home,
    listen: '127.0.0.1:0',
    limits: { drainWithin: 200 },
    workers: { atOnce: 3, most: 3 },
  })
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
  })
  const control = createProxyControl(home)
  await control.putRoutes(table([route('shop', asleep())]))
  await until(async () => (await control.status())?.workers.length === 3, 'all serve', 20_000)
  const answers = Promise.all(Array.from({ length: 60 }, () => ask(proxy.address.port)))
  await until(async () => (await control.status())?.held === 60, 'all wait', 20_000)
  assert.deepEqual((await control.wanted(0, 5, never))?.projects, ['prj_shop'])
  const upstream = await httpUpstream(t, (_request, response) => response.end('hello'))
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.deepEqual(new Set((await answers).map(({ status }) => status)), new Set([200]))
  assert.deepEqual((await control.wanted(0, 0, never))?.projects, [])
  const [use] = (await control.uses())!.projects
  assert.deepEqual([use?.project, use?.open], ['prj_shop', 0])
  assert.ok(Date.now() - use!.lastAt < 5_000)
})

test('a request is use until it is answered; a WebSocket is use when it carries something', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => {
    response.write('a beginning')
    setTimeout(() => response.end(), 600)
  })
  const { port, control } = await proxyTo(t, upstreamAt(upstream))
  assert.deepEqual((await control.uses())?.projects, [])
  const response = await open(port, {})
  const [during] = (await control.uses())!.projects
  assert.equal(during?.open, 1)
  for await (const _chunk of response) void _chunk
  await until(async () => (await control.uses())!.projects[0]?.open === 0, 'it is over', 5_000)

  const echo = await tcpUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write(accepted)
      socket.on('data', (bytes) => socket.write(bytes))
    })
  })
  await control.putRoutes(table([route('shop', upstreamAt(echo))], 2))
  const socket = connect(port, '127.0.0.1', () => socket.write(upgrade))
  t.after(() => socket.destroy())
  await new Promise((resolve) => socket.once('data', resolve))
  const [opened] = (await control.uses())!.projects
  assert.equal(opened?.open, 0)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal((await control.uses())!.projects[0]?.lastAt, opened?.lastAt, 'open and silent is no use')
  socket.write('hello')
  await new Promise((resolve) => socket.once('data', resolve))
  assert.ok((await control.uses())!.projects[0]!.lastAt > opened!.lastAt)
})

test('whoever waits is counted by process, told by position, and forgotten with the process', async () => {
  const told: string[] = []
  const waits = createWaitsForWake((project, isWanted) => told.push(`${project} ${isWanted}`))
  waits.begin('a')
  waits.begin('a')
  waits.end('a')
  waits.end('a')
  waits.end('a')
  assert.deepEqual(told, ['a true', 'a false'])

  const wanted = createWantedProjects()
  wanted.report('main', 'a', true)
  wanted.report('worker', 'a', true)
  wanted.report('worker', 'b', true)
  const { position, projects } = await wanted.next(0, 0)
  assert.deepEqual(projects.toSorted(), ['a', 'b'])
  wanted.forget('worker')
  assert.deepEqual((await wanted.next(0, 0)).projects, ['a'])
  const later = wanted.next(position, 60_000)
  wanted.report('main', 'c', true)
  assert.deepEqual((await later).projects, ['c'])
  const closed = wanted.next(position + 1_000_000, 60_000)
  wanted.close()
  await closed
  const use = new ProjectUse()
  use.begin()
  assert.ok(use.open === 1 && Date.now() - use.lastAt < 50)
})
