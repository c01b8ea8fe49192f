import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cp, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@stackquay/testkit/free-port'
import { createProxyControl, ensureProxy, ProxyError } from '../src/control.ts'
import { alive, ask, httpUpstream, portOf, route, table, tempHome, until, upstreamAt } from './support.ts'

const control = join(import.meta.dirname, '../src/control.ts')

/** A proxy as its own process; it ends with its home. */
async function started(home: string, listen = '127.0.0.1:0') {
  const proxy = await ensureProxy({ home, listen })
  const status = (await proxy.status())!
  return { proxy, pid: status.pid, port: status.address.port }
}

test('a second start finds the running proxy, and its files say who it is', async (t) => {
  const home = await tempHome(t)
  const { proxy, pid, port } = await started(home)
  assert.equal(proxy.started, true)
  const again = await ensureProxy({ home, listen: '127.0.0.1:0' })
  assert.equal(again.started, false)
  assert.equal((await again.status())?.pid, pid)
  assert.equal((await stat(join(home, 'proxy.sock'))).mode & 0o777, 0o600)
  const facts = JSON.parse(await readFile(join(home, 'proxy.json'), 'utf8'))
  assert.equal(facts.pid, pid)
  assert.equal(facts.address.port, port)
  assert.ok(facts.processStart > 0)
})

test('a running proxy takes at most 90 MB with 50 routes', async (t) => {
  const home = await tempHome(t)
  const { proxy, pid, port } = await started(home)
  const routes = Array.from({ length: 50 }, (_, index) =>
    route(`p${index}`, { kind: 'page', page: 'stopped' } as const),
  )
  await proxy.putRoutes(table(routes))
  assert.equal((await ask(port, { host: 'p7.localhost' })).status, 503)
  const resident = Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  assert.ok(resident <= 90, `${resident.toFixed(0)} MB`)
})

test('after kill -9 a new proxy serves what the old one served, without a control plane', async (t) => {
  const home = await tempHome(t)
  const upstream = await httpUpstream(t, (_request, response) => response.end('still here'))
  const first = await started(home)
  await first.proxy.putRoutes(table([route('shop', upstreamAt(upstream))], 7))
  process.kill(first.pid, 'SIGKILL')
  await until(() => !alive(first.pid), 'the old proxy is dead')

  // The old socket file is still there, and no control plane sends routes.
  const child = spawn(process.execPath, [
    join(import.meta.dirname, '../src/main.ts'),
    '--home',
    home,
    '--listen',
    '127.0.0.1:0',
  ])
  t.after(() => child.kill('SIGKILL'))
  const facts = createProxyControl(home)
  await until(async () => (await facts.status())?.pid === child.pid, 'the new proxy answers')
  const status = (await facts.status())!
  assert.equal(status.routesGeneration, 7)
  assert.equal((await ask(status.address.port)).text, 'still here')
})

test('routes that cannot be used at start are no reason not to start', async (t) => {
  const home = await tempHome(t)
  await writeFile(join(home, 'routes.json'), '{"version":1,"gener')
  const { proxy, port } = await started(home)
  assert.equal((await ask(port)).status, 404)
  assert.match(await readFile(join(home, 'proxy.log'), 'utf8'), /saved routes are unusable/)
  await proxy.putRoutes(table([route('shop', { kind: 'page', page: 'stopped' })]))
  assert.equal((await ask(port)).status, 503)
})

test('a refused table changes nothing, neither in memory nor on disk', async (t) => {
  const home = await tempHome(t)
  const { proxy, port } = await started(home)
  await proxy.putRoutes(table([route('shop', { kind: 'page', page: 'stopped' })], 3))
  const before = await readFile(join(home, 'routes.json'), 'utf8')
  await assert.rejects(proxy.putRoutes({ version: 1, generation: 4, routes: [{}] } as never), {
    code: 'routes_invalid',
    message: /^routes\[0\]\.hosts must be a list$/,
  })
  assert.equal((await proxy.status())?.routesGeneration, 3)
  assert.equal(await readFile(join(home, 'routes.json'), 'utf8'), before)
  assert.equal((await ask(port)).status, 503)
})

test('a second proxy on the same home, and one on a used port, say why they do not start', async (t) => {
  const home = await tempHome(t)
  const { port, pid } = await started(home)
  const second = await outcome(['--home', home, '--listen', '127.0.0.1:0'])
  assert.equal(second.code, 2)
  assert.match(second.text, /A proxy is already running on .*\. Stop it, or use another home\./)

  const other = await tempHome(t)
  await assert.rejects(
    ensureProxy({ home: other, listen: `127.0.0.1:${port}` }),
    (error) =>
      error instanceof ProxyError &&
      error.code === 'proxy_start_failed' &&
      new RegExp(`Port ${port} is used by ".+" \\(pid ${pid}\\)\\. Stop it`).test(error.message),
  )
  const wrong = await outcome(['--home', other, '--listen', '8780'])
  assert.match(wrong.text, /"8780" is no address to listen on/)
})

async function outcome(args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts'), ...args], { stdio: 'pipe' })
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })))
}

test('2,000 requests under load: the control plane is killed with -9 and not one fails', async (t) => {
  const home = await tempHome(t)
  const upstream = await httpUpstream(t, (_request, response) => response.end('ok'))
  // Takes the place of the control plane: starts the proxy, sends its routes and stays until it is killed.
  const script = `
    const { ensureProxy } = await import(${JSON.stringify(control)})
    const proxy = await ensureProxy({ home: ${JSON.stringify(home)}, listen: '127.0.0.1:0' })
    await proxy.putRoutes(${JSON.stringify(table([route('shop', upstreamAt(upstream))]))})
    console.log('ready')
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve) => parent.stdout.once('data', () => resolve()))
  const { address, pid } = (await createProxyControl(home).status())!

  let good = 0
  const failures: unknown[] = []
  let sent = 0
  const client = async () => {
    while (sent < 2_000) {
      sent += 1
      if (sent === 700) parent.kill('SIGKILL')
      try {
        const answer = await ask(address.port)
        if (answer.text === 'ok') good += 1
        else failures.push(answer)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  assert.deepEqual(failures, [])
  assert.equal(good, 2_000)
  assert.equal(parent.signalCode ?? 'SIGKILL', 'SIGKILL')

  const next = await ensureProxy({ home, listen: '127.0.0.1:0' })
  assert.equal(next.started, false)
  assert.equal((await next.status())?.pid, pid)
})

test('routes are switched back and forth under load without a failed request, and each switch holds at once', async (t) => {
  const home = await tempHome(t)
  const { proxy, port } = await started(home)
  const upstreams = [
    await httpUpstream(t, (_request, response) => response.end('0')),
    await httpUpstream(t, (_request, response) => response.end('1')),
  ]
  const tables = upstreams.map((upstream) => table([route('shop', upstreamAt(upstream))]))
  await proxy.putRoutes(tables[0]!)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())

  let running = true
  t.after(() => {
    running = false
  })
  let served = 0
  const failures: unknown[] = []
  const load = Array.from({ length: 8 }, async () => {
    while (running) {
      try {
        const { status, text } = await quick(port, agent)
        if (status !== 200) failures.push([status, text])
        served += 1
      } catch (error) {
        failures.push(error)
      }
    }
  })
  for (let turn = 1; turn <= 40; turn += 1) {
    await proxy.putRoutes({ ...tables[turn % 2]!, generation: turn })
    assert.equal((await ask(port)).text, `${turn % 2}`)
    await delay(10)
  }
  running = false
  await Promise.all(load)
  assert.deepEqual(failures, [])
  assert.ok(served > 500, `only ${served} requests were made`)
})

function quick(port: number, agent: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', agent, headers: { host: 'shop.localhost' } }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode!, text })
    }).on('error', reject)
  })
}

test('a project that is replaced on another port while a request is on its way is found there', async (t) => {
  const home = await tempHome(t)
  const { proxy, port } = await started(home)
  const upstream = await httpUpstream(t, (_request, response) => response.end('moved'))
  await proxy.putRoutes(table([route('shop', upstreamAt(await freePort()))]))
  const answer = ask(port)
  await delay(10)
  await proxy.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.equal((await answer).text, 'moved')
})

test('another address: the old proxy finishes what it has, the new one takes over with the same routes', async (t) => {
  const home = await tempHome(t)
  let release = () => {}
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.url !== '/slow') return response.end('quick')
    response.write('begin ')
    release = () => response.end('end')
  })
  const first = await started(home)
  await first.proxy.putRoutes(table([route('shop', upstreamAt(upstream))], 5))
  const slow = ask(first.port, { path: '/slow' })
  await until(() => release.toString().includes('end'), 'the slow request is under way')

  const listen = `127.0.0.1:${await freePort()}`
  const second = await started(home, listen)
  assert.notEqual(second.pid, first.pid)
  assert.equal(second.port, Number(listen.split(':')[1]))
  assert.equal((await ask(second.port)).text, 'quick')
  assert.equal((await second.proxy.status())?.routesGeneration, 5)
  await assert.rejects(ask(first.port), { code: 'ECONNREFUSED' })

  release()
  assert.equal((await slow).text, 'begin end')
  await until(() => !alive(first.pid), 'the old proxy ends by itself')
})

test('changed code: the next start replaces the proxy on the same port', async (t) => {
  const home = await tempHome(t)
  const folder = await tempHome(t)
  // A copy of the program, one comment older, with the same dependencies.
  await cp(join(import.meta.dirname, '../src'), join(folder, 'src'), { recursive: true })
  await cp(join(import.meta.dirname, '../package.json'), join(folder, 'package.json'))
  await symlink(join(import.meta.dirname, '../../../node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'src/log.ts'), `// older\n${await readFile(join(folder, 'src/log.ts'), 'utf8')}`)
  const older = (await import(join(folder, 'src/control.ts'))) as typeof import('../src/control.ts')

  const listen = `127.0.0.1:${await freePort()}`
  const first = await (await older.ensureProxy({ home, listen })).status()
  const second = await started(home, listen)
  assert.notEqual(second.pid, first?.pid)
  assert.notEqual((await second.proxy.status())?.version, first?.version)
  assert.equal((await ask(second.port)).status, 404)
})

test('a shutdown ends idle connections after some seconds and accepts nothing from its answer on', async (t) => {
  const home = await tempHome(t)
  const { proxy, pid, port } = await started(home)
  const idle = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) =>
    idle
      .once('close', resolve)
      .on('error', () => {})
      .resume(),
  )
  idle.write('GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n')
  await until(() => idle.bytesRead > 0, 'the connection is in use')
  await proxy.shutdown()
  // The address is free as soon as the command is answered.
  const next = createServer()
  await new Promise<void>((resolve, reject) => next.once('error', reject).listen(port, '127.0.0.1', resolve))
  assert.equal(portOf(next), port)
  next.close()
  await closed
  await until(() => !alive(pid), 'the proxy ends')
  assert.equal(await proxy.status(), undefined)
  await proxy.shutdown()
})

test('a proxy whose home was deleted ends by itself', async (t) => {
  const home = await tempHome(t)
  const { pid } = await started(home)
  await rm(home, { recursive: true })
  await until(() => !alive(pid), 'the proxy ends')
})

test('without a proxy, routes cannot be sent and the error says so', async (t) => {
  const home = join(await tempHome(t), 'empty')
  await mkdir(home)
  await assert.rejects(createProxyControl(home).putRoutes(table([])), { code: 'proxy_not_running' })
})
