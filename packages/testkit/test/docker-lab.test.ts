import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type DockerLab, dockerLab } from '../src/docker-lab/index.ts'
import { freePort, isAlive, launchBrowser, spawnTracked, waitFor } from '../src/index.ts'

test('an undisturbed browser goes on loading while networks of the machine come and go', async (t) => {
  const waiting: (() => void)[] = []
  await using server = createHttpServer((request, response) => {
    if (request.url === '/') response.end('<p>here</p>')
    else waiting.push(() => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await using browser = await launchBrowser({ undisturbed: true })
  const page = await browser.page()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  // More than a browser has connections for: what waits for one is what it gives up.
  const answers = page.evaluate(() =>
    Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map((one) => fetch(`/${one}`).then(({ status }) => status, String))),
  )
  await waitFor('the requests', () => waiting.length >= 6)
  const link = `sqt${process.pid}`
  const ip = (...args: string[]) => execFileSync('ip', args)
  t.after(() => spawnSync('ip', ['link', 'del', `${link}a`], { stdio: 'ignore' }))
  ip('link', 'add', `${link}a`, 'type', 'veth', 'peer', 'name', `${link}b`)
  ip('address', 'add', '10.211.77.1/30', 'dev', `${link}a`)
  for (const end of ['a', 'b']) ip('link', 'set', `${link}${end}`, 'up')
  await delay(1000)
  while (waiting.length > 0) {
    for (const answer of waiting.splice(0)) answer()
    await delay(200)
  }
  assert.deepEqual(await answers, Array(9).fill(200))
})

test('two labs at once see only their own containers, whose programs reach each other by name and the machine', async () => {
  await using first = await dockerLab({ images: ['redis'] })
  await using second = await dockerLab({ images: ['redis'] })
  assert.notEqual(first.host, second.host)

  for (const lab of [first, second]) {
    await lab.docker(['network', 'create', 'own'])
    await startRedis(lab, 'store', ['--network', 'own'])
  }
  for (const lab of [first, second]) assert.equal(await lab.docker(['ps', '--format', '{{.Names}}']), 'store')

  for (const lab of [first, second]) await waitForRedis(lab, ['--network', 'own'], 'store')

  await using machine = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('+PONG\r\n'))
  }).listen(0, '0.0.0.0')
  await once(machine, 'listening')
  const { port } = machine.address() as AddressInfo
  for (const lab of [first, second]) {
    const script = `exec 3<>/dev/tcp/${lab.addressPrefix}0.1/${port} && echo PING >&3 && head -c 5 <&3`
    assert.equal(await lab.docker(['run', '--rm', lab.image('debian'), 'timeout', '30', 'bash', '-c', script]), '+PONG')
  }
})

test('a published port is reached while other daemons start and end, and networks of one daemon are apart', async () => {
  await using lab = await dockerLab({ images: ['redis'] })
  const port = await freePort()
  await lab.docker(['network', 'create', 'one'])
  await lab.docker(['network', 'create', 'two'])
  await startRedis(lab, 'store', ['--network', 'one', '--publish', `127.0.0.1:${port}:6379`])
  await waitFor('the published port', () => ping(port))
  const address = await addressOf(lab, 'store')
  await waitFor('the address in the network', () => ping(6379, address))
  const rulesBefore = firewallOf(lab)

  await (await dockerLab()).close()
  assert.ok(await ping(port), 'the port is still reached')
  assert.deepEqual(firewallOf(lab), rulesBefore, 'the rules of this daemon are as they were')

  const from = (network: string) =>
    lab.try([
      'run',
      '--rm',
      '--network',
      network,
      lab.image('redis'),
      'timeout',
      '3',
      'redis-cli',
      '-h',
      address,
      'ping',
    ])
  assert.equal((await from('one')).stdout.trim(), 'PONG')
  assert.notEqual((await from('two')).code, 0, 'another network does not reach it')
})

test('after a kill containers run on, and the daemon that starts again knows them', async () => {
  await using lab = await dockerLab({ images: ['redis'], daemonArgs: ['--live-restore'] })
  await startRedis(lab, 'store')
  const pid = Number(await lab.docker(['inspect', '--format', '{{.State.Pid}}', 'store']))
  const before = lab.pid()

  await lab.kill()
  assert.equal(await isAlive(before), false)
  assert.notEqual((await lab.try(['ps'])).code, 0)
  assert.equal(await isAlive(pid), true)

  await lab.restart()
  assert.notEqual(lab.pid(), before)
  assert.equal(await lab.docker(['inspect', '--format', '{{.State.Pid}} {{.State.Running}}', 'store']), `${pid} true`)
})

test('nothing is left of a lab that was closed, running or killed', async () => {
  for (const killed of [false, true]) {
    const lab = await dockerLab({ images: ['redis'] })
    await lab.docker(['network', 'create', 'own'])
    await lab.docker(['volume', 'create', 'kept'])
    await startRedis(lab, 'store', ['--network', 'own', '--publish', '127.0.0.1::6379', '--volume', 'kept:/data'])
    const pids = [lab.pid(), Number(await lab.docker(['inspect', '--format', '{{.State.Pid}}', 'store']))]
    assert.notDeepEqual(tracesOf(lab), nothing)
    if (killed) await lab.kill()
    await lab.close()
    assert.deepEqual(tracesOf(lab), nothing)
    for (const pid of pids) assert.equal(await isAlive(pid), false)
  }
})

test('what a test leaves that is killed is cleared away by the next lab', async () => {
  const module = fileURLToPath(new URL('../src/docker-lab/index.ts', import.meta.url))
  const program = `import { dockerLab } from ${JSON.stringify(module)}
    const lab = await dockerLab({ images: ['redis'] })
    await lab.docker(['run', '-d', '--name', 'store', lab.image('redis'), 'redis-server'])
    const pid = await lab.docker(['inspect', '--format', '{{.State.Pid}}', 'store'])
    console.log('LAB', lab.folder, lab.addressPrefix, lab.pid(), pid)
    setInterval(() => {}, 1000)`
  await using child = spawnTracked([process.execPath, '--input-type=module-typescript', '--eval', program])
  const [, folder = '', addressPrefix = '', ...pids] = await child.line(/LAB (\S+) (\S+) (\d+) (\d+)/, 120_000)
  child.child.kill('SIGKILL')
  await child.exit()
  for (const pid of pids) assert.equal(await isAlive(Number(pid)), true)

  await using _next = await dockerLab()
  for (const pid of pids) assert.equal(await isAlive(Number(pid)), false)
  // A lab of another test may have taken the place, which is why it must have been free.
  const owner = existsSync(folder) ? readFileSync(`${folder}/owner`, 'utf8') : null
  if (owner === null) assert.deepEqual(tracesOf({ folder, addressPrefix }), nothing)
  else assert.notEqual(owner.split(' ')[0], String(child.pid))
})

async function startRedis(lab: DockerLab, name: string, options: readonly string[] = []): Promise<void> {
  await lab.docker([
    'run',
    '--detach',
    '--name',
    name,
    ...options,
    lab.image('redis'),
    'redis-server',
    '--protected-mode',
    'no',
  ])
}

async function waitForRedis(lab: DockerLab, options: readonly string[], host: string): Promise<void> {
  const args = ['run', '--rm', ...options, lab.image('redis'), 'redis-cli', '-h', host, 'ping']
  await waitFor(`${host} of ${lab.folder}`, async () => (await lab.try(args)).stdout === 'PONG\n', {
    timeoutMs: 30_000,
  })
}

function addressOf(lab: DockerLab, container: string): Promise<string> {
  return lab.docker(['inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container])
}

/** A port that Docker publishes accepts connections also without a listener inside: only an answer counts. */
function ping(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host).setTimeout(2000)
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => end(String(data).startsWith('+PONG')))
    for (const event of ['error', 'close', 'timeout']) socket.once(event, () => end(false))
  })
}

type Traces = Readonly<Record<'processes' | 'mounts' | 'bridges' | 'rules' | 'cgroups' | 'folders', readonly string[]>>
const nothing: Traces = { processes: [], mounts: [], bridges: [], rules: [], cgroups: [], folders: [] }

function tracesOf({ folder, addressPrefix }: Pick<DockerLab, 'folder' | 'addressPrefix'>): Traces {
  const name = folder.slice(folder.lastIndexOf('/') + 1)
  return {
    processes: readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && commandOf(pid).includes(`${folder}/`),
    ),
    mounts: linesOf(readFileSync('/proc/self/mountinfo', 'utf8'), ` ${folder}/`),
    bridges: linesOf(output('ip', '-o', '-4', 'address'), ` ${addressPrefix}`),
    rules: firewallOf({ folder, addressPrefix }),
    cgroups: ['', ...readdirSync('/sys/fs/cgroup')].map((each) => `/sys/fs/cgroup/${each}/${name}`).filter(existsSync),
    folders: existsSync(folder) ? [folder] : [],
  }
}

/** Rules carry the number of the lab, or addresses of it. */
function firewallOf({ folder, addressPrefix }: Pick<DockerLab, 'folder' | 'addressPrefix'>): readonly string[] {
  const number = /\d+$/.exec(folder)?.[0]
  return ['filter', 'nat']
    .flatMap((table) => output('iptables', '--wait', '-t', table, '-S').split('\n'))
    .filter((rule) => rule.includes(`STQLAB${number}`) || rule.includes(` ${addressPrefix}`))
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const linesOf = (text: string, part: string) => text.split('\n').filter((line) => line.includes(part))

function output(program: string, ...args: readonly string[]): string {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout
}
