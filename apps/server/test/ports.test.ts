import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createProxyControl } from '@stackquay/proxy/control'
import { listenersAt, socketNameOf } from '@stackquay/proxy/listeners'
import { freePort, freePorts } from '@stackquay/testkit'
import { heldAddresses } from '../src/ports/held-addresses.ts'
import { createPortsKeeper, portOwnerOf } from '../src/ports/held-ports.ts'
import { takeInheritedSockets } from '../src/ports/inherited-sockets.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

describe('addresses that are held', () => {
  test('are both that a browser takes for localhost, and both families of every address', async () => {
    const texts = async (host: string) =>
      (await heldAddresses({ host, port: 80 })).map((one) => `${one.host} ${one.listens}`)
    assert.deepEqual(await texts('127.0.0.1'), ['127.0.0.1 true', '::1 false'])
    assert.deepEqual(await texts('::1'), ['::1 true', '127.0.0.1 false'])
    assert.deepEqual(await texts('0.0.0.0'), ['0.0.0.0 true', ':: false'])
    assert.deepEqual(await texts('192.0.2.7'), ['192.0.2.7 true'])
    assert.deepEqual(await heldAddresses({ host: '127.0.0.1', port: 0 }), [])
  })

  test('are let go when the service gets another address, and the port owner of before ends', async (t) => {
    const home = await temporary(t)
    const [first, second] = (await freePorts(2)) as [number, number]
    let port = first
    const keeper = createPortsKeeper({
      home,
      addresses: () => heldAddresses({ host: '127.0.0.1', port }),
      onError: (error) => assert.fail(String(error)),
    })
    t.after(() => {
      keeper.close()
      const owner = portOwnerOf(home)
      if (owner !== null) process.kill(-owner.pid, 'SIGKILL')
    })
    keeper.start()
    await until(() => keeper.status() !== null)
    assert.equal(await binds(first), false)
    assert.equal(await binds(second), true)
    port = second
    await until(() => keeper.status()?.addresses.includes(`127.0.0.1:${second}`) === true, 15_000)
    await until(() => binds(first))
    assert.equal(await binds(second), false)
  })

  test('say which of them another program has, and hold the rest', async (t) => {
    const home = await temporary(t)
    const port = await freePort()
    const other = createServer().listen(port, '::1')
    await once(other, 'listening')
    t.after(() => other.close())
    const keeper = createPortsKeeper({
      home,
      addresses: () => heldAddresses({ host: '127.0.0.1', port }),
      onError: (error) => assert.fail(String(error)),
    })
    keeper.start()
    await until(() => keeper.status() !== null)
    const { pid } = keeper.status()!
    t.after(() => {
      keeper.close()
      process.kill(-pid, 'SIGKILL')
    })
    await sleeps(pid)
    assert.deepEqual(keeper.status()?.addresses, [`127.0.0.1:${port}`])
    assert.deepEqual(keeper.status()?.missing, [{ address: `[::1]:${port}`, reason: 'another program has it' }])
  })

  test('end with their home, and a process that has the number of a port owner is not taken for it', async (t) => {
    const home = await temporary(t)
    const port = await freePort()
    const keeper = createPortsKeeper({
      home,
      addresses: () => heldAddresses({ host: '127.0.0.1', port }),
      onError: () => undefined,
    })
    keeper.start()
    await until(() => keeper.status() !== null)
    keeper.close()
    const { pid } = keeper.status()!
    await sleeps(pid)
    const facts = await readFile(join(home, 'ports.json'), 'utf8')
    await writeFile(join(home, 'ports.json'), facts.replace(/"start":"\d+"/, '"start":"1"'))
    assert.equal(portOwnerOf(home), null)
    await rm(home, { recursive: true })
    await until(() => binds(port), 30_000)
  })
})

describe('who listens at an address', () => {
  test('is found in both families, by every address that stands in the way', async (t) => {
    for (const [host, asked] of [
      ['127.0.0.1', '127.0.0.1'],
      ['0.0.0.0', '127.0.0.1'],
      ['127.0.0.1', '0.0.0.0'],
      ['::1', '::1'],
      ['::', '::1'],
    ] as const) {
      const server = await listening(t, host)
      const { port } = server.address() as { port: number }
      assert.deepEqual(listenersAt({ host: asked, port }), [socketNameOf(server)], `${host} for ${asked}`)
      assert.deepEqual(listenersAt({ host: '127.0.0.2', port }), host === '0.0.0.0' ? [socketNameOf(server)] : [])
    }
  })
})

describe('sockets from systemd', () => {
  test('are taken by name, by the process they are for alone, and the variables go', () => {
    const systemd = { pid: 77, isSocket: () => true }
    const env = { LISTEN_FDS: '2', LISTEN_PID: '77', LISTEN_FDNAMES: 'proxy:page', HOME: '/' }
    assert.deepEqual(takeInheritedSockets(env, systemd), { proxy: 3, page: 4 })
    assert.deepEqual(env, { HOME: '/' })
    assert.deepEqual(takeInheritedSockets({ LISTEN_FDS: '1', LISTEN_PID: '78', LISTEN_FDNAMES: 'page' }, systemd), {})
    assert.deepEqual(takeInheritedSockets({}, systemd), {})
    for (const [count, names] of [
      ['1', 'stackquay.socket'],
      ['2', 'page:page'],
      ['2', 'page'],
    ] as const) {
      const wrong = { LISTEN_FDS: count, LISTEN_PID: '77', LISTEN_FDNAMES: names }
      assert.throws(() => takeInheritedSockets(wrong, systemd), /FileDescriptorName=page or FileDescriptorName=proxy/)
    }
    const lost = { LISTEN_FDS: '1', LISTEN_PID: '77', LISTEN_FDNAMES: 'page' }
    assert.throws(
      () => takeInheritedSockets(lost, { pid: 77, isSocket: () => false }),
      /descriptor 3, and none is there/,
    )
  })

  test('answer for page and proxy, and what connects while the service is down is answered by the next one', {
    timeout: 120_000,
  }, async (t) => {
    const home = await temporary(t)
    const systemd = startActivator(t, home)
    const { page, proxy } = await systemd.ports
    await systemd.start()
    const health = '/api/v1/health'
    assert.equal(await statusOf(page, health), 200)
    assert.equal(await statusOf(proxy, '/'), 404)
    await systemd.kill()
    const waiting = statusOf(page, health)
    assert.equal(await binds(page), false)
    await systemd.start()
    assert.equal(await waiting, 200)
    const proxyHome = join(home, 'proxy')
    t.after(() => createProxyControl(proxyHome).shutdown())
    const { pid } = (await createProxyControl(proxyHome).status())!
    // The next one gets the same socket.
    process.kill(pid, 'SIGKILL')
    assert.equal(await statusOf(proxy, '/'), 404)
    assert.notEqual((await createProxyControl(proxyHome).status())!.pid, pid)
  })
})

/**
 * What systemd does for a service with socket units: opens the sockets, never accepts, and starts the service with them, as
 * often as it is asked to.
 */
const activator = `
import os, signal, socket, subprocess, sys
sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(2)]
assert [one.fileno() for one in sockets] == [3, 4]
print(*[one.getsockname()[1] for one in sockets], flush=True)
service = None
for line in sys.stdin:
  if line.strip() == 'start':
    env = {**os.environ, 'LISTEN_FDS': '2', 'LISTEN_FDNAMES': 'page:proxy', 'STACKQUAY_PROXY_HTTPS': 'off'}
    env['STACKQUAY_LISTEN'], env['STACKQUAY_PROXY_HTTP'] = ['127.0.0.1:%d' % one.getsockname()[1] for one in sockets]
    service = subprocess.Popen(['sh', '-c', 'LISTEN_PID=$$ exec "$@"', 'sh', *sys.argv[1:]], env=env, pass_fds=(3, 4),
      stdin=subprocess.DEVNULL)
  else:
    service.kill()
    service.wait()
  print('done', flush=True)
if service: service.kill()
`

function startActivator(t: TestContext, home: string) {
  const child = spawn('/usr/bin/python3', ['-c', activator, process.execPath, main], {
    env: { ...process.env, STACKQUAY_HOME: home, STACKQUAY_ENGINE: 'native', STACKQUAY_LOG_LEVEL: 'warn' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(async () => {
    child.stdin.end()
    await once(child, 'exit')
  })
  let text = ''
  const lines: string[] = []
  const readers: ((line: string) => void)[] = []
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    const parts = (text + more).split('\n')
    text = parts.pop() ?? ''
    // The service writes to the same output.
    for (const line of parts.filter((part) => /^(done|\d+ \d+)$/.test(part))) {
      const reader = readers.shift()
      if (reader === undefined) lines.push(line)
      else reader(line)
    }
  })
  const next = async () => lines.shift() ?? new Promise<string>((resolve) => readers.push(resolve))
  const say = async (word: string) => {
    child.stdin.write(`${word}\n`)
    await next()
  }
  return {
    ports: next().then((line) => {
      const [page, proxy] = line.split(' ').map(Number)
      return { page: page!, proxy: proxy! }
    }),
    start: () => say('start'),
    kill: () => say('kill'),
  }
}

async function listening(t: TestContext, host: string): Promise<Server> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  t.after(() => server.close())
  return server
}

/** By a connection of its own. */
function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    }).once('error', reject)
  })
}

/** Whether an ordinary user can have this port of 127.0.0.1. */
async function binds(port: number): Promise<boolean> {
  const script = `process.setgroups([]);process.setgid(65534);process.setuid(65534);
    require('net').createServer().once('error', () => process.exit(1)).listen(${port}, '127.0.0.1', () => process.exit(0))`
  const [code] = (await once(spawn(process.execPath, ['-e', script], { stdio: 'ignore' }), 'exit')) as [number]
  return code === 0
}

/** It has become what it is until its end. */
async function sleeps(pid: number): Promise<void> {
  await until(async () => (await readFile(`/proc/${pid}/cmdline`, 'latin1')).startsWith('sh\0'))
}

async function temporary(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-ports-'))
  await chmod(home, 0o711)
  t.after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))
  return home
}

async function until(check: () => boolean | Promise<boolean>, within = 10_000): Promise<void> {
  const deadline = Date.now() + within
  while (!(await check())) {
    if (Date.now() > deadline) assert.fail(`not within ${within} ms: ${check}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
