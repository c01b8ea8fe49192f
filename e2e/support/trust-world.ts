import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, copyFile, cp, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '@stackquay/client'
import { featuresOf, processes, processesInGroups } from '@stackquay/testkit'
import { type Service, startService, until } from './service.ts'
import { connect } from './socket-peer.ts'
import { makeSourceRoot, type SourceRoot } from './source-root.ts'

const execute = promisify(execFile)
const support = new URL('.', import.meta.url).pathname
/** The one that every user can run. */
const PYTHON = '/usr/bin/python3'

/** The contract knows settings of runtimes by their kind, not as fields of their own. */
export const nodeRuntime: object = { node: {} }

/** Where a program of a project can be started from. */
export const places = ['workload', 'install', 'exec', 'terminal', 'action', 'test'] as const
export type Place = (typeof places)[number]

export type Outcome = 'allowed' | 'refused' | 'absent'
export interface Attempt {
  readonly act: string
  readonly args: readonly unknown[]
  readonly outcome: Outcome
}
export interface Probed {
  readonly self: Readonly<Record<string, readonly string[]>>
  readonly umask: string
  readonly cells: Readonly<Record<string, readonly Attempt[]>>
}

/** A project that attacks and one that is attacked, on one service. */
export interface TrustWorld {
  readonly service: Service
  /** As whom the attacker acts: a token that knows its own project alone. */
  readonly attacker: Service
  /** Text that stands in the victim's source, environment and logs. */
  readonly canary: string
  readonly features: readonly string[]
  /** Starts the probing program from that place, and answers what it found. */
  probe(place: Place): Promise<Probed>
  /** Runs a program of the attacker to its end; its output. */
  exec(argv: readonly string[]): Promise<string>
  project(slug: 'attacker' | 'victim'): Promise<{ readonly id: string; readonly path: string }>
  /** Writes anew what the probe tries, as the machine is now. */
  aim(): Promise<void>
  close(): Promise<void>
}

export async function openTrustWorld(env: Readonly<Record<string, string>>): Promise<TrustWorld> {
  const root = await makeSourceRoot()
  const service = await startService({ env })
  try {
    return await trustWorld(service, root)
  } catch (error) {
    await service.close()
    await root.remove()
    throw error
  }
}

async function trustWorld(service: Service, root: SourceRoot): Promise<TrustWorld> {
  const canary = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex')
  const { client } = service
  await makeProject(service, 'victim', canary)
  await makeProject(service, 'attacker', canary)
  const token = await service.newToken('operate', [(await projectOf(service, 'attacker')).id])
  const attacker: Service = {
    ...service,
    token,
    client: createClient({ baseUrl: service.url, token, clientName: 'cli' }),
  }
  const setuid = join(root.path, 'setuid-id')
  await copyFile('/usr/bin/id', setuid)
  await chown(setuid, 0, 0)
  await chmod(setuid, 0o4755)

  const started = await client.call('startProject', { params: { id: 'victim' }, query: { wait: 120 } })
  assert.equal(started.state, 'succeeded', JSON.stringify(started.error) + service.output())
  const victim = await projectOf(service, 'victim')
  await until(() => exists(join(victim.path, 'victim.json')), 'the victim to be complete', 60_000)
  await client.call('createTerminal', { params: { id: 'victim' }, body: {} })
  await client.call('runAction', { params: { id: 'victim', action: 'node.print' }, query: { wait: 60 } })

  await runTests(service, 'victim')

  const world: Omit<TrustWorld, 'probe'> = {
    service,
    attacker,
    canary,
    features: featuresOf(service.home),
    project: (slug) => projectOf(service, slug),
    exec: (argv) => exec(attacker, argv),
    aim: async () => {
      const { path } = await projectOf(service, 'attacker')
      await writeFile(join(path, 'targets.json'), JSON.stringify(await targetsOf(service, canary, setuid)))
    },
    close: async () => {
      await service.close()
      await root.remove()
      await forgetIpc(canary)
    },
  }
  await world.aim()
  return { ...world, probe: (place) => probe(world, place) }
}

async function makeProject(service: Service, slug: string, canary: string): Promise<void> {
  const { client } = service
  const made = await client.call('createProject', {
    body: { name: slug, start: false, env: { CANARY: canary }, ...nodeRuntime },
    query: { wait: 60 },
  })
  const isVictim = slug === 'victim'
  const beside = isVictim ? ['victim.py', canary] : ['probe.py', 'workload']
  const scripts = {
    start: 'node server.js',
    print: `echo ${canary}`,
    probe: `${PYTHON} probe.py action`,
    ...(isVictim ? {} : { postinstall: `${PYTHON} probe.py install` }),
  }
  const files = {
    'package.json': JSON.stringify({ name: slug, private: true, scripts: { ...scripts, test: 'node --test' } }),
    'server.js': serverText(beside, slug),
    'some.test.mjs': isVictim ? "import 'node:test'\n" : probingTest,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(made.path, name), text)
  for (const name of ['probe.py', 'victim.py']) await cp(join(support, name), join(made.path, name))
  if (isVictim) {
    await writeFile(join(made.path, 'secret.txt'), canary)
    await client.call('createDatabase', {
      params: { id: slug },
      body: { name: 'main', type: 'postgresql' },
      query: { wait: 120 },
    })
  }
}

const probingTest = `import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
test('probes', () => execFileSync('${PYTHON}', ['probe.py', 'test'], { timeout: 60_000 }))
`

const serverText = (beside: readonly string[], slug: string) => `
const { spawn } = require('child_process')
spawn('${PYTHON}', ${JSON.stringify(beside)}, { stdio: 'inherit' })
console.log('started with', process.env.CANARY)
require('http').createServer((q, a) => a.end('${slug}')).listen(process.env.PORT, '127.0.0.1')
`

async function projectOf(service: Service, slug: string): Promise<{ readonly id: string; readonly path: string }> {
  const { id, path } = await service.client.call('getProject', { params: { id: slug } })
  return { id, path }
}

async function probe(world: Omit<TrustWorld, 'probe'>, place: Place): Promise<Probed> {
  const { attacker } = world
  const params = { id: 'attacker' }
  const { path } = await world.project('attacker')
  switch (place) {
    case 'workload': {
      const { state, error } = await attacker.client.call('restartProject', { params, query: { wait: 120 } })
      assert.equal(state, 'succeeded', JSON.stringify(error))
      break
    }
    case 'exec':
      await world.exec([PYTHON, 'probe.py', 'exec'])
      break
    case 'terminal': {
      const { id } = await attacker.client.call('createTerminal', { params, body: {} })
      const peer = await connect(attacker, `/projects/attacker/terminals/${id}/ws`)
      peer.type(`${PYTHON} probe.py terminal; echo "do"ne; exit\n`)
      await peer.match(/done/, 60_000)
      peer.close()
      break
    }
    case 'action':
    case 'install': {
      const action = place === 'action' ? 'node.probe' : 'node.install'
      const run = await attacker.client.call('runAction', { params: { ...params, action }, query: { wait: 120 } })
      assert.equal(run.state, 'succeeded', `${place}: ${JSON.stringify(run)}`)
      break
    }
    case 'test':
      await runTests(attacker, 'attacker')
      break
    default:
      place satisfies never
  }
  const file = join(path, `probed-${place}.json`)
  await until(() => exists(file), `what the probe found from ${place}`, 60_000)
  return JSON.parse(await readFile(file, 'utf8')) as Probed
}

async function runTests({ client }: Service, slug: string): Promise<void> {
  const { suites } = await client.call('listTests', { params: { id: slug } })
  const suite = suites.find(({ runner }) => runner === 'node-test')!
  const run = await client.call('runTests', { params: { id: slug, suite: suite.id }, query: { wait: 120 } })
  assert.equal(run.state, 'succeeded', JSON.stringify(run))
}

async function exec(service: Service, argv: readonly string[]): Promise<string> {
  const answer = await fetch(`${service.url}/api/v1/projects/attacker/exec`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ argv }),
  })
  return answer.text()
}

type Target = readonly [cell: string, act: string, args: readonly unknown[]]

/** What is tried, cell by cell, with the machine as it is at this moment. */
async function targetsOf(service: Service, canary: string, setuid: string): Promise<readonly Target[]> {
  const attacker = await projectOf(service, 'attacker')
  const victim = await projectOf(service, 'victim')
  const { socket } = JSON.parse(await readFile(join(victim.path, 'victim.json'), 'utf8')) as { socket: string }
  const { status } = await service.client.call('getProject', { params: { id: 'victim' } })
  const ports = status.workloads.flatMap((workload) => workload.ports.map(({ hostPort }) => hostPort))
  const key = Number.parseInt(canary.slice(0, 6), 16)
  return [
    ...(await fileTargets(service.home, attacker)),
    ...processTargets(service, victim.id, canary),
    ['sockets: of the victim', 'connect_unix', [socket]],
    ['sockets: abstract, of the victim', 'connect_unix', [`@victim-${canary}`]],
    ...ports.map((port): Target => ['ports: of the victim', 'connect_tcp', [port]]),
    ['memory: shared, private to its user', 'shared_memory', [key]],
    ['memory: shared, open to all', 'shared_memory', [key + 1]],
    ['memory: message queue', 'message_queue', [key + 2]],
    ...['/tmp', '/dev/shm'].flatMap((folder): Target[] => [
      [`${folder}: names`, 'lists', [folder, [`victim-${canary}-600`]]],
      [`${folder}: file private to its user`, 'read', [`${folder}/victim-${canary}-600`]],
      [`${folder}: file open to all`, 'write', [`${folder}/victim-${canary}-666`]],
    ]),
    ['rights: set-user-ID program', 'setuid_program', [setuid]],
    ['rights: become root', 'become_root', []],
    ['rights: files in a user namespace', 'in_user_namespace', [join(victim.path, 'secret.txt')]],
  ]
}

/** Every file, folder and socket below the service's home that is not the attacker's own, by the folder it lies in. */
async function fileTargets(home: string, attacker: { id: string; path: string }): Promise<readonly Target[]> {
  const targets: Target[] = []
  const own = new Set([attacker.id, 'attacker'])
  const walk = async (path: string, cell: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    // By the name that the machine has for the home of its user too.
    for (const { name } of entries) if (own.has(await readlink(join(path, name)).catch(() => ''))) own.add(name)
    const others = entries.filter(({ name }) => !own.has(name))
    if (others.length > 0) targets.push([cell, 'lists', [path, others.map(({ name }) => name)]])
    targets.push([`new ${cell}`, 'create', [path]])
    for (const entry of others) {
      const at = join(path, entry.name)
      if (entry.isDirectory()) await walk(at, cell)
      else if (entry.isSocket()) targets.push([cell, 'connect_unix', [at]])
      else if (!entry.isSymbolicLink()) targets.push([cell, 'read', [at]], [cell, 'write', [at]])
    }
  }
  for (const entry of await readdir(home, { withFileTypes: true })) {
    // Programs that all projects share: nothing of anybody is in them.
    if (entry.name === 'toolchains') targets.push(['new files: toolchains', 'create', [join(home, entry.name)]])
    else if (entry.isDirectory()) await walk(join(home, entry.name), `files: ${entry.name}`)
    else targets.push(['files: of the service', 'read', [join(home, entry.name)]])
  }
  targets.push(['new files: of the service', 'create', [home]])
  const names = readdirSync(home).filter((name) => name.endsWith('.db') || name.endsWith('.key'))
  targets.push(['files: of the service', 'lists', [home, names]])
  return targets
}

const entries = ['environ', 'fd', 'mem', 'maps', 'cwd', 'root', 'exe'] as const

function processTargets(service: Service, victim: string, canary: string): readonly Target[] {
  const key = Number.parseInt(canary.slice(0, 6), 16)
  const ofVictim = processesInGroups(service.home, victim)
  const sleepers = ofVictim.filter(({ command }) => command === `/bin/sleep 9${key}`)
  assert.ok(sleepers.length >= 2, JSON.stringify(ofVictim))
  const holders = processes().filter(
    ({ pid, command }) => command.includes('commands/shim') && environ(pid).includes(victim),
  )
  assert.ok(holders.length > 0, 'the terminal of the victim has a holder')
  const { pid: proxy } = JSON.parse(readFileSync(join(service.home, 'proxy', 'proxy.json'), 'utf8')) as { pid: number }
  const groups: Readonly<Record<string, readonly number[]>> = {
    'of the victim': ofVictim.map(({ pid }) => pid),
    'holders of the victim': holders.map(({ pid }) => pid),
    'of the service': [service.pid(), proxy],
  }
  return [
    ...Object.entries(groups).flatMap(([whose, pids]) =>
      pids.flatMap((pid): Target[] => [
        ...entries.map((entry): Target => [`processes ${whose}: ${entry}`, 'proc', [pid, entry]]),
        [`processes ${whose}: command line`, 'proc', [pid, 'cmdline']],
        [`processes ${whose}: signal 0`, 'signal', [pid, 0]],
        [`processes ${whose}: ptrace`, 'ptrace', [pid]],
        [`processes ${whose}: memory`, 'read_memory', [pid]],
        [`processes ${whose}: file system`, 'through_root', [pid, '/etc/shadow']],
      ]),
    ),
    ['processes of the victim: SIGTERM', 'signal', [sleepers[0]!.pid, 15]],
    ['processes of the victim: SIGKILL', 'signal', [sleepers[1]!.pid, 9]],
    ['processes: listed', 'sees_command', ['victim.py']],
    ['processes: listed', 'sees_command', ['apps/server/dist/main.js']],
  ]
}

function environ(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

/** Of the kernel's System V objects nothing is taken away with the user that made them. */
async function forgetIpc(canary: string): Promise<void> {
  const key = Number.parseInt(canary.slice(0, 6), 16)
  for (const [kind, at] of [
    ['-M', key],
    ['-M', key + 1],
    ['-Q', key + 2],
  ] as const)
    await execute('ipcrm', [kind, String(at)]).catch(() => undefined)
  for (const folder of ['/tmp', '/dev/shm'])
    await execute('rm', ['-f', ...['600', '666'].map((mode) => `${folder}/victim-${canary}-${mode}`)])
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
