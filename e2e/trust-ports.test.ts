import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createProxyControl } from '@stackquay/proxy/control'
import { portOwnerOf } from '@stackquay/server/ports/held-ports'
import { bringProxyProgram } from '@stackquay/server/proxy-program'
import { ensureSystemUser } from '@stackquay/server/users/system-user'
import { rounds } from '@stackquay/testkit/rounds'
import { loadProgram, startLoad } from './support/load.ts'
import { nobody, startThief, type Thief } from './support/port-thief.ts'
import { alive, type Service, startService, until } from './support/service.ts'
import { serviceProgramOf } from './support/service-program.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('the ports of page and proxy, and whom the proxy runs as', () => {
  let service: Service
  let source: SourceRoot
  let pagePort: number
  let proxyHome: string
  before(async () => {
    assert.equal(process.getuid?.(), 0, 'This test shows what a service of root promises: run it as root.')
    source = await makeSourceRoot()
    service = await startService({ roots: source.path })
    pagePort = Number(new URL(service.url).port)
    proxyHome = join(service.home, 'proxy')
    await held(service)
    const path = await source.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', private: true, scripts: { start: 'node server.js' } }),
      'server.js': loadProgram,
    })
    const created = await service.client.call('createProject', { body: { name: 'shop', path }, query: { wait: 60 } })
    assert.equal(created.status.state, 'running', service.output())
  })
  after(async () => {
    await service?.close()
    await source?.remove()
  })

  const proxyStatus = async () => (await createProxyControl(proxyHome).status())!

  it('the proxy and its workers are stq-proxy, can do nothing more, and read neither key nor database', async () => {
    const { uid } = await ensureSystemUser('stq-proxy')
    const flood = startFlood(service.proxyPort)
    try {
      // Under load there are workers too, where the machine has more than one core.
      const { mostWorkers } = await proxyStatus()
      await until(async () => (await proxyStatus()).workers.length > (mostWorkers > 1 ? 1 : 0), 'a worker to start')
      for (const pid of (await proxyStatus()).workers) {
        const status = await readFile(`/proc/${pid}/status`, 'utf8')
        const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1]
        assert.equal(field('Uid'), `${uid}\t${uid}\t${uid}\t${uid}`)
        assert.equal(field('Groups')?.trim(), '')
        for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(field(set)!, /^0+$/, set)
        assert.equal(field('NoNewPrivs'), '1')
      }
    } finally {
      flood.end()
    }
    for (const file of ['secret.key', 'stackquay.db', 'ports.json', 'proxy/proxy.log', 'proxy/proxy.json']) {
      const { status } = spawnSync('cat', [join(service.home, file)], { uid, gid: uid })
      assert.notEqual(status, 0, file)
      assert.ok((await stat(join(service.home, file))).isFile(), file)
    }
    assert.equal(await canConnect(join(proxyHome, 'proxy.sock'), uid), false)
    assert.equal(await canConnect(join(proxyHome, 'proxy.sock'), 0), true)
    assert.equal((await stat(join(proxyHome, 'data'))).mode & 0o777, 0o700)
    assert.equal((await stat(join(proxyHome, 'data'))).uid, uid)
  })

  it('diagnostics say whom the proxy runs as and who holds the ports', async () => {
    const { checks } = await service.client.call('getDiagnostics')
    const detail = (id: string) => checks.find((check) => check.id === id)
    assert.match(detail('proxy')!.detail, /runs as "stq-proxy"/)
    const { pid } = portOwnerOf(service.home)!
    assert.equal(detail('held-ports')!.status, 'ok')
    assert.match(detail('held-ports')!.detail, new RegExp(`^Process ${pid} holds 127\\.0\\.0\\.1:${pagePort}, `))
  })

  it('who holds the ports is small, is found again by the next start, and is made anew when it was ended', async () => {
    const before = portOwnerOf(service.home)!
    assert.deepEqual(
      before.addresses,
      [pagePort, service.proxyPort].flatMap((port) => [`127.0.0.1:${port}`, `[::1]:${port}`]),
    )
    const resident = Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${before.pid}/status`, 'utf8'))?.[1])
    assert.ok(resident < 4_000, `${resident} KB`)
    assert.notEqual(spawnSync('kill', ['-9', String(before.pid)], { uid: nobody, gid: nobody }).status, 0)
    await service.stop()
    assert.ok(alive(before.pid))
    await service.start()
    await service.kill()
    await service.start()
    await delay(500)
    assert.equal(portOwnerOf(service.home)!.pid, before.pid)
    process.kill(-before.pid, 'SIGKILL')
    await until(async () => (portOwnerOf(service.home)?.pid ?? before.pid) !== before.pid, 'another to hold the ports')
  })

  it('refuses connections while it is down: nobody waits for an answer that does not come', async () => {
    await service.stop()
    await assert.rejects(fetch(service.url), (error: Error) => /ECONNREFUSED/.test(String(error.cause)))
    await service.start()
  })

  it('a second service at the same address is refused, and says who has it', { timeout: 60_000 }, async () => {
    const answer = await startSecond({ STACKQUAY_LISTEN: `127.0.0.1:${pagePort}`, STACKQUAY_PROXY_HTTP: 'off' })
    assert.equal(answer.code, 1)
    assert.match(
      answer.text,
      new RegExp(`The address 127\\.0\\.0\\.1:${pagePort} is used by ".+" \\(pid ${service.pid()}\\)\\. Stop it`),
    )
  })

  it('a program of another user never gets a port: kills, restarts, an upgrade, under load', {
    timeout: 600_000,
  }, async (t) => {
    const thieves: Thief[] = [startThief([pagePort, service.proxyPort]), startThief([pagePort, service.proxyPort])]
    const load = startLoad(service.proxyPort)
    try {
      await load.answersMore(40)
      for (let round = 0; round < rounds(3, 20); round += 1) {
        if (round % 4 === 3) await service.stop()
        else await service.kill()
        await load.answersMore(40)
        await service.start()
      }
      const before = await olderProxyRuns(service)
      await load.answersMore(40)
      await service.kill()
      await service.start()
      // One that hands over may cut off whoever asks just then.
      const asked = () =>
        createProxyControl(proxyHome)
          .status()
          .catch(() => undefined)
      const now = async () => (await asked())?.pid ?? before
      await until(async () => (await now()) !== before, 'the proxy of this version')
      await load.answersMore(200)
      await load.end()
      // Requests of a killed proxy are lost, so without load.
      for (let round = 0; round < rounds(2, 20); round += 1) {
        const { workers } = await proxyStatus()
        if (round % 2 === 1) await service.kill()
        process.kill(workers[0]!, 'SIGKILL')
        await delay(200)
        if (round % 2 === 1) await service.start()
        await until(async () => (await service.get('shop').catch(() => null))?.status === 200, 'the proxy to be back')
      }
      assert.equal(portOwnerOf(service.home)?.addresses.length, 4)
    } finally {
      for (const thief of thieves) await thief.end()
      await load.end()
      t.diagnostic(load.inWords())
    }
    assert.deepEqual(load.failures, [])
    for (const thief of thieves) {
      t.diagnostic(`${thief.tries()} tries to bind`)
      assert.ok(thief.tries() > 1_000)
      assert.deepEqual(thief.got, [])
    }
  })

  it('the thief gets a port that nobody holds: it would have got these', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as { port: number }
    await new Promise((resolve) => free.close(resolve))
    const thief = startThief([port])
    await until(async () => thief.got.some((line) => line.includes('listens')), 'the thief to listen')
    await thief.end()
  })
})

/** Requests to a host that no project has, fifty ahead on each connection: much for the proxy, little for who asks. */
function startFlood(port: number): { end(): void } {
  const batch = 'GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n'.repeat(50)
  const sockets = Array.from({ length: 8 }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(batch))
    let answers = 0
    socket.setEncoding('latin1').on('data', (text: string) => {
      answers += text.split('HTTP/1.1 404').length - 1
      if (answers < 50) return
      answers -= 50
      socket.write(batch)
    })
    return socket.on('error', () => undefined)
  })
  return { end: () => sockets.forEach((socket) => void socket.destroy()) }
}

async function held(service: Service): Promise<void> {
  await until(async () => portOwnerOf(service.home) !== null, 'the ports to be held', 15_000)
}

function canConnect(path: string, uid: number): Promise<boolean> {
  const script = `require('net').connect(${JSON.stringify(path)}).once('connect', () => process.exit(0)).once('error', () => process.exit(1))`
  // Node itself may lie where this user cannot go.
  const drop = `process.setgroups([]);process.setgid(${uid});process.setuid(${uid});`
  const child = spawn(process.execPath, ['-e', drop + script], { stdio: 'ignore' })
  return once(child, 'exit').then(([code]) => code === 0)
}

async function startSecond(env: Readonly<Record<string, string>>) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-second-'))
  const child = spawn(process.execPath, [await serviceProgramOf(root)], {
    env: { ...process.env, STACKQUAY_HOME: home, STACKQUAY_ENGINE: 'native', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes))
  const [code] = (await once(child, 'close')) as [number]
  await rm(home, { recursive: true, force: true })
  return { code, text }
}

/** Puts a proxy of another version in the place of the one that runs, as the service of that version would have. */
async function olderProxyRuns(service: Service): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-older-'))
  try {
    await cp(join(root, 'apps/proxy'), join(folder, 'proxy'), { recursive: true })
    await appendFile(join(folder, 'proxy/src/log.ts'), '// older\n')
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const user = await ensureSystemUser('stq-proxy')
    const program = bringProxyProgram(service.home, join(folder, 'proxy'))
    const { ensureProxy } = (await import(
      join(folder, 'proxy/src/control.ts')
    )) as typeof import('@stackquay/proxy/control')
    await service.kill()
    const home = join(service.home, 'proxy')
    const older = await ensureProxy({ home, listen: `127.0.0.1:${service.proxyPort}`, as: { ...user, program } })
    assert.equal(older.started, true)
    return (await older.status())!.pid
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
