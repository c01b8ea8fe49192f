import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, link, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createProxyControl, ensureProxy, type ProxyUser } from '@stackquay/proxy/control'
import type { Route, RouteTable } from '@stackquay/proxy/route-table'
import { freePort } from '@stackquay/testkit'
import { bringProxyProgram } from '../src/proxy-program.ts'
import { ensureSystemUser } from '../src/users/system-user.ts'

const control = import.meta.resolve('@stackquay/proxy/control')

describe('the proxy of a service of root', () => {
  test('takes the place of one that was root: what that one has goes on, routes and access log stay', async (t) => {
    const { home, proxyHome, as } = await prepared(t)
    const port = await freePort()
    const listen = `127.0.0.1:${port}`
    let release = () => {}
    const upstream = await serve(t, (path, end) => {
      if (path === '/slow') release = () => end('slow')
      else end('quick')
    })
    const before = await ensureProxy({ home: proxyHome, listen })
    await before.putRoutes(table(upstream, 7))
    assert.equal((await before.status())?.uid, 0)
    assert.equal(await ask(port, '/first'), 'quick')
    const slow = ask(port, '/slow')
    await until(() => release.toString().includes('slow'))
    await until(async () => (await before.access('prj_shop', {})).items.length > 0)

    const after = await ensureProxy({ home: proxyHome, listen, as })
    const status = (await after.status())!
    assert.equal(status.uid, as.uid)
    assert.equal(status.routesGeneration, 7)
    assert.equal(await ask(port, '/second'), 'quick')
    release()
    assert.equal(await slow, 'slow')
    const paths = async () => (await after.access('prj_shop', {})).items.map(({ path }) => path)
    await until(async () => (await paths()).includes('/second'))
    assert.ok((await paths()).includes('/first'))
    for (const path of await everything(join(proxyHome, 'data'))) assert.equal((await lstat(path)).uid, as.uid, path)
    assert.equal((await lstat(proxyHome)).uid, 0)
    assert.equal(existsSync(join(proxyHome, 'routes.json')), false)
    assert.ok(home)
  })

  test('runs, workers and password rules included, when the installation lies where its user cannot go', async (t) => {
    const { proxyHome, as } = await prepared(t)
    const hidden = await mkdtemp(join(tmpdir(), 'stackquay-hidden-'))
    t.after(() => rm(hidden, { recursive: true, force: true }))
    const node = join(hidden, 'node')
    await link(process.execPath, node).catch(() => copyFile(process.execPath, node))
    await chmod(hidden, 0o700)
    const script = `const { ensureProxy } = await import(${JSON.stringify(control)})
      await ensureProxy(${JSON.stringify({ home: proxyHome, listen: '127.0.0.1:0', workers: 2, as })})`
    const child = spawn(node, ['--input-type=module', '-e', script], { stdio: ['ignore', 'inherit', 'inherit'] })
    assert.deepEqual(await once(child, 'exit'), [0, null])

    const proxy = createProxyControl(proxyHome)
    await until(async () => (await proxy.status())?.workers.length === 2)
    for (const pid of (await proxy.status())!.workers) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      assert.match(status, new RegExp(`^Uid:\\s+${as.uid}\\s`, 'm'))
      assert.match(status, /^Name:\s+stackquay-proxy$/m)
    }
    const load = `process.setgroups([]);process.setgid(${as.gid});process.setuid(${as.uid});
      await import(${JSON.stringify(join(as.program, '../gate/verify-password.ts'))})`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', load], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  })

  test('has no rights without setpriv either', async (t) => {
    const { proxyHome, as } = await prepared(t)
    const script = `const { ensureProxy } = await import(${JSON.stringify(control)})
      await ensureProxy(${JSON.stringify({ home: proxyHome, listen: '127.0.0.1:0', workers: 1, as })})`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: '/nonexistent' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    assert.deepEqual(await once(child, 'exit'), [0, null])
    const { pid } = (await createProxyControl(proxyHome).status())!
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    assert.match(status, new RegExp(`^Uid:\\s+${as.uid}\\s+${as.uid}\\s+${as.uid}\\s`, 'm'))
    assert.match(status, /^Groups:\s*$/m)
    for (const set of ['CapPrm', 'CapEff']) assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'))
  })

  test('listens below port 1024 and holds no right to', async (t) => {
    const { proxyHome, as } = await prepared(t)
    // Of the ports that a service of the system may have, one that is free here.
    const port = await freeLowPort()
    const proxy = await ensureProxy({ home: proxyHome, listen: `127.0.0.1:${port}`, as })
    assert.equal((await proxy.status())?.address.port, port)
    assert.equal(await ask(port, '/'), null)
  })

  test('is refused at the address of another one, with the port and who has it', async (t) => {
    const first = await prepared(t)
    const second = await prepared(t)
    const listen = `127.0.0.1:${await freePort()}`
    const proxy = await ensureProxy({ home: first.proxyHome, listen, as: first.as })
    const { pid, address } = (await proxy.status())!
    await assert.rejects(ensureProxy({ home: second.proxyHome, listen, as: second.as }), {
      code: 'proxy_start_failed',
      message: new RegExp(`Port ${address.port} is used by ".+" \\(pid ${pid}\\)\\. Stop it`),
    })
    assert.equal((await proxy.status())?.pid, pid)
  })

  test('one that was started by a service that was killed before it was known is ended by the next start', async (t) => {
    const { proxyHome, as } = await prepared(t)
    const listen = `127.0.0.1:${await freePort()}`
    const first = (await (await ensureProxy({ home: proxyHome, listen, as })).status())!
    spawnSync('mv', [join(proxyHome, 'proxy.sock'), join(proxyHome, 'proxy.sock.next')])
    const second = (await (await ensureProxy({ home: proxyHome, listen, as })).status())!
    assert.notEqual(second.pid, first.pid)
    await until(() => !existsSync(`/proc/${first.pid}/exe`) || isZombie(first.pid))
  })

  test('does not believe a folder that somebody else made: it begins with one of its own', async (t) => {
    const { home, proxyHome, as } = await prepared(t)
    await mkdir(proxyHome)
    await writeFile(join(proxyHome, 'routes.json'), JSON.stringify(table(1, 9)))
    spawnSync('chown', ['-R', '65534:65534', proxyHome])
    const proxy = await ensureProxy({ home: proxyHome, listen: '127.0.0.1:0', as })
    assert.equal((await proxy.status())?.routesGeneration, 0)
    assert.equal((await lstat(proxyHome)).uid, 0)
    const aside = (await readdir(home)).find((name) => name.startsWith('proxy.of-user-65534-'))
    assert.ok(existsSync(join(home, aside!, 'routes.json')))
  })

  test('says what to change when its user cannot reach the home', async (t) => {
    const { home, proxyHome, as } = await prepared(t)
    await chmod(home, 0o700)
    await assert.rejects(ensureProxy({ home: proxyHome, listen: '127.0.0.1:0', as }), {
      code: 'proxy_start_failed',
      message:
        /The user "stq-proxy" cannot run the proxy.* set STACKQUAY_HOME to a folder that others may pass through/s,
    })
  })
})

async function prepared(t: TestContext): Promise<{ home: string; proxyHome: string; as: ProxyUser }> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-proxy-user-'))
  await chmod(home, 0o711)
  const proxyHome = join(home, 'proxy')
  t.after(async () => {
    const proxy = createProxyControl(proxyHome)
    const pids = (await proxy.status())?.workers ?? []
    await proxy.shutdown()
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}/exe`) || isZombie(pid)))
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })
  const as = { ...(await ensureSystemUser('stq-proxy')), program: bringProxyProgram(home) }
  return { home, proxyHome, as }
}

function isZombie(pid: number): boolean {
  return /^State:\s+Z/m.test(spawnSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' }).stdout)
}

function table(port: number, generation: number): RouteTable {
  const route: Route = {
    hosts: ['shop.localhost'],
    project: { id: 'prj_shop', slug: 'shop', name: 'Shop' },
    target: { kind: 'upstream', host: '127.0.0.1', port },
  }
  return { version: 1, generation, routes: [route] }
}

async function serve(t: TestContext, act: (path: string, end: (text: string) => void) => void): Promise<number> {
  const server = createHttpServer((request, response) => act(request.url ?? '', (text) => response.end(text)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

/** The body of a good answer; null for any other. */
function ask(port: number, path: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false, headers: { host: 'shop.localhost' } }, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve(answer.statusCode === 200 ? text : null)
    }).once('error', reject)
  })
}

async function freeLowPort(): Promise<number> {
  for (let port = 1023; port > 600; port -= 1) {
    const server = createHttpServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
  throw new Error('No port below 1024 is free.')
}

async function everything(path: string): Promise<readonly string[]> {
  const names = await readdir(path, { recursive: true })
  return [path, ...names.map((name) => join(path, name))]
}

async function until(check: () => boolean | Promise<boolean>, within = 15_000): Promise<void> {
  const deadline = Date.now() + within
  while (!(await check())) {
    if (Date.now() > deadline) assert.fail(`not within ${within} ms: ${check}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
