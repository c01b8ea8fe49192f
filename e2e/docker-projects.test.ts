import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Problem, ProjectView, WorkloadStatus } from '@stackquay/contract'
import { allowances, inspect, objectsNaming } from './support/docker-objects.ts'
import { type DockerService, lines, startDockerService, startServiceOn } from './support/docker-service.ts'
import { copyPackage } from './support/packages.ts'
import { databaseClient, type RealClient, serviceClients } from './support/real-clients.ts'
import { until } from './support/service.ts'
import { connect } from './support/socket-peer.ts'
import { giveToProjects, makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { filesThatHold, traces } from './support/traces.ts'

const MiB = 1024 * 1024

/** Journeys of one project from its making to its end, each as short as what it shows. */
describe('a project in containers', () => {
  let service: DockerService
  let root: SourceRoot
  let folder: string
  let id: string
  let instance: string
  let services = ['redis', 'storage', 'mailpit']
  before(async () => {
    root = await makeSourceRoot()
    service = await startDockerService(['node', 'postgresql', 'redis'], { roots: root.path })
    folder = await root.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', type: 'module', scripts: { start: 'node server.js' } }),
      'server.js': server,
      'reach.js': reachesServices,
      'worker.js': `console.log('mode ' + process.env.NODE_ENV)\nprocess.on('SIGTERM', () => process.exit(0))\nsetInterval(() => {}, 1000)\n`,
    })
    await copyPackage('pg', folder)
    await giveToProjects(folder)
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  it('answers at its URL, with a database, Redis, storage and mail behind it', { timeout: 180_000 }, async () => {
    const settings: object = {
      node: { version: lines.node },
      redis: { version: lines.redis },
      storage: {},
      mailpit: {},
      databases: { main: { type: 'postgresql', version: lines.postgresql } },
    }
    const made = await service.client.call('createProject', {
      body: { ...settings, name: 'Shop', path: folder },
      query: { wait: 170 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
    assert.equal(made.status.state, 'running')
    assert.equal(made.engine, 'docker')
    id = made.id
    instance = (await inspect(service.lab, id))[0]!.Config.Labels['stackquay.instance']!
    assert.equal((await service.get('shop')).body, 'shop')
    await add('shop', 'at first')
    for (const client of clientsOf('shop')) await client.write('at_first')
    await everythingIsThere('shop')
  })

  it('has its services at their own names, in programs and in terminals', { timeout: 60_000 }, async () => {
    const expected = {
      DATABASE_URL: 'postgresql-main:5432',
      REDIS_URL: 'redis:6379',
      S3_ENDPOINT: 'storage:9000',
      MAIL_URL: 'mailpit:1025',
    }
    assert.deepEqual(JSON.parse((await exec('shop', ['node', 'reach.js'])).stdout), expected)

    const terminal = await service.client.call('createTerminal', { params: { id: 'shop' }, body: {} })
    const peer = await connect(service, `/projects/shop/terminals/${terminal.id}/ws`)
    peer.type('node reach.js; tty; id -u; stty size\n')
    const shown = await peer.match(/(\{.*\})\r\n(\/dev\/\S+)\r\n(\d+)\r\n24 80/)
    assert.deepEqual(JSON.parse(shown[1]!), expected)
    assert.notEqual(shown[3], '0')
    await service.client.call('endTerminal', { params: { id: 'shop', term: terminal.id } })
    assert.ok(await peer.frame('exit'))
    assert.deepEqual(await objectsNaming(service.lab, terminal.id), [])
  })

  it('says what is wrong with a program that is not in its container', { timeout: 60_000 }, async () => {
    const { problem } = await exec('shop', ['no-such-program'])
    assert.equal(problem?.code, 'program_not_found')
    assert.equal(problem.detail, 'There is no program "no-such-program" on the PATH of the container.')
  })

  it('has workers and cron jobs in containers of their own, where its services are', { timeout: 120_000 }, async () => {
    const states = (project: ProjectView) =>
      project.status.workloads.filter(({ kind }) => kind === 'worker').map(({ name, state }) => [name, state])
    const patch = (body: object) =>
      service.client.call('updateProject', { params: { id: 'shop' }, body, query: { wait: 60 } })
    const set = await patch({
      workers: { watch: { command: 'node worker.js', count: 2 } },
      cron: { reach: { schedule: '0 3 * * *', command: 'node reach.js' } },
    })
    assert.deepEqual(states(set), [
      ['watch-1', 'running'],
      ['watch-2', 'running'],
    ])
    const run = await service.client.call('runCronJob', { params: { id: 'shop', name: 'reach' }, query: { wait: 60 } })
    assert.deepEqual([run.state, run.exitCode], ['succeeded', 0], JSON.stringify(run))
    const scaled = await patch({ workers: { watch: { count: 1 } }, cron: null })
    assert.deepEqual(states(scaled), [['watch-1', 'running']])
    const log = await service.client.call('getProjectLogs', { params: { id: 'shop' }, query: { workload: 'watch-1' } })
    assert.match(JSON.stringify(log.items), /mode development/)
    assert.deepEqual(states(await patch({ workers: null })), [])
    assert.deepEqual(await objectsNaming(service.lab, 'watch-1'), [])
  })

  it('shows what it prints, by level, while it prints it', { timeout: 60_000 }, async () => {
    const follower = await connect(service, '/projects/shop/logs/ws?workload=node&tail=1')
    await follower.frame('start')
    await service.get('shop', '/log?text=first')
    assert.match(JSON.stringify(await follower.frame('lines')), /first/)
    follower.close()
    const { items } = await service.client.call('getProjectLogs', {
      params: { id: 'shop' },
      query: { workload: 'node', level: 'error' },
    })
    assert.deepEqual(
      items.map(({ text, level, stream }) => [text, level, stream]),
      [['error: first went wrong', 'error', 'stderr']],
    )
    const all = await service.client.call('getProjectLogs', { params: { id: 'shop' }, query: { q: 'first' } })
    assert.deepEqual(all.items.map(({ text }) => text).sort(), ['error: first went wrong', 'info: first'])
  })

  it('tells what each of its containers uses', { timeout: 60_000 }, async () => {
    await until(async () => {
      const { items, disk } = await service.client.call('getProjectStats', { params: { id: 'shop' } })
      assert.deepEqual(items.map(({ workload }) => workload).sort(), [...workloadsOfShop])
      assert.ok(items.every(({ memoryBytes, processes }) => memoryBytes > 100_000 && processes >= 1))
      assert.ok((disk?.dataBytes ?? 0) > MiB, 'its kept data is measured')
      // The first look has nothing to compare with.
      return items.every(({ cpu }) => cpu !== null)
    }, 'the use of the processor')
  })

  it('gives its containers no more than they need', { timeout: 60_000 }, async () => {
    const containers = await inspect(service.lab, id)
    assert.equal(containers.length, workloadsOfShop.length)
    for (const container of containers) {
      const { name, ...allowed } = allowances(container)
      assert.deepEqual(
        allowed,
        {
          privileged: false,
          capabilities: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'],
          dropped: ['ALL'],
          security: ['no-new-privileges'],
          namespaces: { pid: '', ipc: 'private', uts: '', network: `stackquay-${instance}.${id}.network` },
          devices: [],
          publishedOn: ['127.0.0.1'],
          restart: 'no',
          pids: 2048,
        },
        name,
      )
      const status = await service.lab.docker(['exec', container.Id, 'cat', '/proc/1/status'])
      assert.match(status, /^NoNewPrivs:\t1$/m, name)
      assert.match(status, /^CapEff:\t0{16}$/m, name)
      assert.doesNotMatch(status, /^Uid:\t0/m, name)
      for (const { Type, Source, RW } of container.Mounts) {
        if (Type === 'bind' && RW)
          assert.ok(Source === folder || Source.startsWith(join(service.home, 'tools')), Source)
        assert.ok(!Source.endsWith('.sock') && !service.lab.folder.startsWith(Source), Source)
      }
    }
  })

  it('keeps its secrets out of names, labels, arguments, steps and logs', { timeout: 60_000 }, async () => {
    const secrets = await secretsOf('shop')
    assert.ok(secrets.length >= 4)
    const objects = await Promise.all(
      (await inspect(service.lab, id)).map(async ({ Config, ...rest }) =>
        JSON.stringify([rest, { ...Config, Env: [] }]),
      ),
    )
    for (const object of await objectsNaming(service.lab, id, ['volume', 'network']))
      objects.push(await service.lab.docker([...object.replace(' ', ' inspect ').split(' ')]))
    const told = { ...(await traces(service)), 'objects of Docker': objects.join('\n') }
    for (const [where, text] of Object.entries(told))
      for (const secret of secrets) assert.ok(!text.includes(secret), `a secret stands in ${where}`)
    assert.deepEqual(await filesThatHold(join(service.home, 'docker'), secrets), [])
  })

  it('keeps what it wrote through stop and start', { timeout: 90_000 }, async () => {
    const stopped = await service.client.call('stopProject', { params: { id: 'shop' }, query: { wait: 60 } })
    assert.equal(stopped.state, 'succeeded', JSON.stringify(stopped.error))
    assert.equal((await service.get('shop')).status, 503)
    // A program then has a container of its own.
    assert.equal((await exec('shop', ['node', '-p', '6 * 7'])).stdout, '42\n')
    assert.match(
      (await exec('shop', ['no-such-program'])).problem?.detail ?? '',
      /^There is no program "no-such-program"/,
    )
    const started = await service.client.call('startProject', { params: { id: 'shop' }, query: { wait: 80 } })
    assert.equal(started.state, 'succeeded', JSON.stringify(started.error))
    await everythingIsThere('shop')
  })

  it('takes new credentials and keeps its data', { timeout: 120_000 }, async () => {
    const before = await secretsOf('shop')
    const rotated = await service.client.call('rotateDatabaseCredentials', {
      params: { id: 'shop', db: 'main' },
      query: { wait: 60 },
    })
    assert.equal(rotated.operation?.state, 'succeeded', JSON.stringify(rotated.operation?.error))
    for (const name of ['redis', 'storage']) {
      const params = { id: 'shop', service: name }
      const changed = await service.client.call('rotateServiceCredentials', { params, query: { wait: 60 } })
      assert.equal(changed.operation?.state, 'succeeded', JSON.stringify(changed.operation?.error))
    }
    const now = await secretsOf('shop')
    assert.deepEqual(
      now.filter((secret) => before.includes(secret)),
      [],
    )
    await everythingIsThere('shop')
  })

  it('is held to its limits, and says so when a program wants more memory', { timeout: 120_000 }, async () => {
    const limits = { workloads: { node: { memoryBytes: 160 * MiB, cpus: 0.5, pids: 200 } } }
    await patch('shop', { limits })
    const [container] = (await inspect(service.lab, id)).filter(({ Name }) => Name.endsWith('.node'))
    const { Memory, MemorySwap, NanoCpus, PidsLimit } = container!.HostConfig
    assert.deepEqual([Memory, MemorySwap, NanoCpus, PidsLimit], [160 * MiB, 160 * MiB, 5e8, 200])

    await service.get('shop', '/eat').catch(() => undefined)
    await until(async () => (await workload('shop', 'node')).restarts === 1, 'the program to be started again', 60_000)
    assert.equal((await workload('shop', 'node')).lastExit?.outOfMemory, true)
    await until(async () => (await service.get('shop')).status === 200, 'the project to answer')
    await patch('shop', { limits: null })
    assert.equal((await workload('shop', 'node')).state, 'running')
  })

  it('keeps the data of a service that is switched off, until that is to go', { timeout: 120_000 }, async () => {
    const volume = `volume stackquay-${instance}.${id}.data.redis`
    await patch('shop', { redis: { enabled: false } })
    assert.deepEqual(await objectsNaming(service.lab, `${id}.redis`), [])
    assert.deepEqual(await objectsNaming(service.lab, `${id}.data.redis`), [volume])
    await patch('shop', { redis: { enabled: true } })
    await everythingIsThere('shop')
    await patch('shop', { redis: { enabled: false, removeData: true } })
    assert.deepEqual(await objectsNaming(service.lab, `${id}.data.redis`), [volume], 'in the trash')
    const { items } = await service.client.call('listTrash', {})
    await service.client.call('purgeTrash', { params: { item: items[0]!.id }, query: { confirm: 'redis' } })
    services = services.filter((name) => name !== 'redis')
    assert.deepEqual(await objectsNaming(service.lab, `${id}.data.redis`), [])
  })

  it('is copied with its data, and neither finds the other', { timeout: 180_000 }, async () => {
    const copy = await service.client.call('duplicateProject', {
      params: { id: 'shop' },
      body: { name: 'Copy' },
      query: { wait: 170 },
    })
    assert.equal(copy.operation?.state, 'succeeded', JSON.stringify(copy.operation?.error))
    await everythingIsThere('copy')
    await add('copy', 'only in the copy')
    assert.deepEqual(await notes('shop'), ['at first'])

    const [database] = (await inspect(service.lab, id)).filter(({ Name }) => Name.endsWith('.postgresql-main'))
    const address = Object.values(database!.NetworkSettings.Networks)[0]!.IPAddress
    for (const host of [address, database!.Name.slice(1)]) {
      const { stdout } = await exec('copy', ['node', '-e', connects, host])
      assert.match(stdout, /^(ENOTFOUND|EAI_AGAIN|timeout)\n$/, `${host} from the copy`)
    }
    assert.equal((await exec('shop', ['node', '-e', connects, address])).stdout, 'connected\n')
  })

  it('shares its Docker with another installation, which takes nothing but its own when it goes', {
    timeout: 180_000,
  }, async () => {
    const other = await startServiceOn(service.lab, { roots: root.path })
    let before: readonly string[]
    try {
      const settings: object = { redis: { version: lines.redis }, static: {} }
      const made = await other.client.call('createProject', {
        body: { ...settings, name: 'Shop' },
        query: { wait: 120 },
      })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
      assert.equal((await objectsNaming(service.lab, made.id)).length, 4)
      before = await objectsNaming(service.lab, instance)
      const gone = await other.client.call('deleteProject', {
        params: { id: 'shop' },
        query: { confirm: 'shop', data: 'delete', purge: true, wait: 60 },
      })
      assert.equal(gone.state, 'succeeded', JSON.stringify(gone.error))
      assert.deepEqual(await objectsNaming(service.lab, made.id), [])
    } finally {
      await other.close()
    }
    assert.deepEqual(await objectsNaming(service.lab, instance), before)
    assert.equal((await service.get('shop')).body, 'shop')
  })

  it('leaves nothing but its data when it is deleted, and not even that when told so', {
    timeout: 120_000,
  }, async () => {
    const kept = await objectsNaming(service.lab, id, ['volume'])
    assert.equal(kept.length, 3)
    const copy = await show('copy')
    for (const [slug, data] of [
      ['shop', 'keep'],
      ['copy', 'delete'],
    ] as const) {
      const gone = await service.client.call('deleteProject', {
        params: { id: slug },
        query: { confirm: slug, data, purge: true, wait: 60 },
      })
      assert.equal(gone.state, 'succeeded', JSON.stringify(gone.error))
    }
    assert.deepEqual(await objectsNaming(service.lab, id), kept)
    assert.deepEqual(await objectsNaming(service.lab, copy.id), [])
    assert.deepEqual(await objectsNaming(service.lab, instance, ['container', 'network']), [])
    assert.equal(await readFile(join(folder, 'server.js'), 'utf8'), server)
  })

  const workloadsOfShop = ['mailpit', 'node', 'postgresql-main', 'redis', 'storage'] as const

  const show = async (slug: string) =>
    (await service.client.call('getProject', { params: { id: slug } })) as ProjectView

  async function workload(slug: string, name: string): Promise<WorkloadStatus> {
    const found = (await show(slug)).status.workloads.find((one) => one.name === name)
    assert.ok(found, `there is a workload "${name}"`)
    return found
  }

  async function patch(slug: string, body: object): Promise<void> {
    const { operation } = await service.client.call('updateProject', {
      params: { id: slug },
      body: body as Record<string, unknown>,
      query: { wait: 100 },
    })
    assert.ok(operation === null || operation.state === 'succeeded', JSON.stringify(operation?.error))
  }

  /** As people use them from outside, at the ports of this machine. */
  function clientsOf(slug: string): readonly RealClient[] {
    const clients = serviceClients(service, slug)
    return [...services.map((name) => clients[name]!), databaseClient(service, slug, 'postgresql', 'main')]
  }

  async function everythingIsThere(slug: string): Promise<void> {
    assert.deepEqual(await notes(slug), ['at first'])
    for (const client of clientsOf(slug)) assert.ok(await client.holds('at_first'), `${slug}: ${client.workload}`)
  }

  async function add(slug: string, text: string): Promise<void> {
    const answer = await service.get(slug, `/add?text=${encodeURIComponent(text)}`)
    assert.equal(answer.status, 200, answer.body)
  }

  async function notes(slug: string): Promise<readonly string[]> {
    const answer = await service.get(slug, '/notes')
    assert.equal(answer.status, 200, answer.body)
    return JSON.parse(answer.body) as string[]
  }

  /** A program in the project: what it printed, or why it could not be started. */
  async function exec(slug: string, argv: readonly string[]) {
    const answer = await fetch(`${service.url}/api/v1/projects/${slug}/exec`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ argv }),
    })
    const text = await answer.text()
    if (!answer.ok) return { stdout: '', problem: JSON.parse(text) as Problem }
    const frames = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { stdout?: string; stderr?: string; error?: Problem })
    assert.deepEqual(
      frames.flatMap(({ stderr }) => stderr ?? []),
      [],
    )
    return { stdout: frames.map(({ stdout }) => stdout ?? '').join(''), problem: frames.at(-1)?.error }
  }

  async function secretsOf(slug: string): Promise<readonly string[]> {
    const database = await service.client.call('getDatabaseCredentials', { params: { id: slug, db: 'main' } })
    const [redis, storage] = await Promise.all(
      ['redis', 'storage'].map((name) =>
        service.client.call('getServiceCredentials', { params: { id: slug, service: name } }),
      ),
    )
    return [database.password, redis!.password, storage!.accessKey, storage!.secretKey].map(String)
  }
})

/** Without a module of ours in it: what people write. */
const server = `import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
pool.on('error', () => {})
await pool.query('CREATE TABLE IF NOT EXISTS notes (text text)')
const kept = []
const answers = {
  '/': () => 'shop',
  '/add': async (text) => (await pool.query('INSERT INTO notes VALUES ($1)', [text])).command,
  '/notes': async () => JSON.stringify((await pool.query('SELECT text FROM notes')).rows.map((row) => row.text)),
  '/log': (text) => {
    console.log('info: ' + text)
    console.error('error: ' + text + ' went wrong')
    return 'logged'
  },
  '/eat': () => setInterval(() => kept.push(Buffer.alloc(8 << 20, 1)), 5) && 'eating',
}
createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://shop')
  try {
    response.end(await answers[pathname](searchParams.get('text')))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}).listen(process.env.PORT)
`

/** Prints where each service is, once it was reached there. */
const reachesServices = `import { once } from 'node:events'
import { connect } from 'node:net'

const reached = {}
for (const name of ['DATABASE_URL', 'REDIS_URL', 'S3_ENDPOINT', 'MAIL_URL']) {
  const { hostname, port } = new URL(process.env[name])
  const socket = connect({ host: hostname, port })
  await once(socket, 'connect')
  socket.destroy()
  reached[name] = hostname + ':' + port
}
console.log(JSON.stringify(reached))
`

const connects = `const socket = require('node:net').connect({ host: process.argv[1], port: 5432, timeout: 2000 })
const say = (text) => { console.log(text); socket.destroy() }
socket.on('connect', () => say('connected')).on('timeout', () => say('timeout')).on('error', ({ code }) => say(code))
`
