import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ChosenToolchain, type ServiceInput, serviceTypeOf, type WorkloadSpec } from '@stackquay/catalog'
import { type ChannelModel, connect, type Options } from 'amqplib'
import { serviceInput } from './support/inputs.ts'
import { rabbitmqJourneys } from './support/rabbitmq-journeys.ts'
import { freePort, type Machine, type Running, start } from './support/run-workload.ts'
import { nativeStage, nobody } from './support/stage.ts'

type Target = string | Options.Connect

const kind = serviceTypeOf('rabbitmq')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

describe('The RabbitMQ service', () => {
  test('keeps its password out of argv and everything it writes in its data', () => {
    const spec = kind.toWorkload(serviceInput(kind))
    assert.equal(spec.name, 'rabbitmq')
    assert.deepEqual(spec.data, [{ name: 'rabbitmq' }])
    assert.equal(spec.run.cwd, '{data:rabbitmq}')
    assert.equal(spec.run.argv[4], '/tools/bin/rabbitmq-server')
    assert.deepEqual(spec.env.PASSWORD, [{ secret: 'password', version: 1 }])
    const folders = Object.entries(spec.env).filter(([name]) => /^HOME$|_(FILE|FILES|DIR|BASE)$/.test(name))
    assert.equal(folders.length, 14)
    for (const [name, value] of folders) assert.match(String(value), /^\{data:rabbitmq\}/, name)
  })

  test('publishes AMQP when asked, and the management page never', () => {
    const bind = (port: string) => (port === 'amqp' ? '0.0.0.0' : '127.0.0.1')
    assert.deepEqual(kind.toWorkload(serviceInput(kind, {}, { bind })).ports, [
      { name: 'amqp', port: 30000, hostPort: 30000, bind: '0.0.0.0' },
      { name: 'management', port: 30001, hostPort: 30001, bind: '127.0.0.1' },
    ])
    assert.deepEqual(
      kind.ports.map(({ name, published }) => [name, published]),
      [
        ['amqp', true],
        ['management', false],
      ],
    )
  })

  test('tells runtimes and people how to reach it', () => {
    const password = [{ secret: 'password', version: 1 }]
    const url = ['amqp://app:', { secret: 'password', version: 1, encode: 'url' }, '@127.0.0.1:30000/%2F']
    const variables = kind.variables(serviceInput(kind))
    assert.deepEqual(variables, {
      RABBITMQ_URL: url,
      RABBITMQ_HOST: '127.0.0.1',
      RABBITMQ_PORT: '30000',
      RABBITMQ_USER: 'app',
      RABBITMQ_PASSWORD: password,
      RABBITMQ_VHOST: '/',
      AMQP_URL: url,
    })
    assert.deepEqual(Object.keys(variables), kind.injects)
    assert.deepEqual(kind.credentials?.(serviceInput(kind)), {
      host: '127.0.0.1',
      port: 30000,
      username: 'app',
      password,
      url,
      managementUrl: 'http://127.0.0.1:30001/',
    })
  })

  test('recognises the release wherever it is installed', () => {
    const pattern = new RegExp(kind.toolchain!.versionPattern, 'm')
    const places = {
      '/usr/lib/rabbitmq/plugins:/usr/lib/rabbitmq/lib/rabbitmq_server-3.10.8/plugins': '3.10.8',
      '/opt/rabbitmq_server-4.3.5/plugins': '4.3.5',
      '/opt/homebrew/Cellar/rabbitmq/4.2.1_1/plugins': '4.2.1',
    }
    for (const [place, version] of Object.entries(places)) {
      const text = `Listing plugin directories inferred from local environment...\nPlugin archives directory: ${place}\n`
      assert.equal(pattern.exec(text)?.[1], version)
      assert.equal(
        kind.releases.some((release) => release.version === kind.lineOf(version)),
        true,
      )
    }
  })

  test('says over which versions data has to go, and that there is no way back', () => {
    assert.equal(kind.dataBlocker('3.10', '3.10'), null)
    assert.equal(kind.dataBlocker('3.12', '3.13'), null)
    assert.equal(kind.dataBlocker('3.13', '4.2'), null)
    assert.equal(kind.dataBlocker('4.3', '4.4'), null)
    assert.equal(
      kind.dataBlocker('3.10', '4.3'),
      'RabbitMQ 4.3 cannot open data that 3.10 wrote. Start it with 3.11, 3.12, 3.13, and 4.2 first, or remove the data.',
    )
    assert.equal(
      kind.dataBlocker('4.2', '3.13'),
      'RabbitMQ 3.13 cannot open data that 4.2 wrote. Choose 4.2 again, or remove the data.',
    )
    assert.match(kind.dataBlocker('3.9', '4.9')!, /Choose 3\.9 again/)
  })
})

rabbitmqJourneys('of this machine', () => nativeStage(kind, toolchain()))

describe('A RabbitMQ server among the processes of a machine', () => {
  const uid = process.getuid?.() === 0 ? nobody() : undefined
  let folder: string
  let program: string
  let machine: Machine
  let input: ServiceInput
  let server: Running | null = null

  before(async () => {
    program = toolchain().program
    folder = await mkdtemp(join(tmpdir(), 'stackquay-rabbitmq-'))
    await chmod(folder, 0o755)
    machine = machineOf('data', hostile)
    input = await inputOf('prj_1')
  })

  after(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('tells its version to somebody without rights, and leaves no process behind', async () => {
    const { versionArgs, versionPattern } = kind.toolchain!
    const home = join(folder, 'home')
    mkdirSync(home)
    if (uid !== undefined) chownSync(home, uid, uid)
    const { stdout } = spawnSync(program, versionArgs, {
      encoding: 'utf8',
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' },
      ...(uid ? { uid, gid: uid } : {}),
    })
    assert.match(new RegExp(versionPattern, 'm').exec(stdout)?.[1] ?? '', /^\d+\.\d+\.\d+$/)
    await gone(home)
  })

  test('starts although a kill left tables of its first start without their heads, and keeps one that is beside a queue', async () => {
    const quorum = join(folder, 'data', 'node', 'quorum')
    const [empty, used] = [join(quorum, 'stackquay@localhost'), join(quorum, 'other@localhost')]
    mkdirSync(empty, { recursive: true, mode: 0o700 })
    mkdirSync(join(used, 'QUEUE'), { recursive: true, mode: 0o700 })
    const tables = [join(empty, 'names.dets'), join(empty, 'meta.dets'), join(used, 'names.dets')]
    for (const table of tables) writeFileSync(table, '', { mode: 0o600 })
    if (uid !== undefined)
      for (const path of readdirSync(join(folder, 'data'), { recursive: true, encoding: 'utf8' }))
        chownSync(join(folder, 'data', path), uid, uid)
    await serving()
    assert.deepEqual(
      tables.map((table) => statSync(table).size > 0),
      [true, true, false],
    )
    rmSync(used, { recursive: true })
  })

  test('opens its two ports on loopback and nothing else, and keeps what it writes to itself', async () => {
    const running = await serving()
    const own = processesOf(join(folder, 'data'))
    assert.ok(own.includes(running.child.pid!))
    const wanted = [input.hostPort('amqp'), input.hostPort('management')].map((port) => `127.0.0.1:${port}`)
    // Erlang asks for the names of the machine through a socket that is there for a moment.
    await until(() => listeners(own).length === wanted.length)
    assert.deepEqual(listeners(own), wanted.sort())
    for (const file of readdirSync(join(folder, 'data'), { recursive: true, encoding: 'utf8' })) {
      const found = statSync(join(folder, 'data', file), { throwIfNoEntry: false })
      assert.equal((found?.mode ?? 0) & 0o077, 0, file)
    }
    assert.doesNotMatch(readFileSync(join(folder, 'data', 'definitions.json'), 'utf8'), /quoted/)
    const argv = own.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).join('\n')
    assert.ok(!argv.includes('quoted'))
  })

  test('stops within its deadline while a client stays connected, and leaves no process behind', async () => {
    const running = await serving()
    const client = await connect(optionsOf(input, hostile))
    client.on('error', () => {})
    const begun = Date.now()
    assert.deepEqual(await running.stop(), { code: 0, signal: null })
    // Without a stop of its own it takes seven seconds on a machine with nothing else to do.
    assert.ok(Date.now() - begun < 6_000, `${Date.now() - begun} ms`)
    await gone(join(folder, 'data'))
    server = null
    const killed = await serving()
    server = null
    await killed.stop('SIGKILL')
    await gone(join(folder, 'data'))
  })

  test('waits for its ports while connections of other programs hold them, and can be stopped meanwhile', async () => {
    const [amqp, management] = [await outgoing(), await outgoing()]
    const taken = await inputOf('prj_1', { amqp: amqp.localPort!, management: management.localPort! })
    const spec = kind.toWorkload(taken)
    const says = async (running: Running, { localPort }: Socket) => {
      await until(() => running.output().includes(`Waiting for port ${localPort},`))
      assert.match(running.output(), new RegExp(`^Waiting for port ${localPort},`, 'm'))
    }
    try {
      const stopped = await start(spec, machine)
      await says(stopped, amqp)
      assert.deepEqual(await stopped.stop(), { code: 0, signal: null })

      const running = await start(spec, machine)
      try {
        for (const connection of [amqp, management]) {
          await says(running, connection)
          connection.resetAndDestroy()
        }
        await ready(running, spec)
        await withClient(async () => {}, optionsOf(taken, hostile))
      } finally {
        await running.stop()
      }
    } finally {
      amqp.destroy()
      management.destroy()
    }
  })

  /** The server that runs, started if need be: a test that is not about a start goes on with that of the test before. */
  async function serving(): Promise<Running> {
    const spec = kind.toWorkload(input)
    server ??= await start(spec, machine)
    await ready(server, spec)
    return server
  }

  async function withClient<T>(
    act: (client: ChannelModel) => Promise<T>,
    target: Target = optionsOf(input, hostile),
  ): Promise<T> {
    const client = await connect(target)
    client.on('error', () => {})
    try {
      return await act(client)
    } finally {
      await client.close()
    }
  }

  /** Not as a URL: this client reads those byte by byte, and would take one letter beyond ASCII for two. */
  function optionsOf(connection: ServiceInput, password: string): Options.Connect {
    const { host: hostname } = connection
    return { hostname, port: connection.port('amqp'), username: 'app', password, vhost: '/' }
  }

  async function inputOf(id: string, chosen?: Readonly<Record<string, number>>): Promise<ServiceInput> {
    const ports = chosen ?? { amqp: await freePort(), management: await freePort() }
    const plain = serviceInput(kind)
    return serviceInput(
      kind,
      {},
      {
        project: { ...plain.project, id },
        hostPort: (port) => ports[port]!,
        toolchain: toolchain(),
      },
    )
  }

  function machineOf(name: string, password: string): Machine {
    const data = join(folder, name)
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) chownSync(data, uid, uid)
    return { data: { rabbitmq: data }, secrets: { password }, ...(uid ? { uid } : {}) }
  }
})

/** As the engine asks: until the greeting is answered as the spec says. */
async function ready(running: Running, { health, ports }: WorkloadSpec): Promise<void> {
  assert.ok(health.kind === 'tcp' && health.greeting)
  const port = ports.find(({ name }) => name === health.port)!.port
  const deadline = Date.now() + health.timeoutSeconds * 1000
  while (!(await greets(port, health.greeting))) {
    const ended = running.child.exitCode !== null || running.child.signalCode !== null
    if (ended || Date.now() > deadline) throw new Error(`It does not serve:\n${running.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function greets(port: number, greeting: { readonly send: string; readonly expect: string }): Promise<boolean> {
  const expected = Buffer.from(greeting.expect, 'base64')
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0)
    const socket = connectSocket(port, '127.0.0.1', () => socket.write(Buffer.from(greeting.send, 'base64')))
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      if (answer.length >= expected.length) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer.subarray(0, expected.length).equals(expected)))
  })
}

/** A connection on a port that the system chose, as those of any client. */
async function outgoing(): Promise<Socket> {
  const server = createServer((peer) => peer.on('error', () => {}).on('data', () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connectSocket(port, '127.0.0.1').on('error', () => {})
  await once(client, 'connect')
  server.close()
  return client
}

/** Until no process has this home: also those that are in sessions of their own. */
async function gone(home: string): Promise<void> {
  await until(() => processesOf(home).length === 0)
  assert.deepEqual(processesOf(home), [])
}

/** Gives up silently after a while: what follows says what is wrong. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!condition() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 25))
}

/** An epmd would be among them: it inherits the variables of the one that started it. */
function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && `\0${read(`/proc/${name}/environ`)}\0`.includes(`\0HOME=${home}\0`))
    .map(Number)
}

/** Addresses on which these processes listen. */
function listeners(pids: readonly number[]): string[] {
  const sockets = new Set(
    pids.flatMap((pid) =>
      globSync(`/proc/${pid}/fd/*`).map((file) => spawnSync('readlink', [file], { encoding: 'utf8' }).stdout.trim()),
    ),
  )
  const lines = ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((name) =>
    read(`/proc/net/${name}`)
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , remote, state]) => state === '0A' || (name.startsWith('udp') && remote?.endsWith(':0000'))),
  )
  return lines
    .filter((fields) => sockets.has(`socket:[${fields[9]}]`))
    .map(([, local = '']) => {
      const [address = '', port = ''] = local.split(':')
      const bytes = address.match(/../g)!.map((byte) => Number.parseInt(byte, 16))
      return `${bytes.length === 4 ? bytes.reverse().join('.') : address}:${Number.parseInt(port, 16)}`
    })
    .sort()
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function toolchain(): ChosenToolchain {
  const program = kind.toolchain!.places.flatMap((place) => globSync(place))[0]
  assert.ok(program, `RabbitMQ is not installed: ${kind.install.debian}`)
  return { version: '3.10.8', program, directory: dirname(program) }
}
