import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  ChosenToolchain,
  DatabaseInput,
  DatabaseType,
  ServiceInput,
  ServiceType,
  WorkloadSpec,
} from '@stackquay/catalog'
import type { HealthCheck, Job } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import { databaseInput, serviceInput } from './inputs.ts'
import { freePort, type Machine, runJob, start } from './run-workload.ts'

/**
 * Where the journeys of a kind take place: with programs of this machine, or in containers on a Docker of its own. What a
 * kind promises for its data holds on both.
 */
export interface Stage {
  readonly inContainers: boolean
  /** What resolving gives a database there. */
  database(over?: Partial<DatabaseInput>): Promise<DatabaseInput>
  /** What resolving gives a service there. */
  service(said?: Readonly<Record<string, unknown>>, over?: Partial<ServiceInput>): Promise<ServiceInput>
  /** A project of its own, whose kept data of this name is empty. `data` of it is where its files can be seen from here. */
  project(data: string, secrets: Machine['secrets']): Machine
  /** The same with a copy of the data. Nothing may run on it. */
  copy(from: Machine, data: string, secrets: Machine['secrets']): Promise<Machine>
  /** Starts the program alone, without its jobs. */
  start(spec: WorkloadSpec, machine: Machine): Promise<Started>
  runJob(job: Job, machine: Machine): Promise<{ readonly code: number | null; readonly output: string }>
  /** Kills a job by SIGKILL, with all it started, so long after it began, unless it ended before. */
  killJob(job: Job, machine: Machine, milliseconds: number): Promise<void>
  /** A process that is none of the workload's, and that programs of the workload see under this number. */
  stranger(): { readonly pid: number; end(): void }
  close(): Promise<void>
}

export interface Started {
  /** Of the program itself; null in a container. */
  readonly pid: number | null
  output(): Promise<string>
  /** Until its own health check passes; rejects with its output when it ended or took too long. */
  ready(seconds?: number): Promise<void>
  /** As its spec says, or suddenly; answers how it ended. One that has ended stays so. */
  stop(signal?: 'SIGKILL'): Promise<End>
  ended(): Promise<End>
}

export interface End {
  readonly code: number | null
  readonly signal: string | null
}

/** What clients on this machine connect to. */
export function databaseFromHere(input: DatabaseInput): DatabaseInput {
  return { ...input, host: '127.0.0.1', port: input.hostPort }
}

export function serviceFromHere(input: ServiceInput): ServiceInput {
  return { ...input, host: '127.0.0.1', port: input.hostPort }
}

/** A free port of this machine for each of the kind. */
export async function portsOf(kind: ServiceType): Promise<(name: string) => number> {
  const ports = new Map<string, number>()
  for (const { name } of kind.ports) ports.set(name, await freePort())
  return (name) => ports.get(name)!
}

/**
 * With this program, as a user who may do nothing where the tests are root's; `asSelf` for programs that lie where that one may
 * not look.
 */
export function nativeStage(
  kind: DatabaseType | ServiceType,
  toolchain: ChosenToolchain | null,
  { asSelf = false }: { readonly asSelf?: boolean } = {},
): Stage {
  const folder = mkdtempSync(join(tmpdir(), `stackquay-${kind.name}-`))
  const uid = !asSelf && process.getuid?.() === 0 ? nobody() : undefined
  const project: Stage['project'] = (name, secrets) => {
    const place = mkdtempSync(join(folder, 'project '))
    const data = join(place, 'kept data')
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) for (const path of [place, data]) chownSync(path, uid, uid)
    return { data: { [name]: data }, secrets, ...(uid ? { uid } : {}) }
  }
  return {
    inContainers: false,
    async database(over = {}) {
      await chmod(folder, 0o755)
      const version = kind.lineOf(toolchain!.version)
      return databaseInput({ hostPort: await freePort(), version, toolchain: toolchain!, ...over })
    },
    async service(said = {}, over = {}) {
      await chmod(folder, 0o755)
      return serviceInput(kind as ServiceType, said, {
        hostPort: await portsOf(kind as ServiceType),
        ...(toolchain === null ? {} : { toolchain }),
        ...over,
      })
    },
    project,
    async copy(from, name, secrets) {
      const to = project(name, secrets)
      cpSync(from.data[name]!, to.data[name]!, { recursive: true, preserveTimestamps: true })
      if (uid !== undefined) own(to.data[name]!, uid)
      return to
    },
    async start(spec, machine) {
      const running = await start(spec, machine)
      const { child } = running
      const ended = once(child, 'close').then(([code, signal]): End => ({ code, signal }))
      ended.catch(() => {})
      return {
        pid: child.pid ?? null,
        output: async () => running.output(),
        async ready(seconds = 120) {
          const hasEnded = () => child.exitCode !== null || child.signalCode !== null
          const answers = async () => hasEnded() || (await isHealthy(spec))
          await waitFor('it to be ready', answers, { timeoutMs: seconds * 1000 }).catch(() => {})
          if (hasEnded() || !(await isHealthy(spec))) throw new Error(`It is not ready:\n${running.output()}`)
        },
        stop: async (signal) => {
          if (child.exitCode !== null || child.signalCode !== null) return ended
          return running.stop(signal ?? spec.stop.signal)
        },
        ended: () => ended,
      }
    },
    runJob,
    killJob,
    stranger() {
      const child = spawn('/bin/sleep', ['600'], { cwd: '/', ...(uid ? { uid, gid: uid } : {}) })
      return { pid: child.pid!, end: () => child.kill('SIGKILL') }
    },
    async close() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As the engine asks. */
async function isHealthy({ health, ports }: WorkloadSpec): Promise<boolean> {
  if (health.kind === 'none') return true
  const { hostPort } = ports.find(({ name }) => name === health.port)!
  if (health.kind === 'tcp') return greets(hostPort, health.greeting ?? { send: '', expect: '' })
  const [lowest, highest] = health.status
  return fetch(`http://127.0.0.1:${hostPort}${health.path}`).then(
    ({ status }) => status >= lowest && status <= highest,
    () => false,
  )
}

type Greeting = NonNullable<(HealthCheck & { kind: 'tcp' })['greeting']>

function greets(port: number, { send, expect }: Greeting): Promise<boolean> {
  const expected = Buffer.from(expect, 'base64')
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0)
    let isConnected = false
    const socket = connect(port, '127.0.0.1', () => {
      isConnected = true
      if (expected.length === 0) socket.destroy()
      else socket.write(Buffer.from(send, 'base64'))
    })
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      if (answer.length >= expected.length) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(isConnected && answer.subarray(0, expected.length).equals(expected)))
  })
}

async function killJob(job: Job, { data, secrets, uid }: Machine, milliseconds: number): Promise<void> {
  const filled = (text: string) => text.replaceAll(/\{data:([^}]+)\}/g, (_all, name: string) => data[name]!)
  const [program = '', ...args] = job.argv.map(filled)
  const child = spawn(program, args, {
    cwd: filled(job.cwd),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    ...(uid ? { uid, gid: uid } : {}),
  })
  child.stdin?.on('error', () => {}).end(secrets.password)
  const ended = once(child, 'close')
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, milliseconds))])
  const reach = (signal: 'SIGKILL' | 0) => {
    try {
      return process.kill(-child.pid!, signal)
    } catch {
      // It was faster.
      return false
    }
  }
  reach('SIGKILL')
  await ended
  // What the killed shell had started may take a moment more to go; the engine waits for all of them too.
  await waitFor('the killed job to be gone', async () => !reach(0))
}

function own(path: string, uid: number): void {
  chownSync(path, uid, uid)
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) chownSync(join(path, name), uid, uid)
}

/** A user with an entry in the user database, which initdb asks for. */
export function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
