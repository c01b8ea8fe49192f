import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AccessPage, AccessQuery, TrafficAnswer, TrafficQuery, ViewersAnswer } from './access/queries.ts'
import type { ProxyCertificates } from './certificates.ts'
import type { Code } from './codes.ts'
import type { ControlProblem, FlightsAnswer, ProxyStatus, TotalsAnswer, UsesAnswer } from './control-protocol.ts'
import { launchAs, nextSocketOf, type ProxyUser } from './launch-as.ts'
import { Agent, request } from './node-http.ts'
import type { RouteChanges } from './route-changes.ts'
import type { RouteTable } from './route-table.ts'
import { stateFiles, writeFacts } from './state-files.ts'
import { proxyVersion } from './version.ts'
import type { WantedAnswer } from './wanted.ts'
import { memoryFlags, program } from './workers/program.ts'

export type { FlightsAnswer, ProxyStatus, TotalsAnswer, UsesAnswer } from './control-protocol.ts'
export type { ProxyUser } from './launch-as.ts'

/** A running proxy, seen from the control plane. */
export interface ProxyControl {
  /** Undefined when no proxy runs on this home. */
  status(): Promise<ProxyStatus | undefined>
  /**
   * What is still under way to an address: a program that no route leads to any more may end when nothing is. All zero when
   * no proxy runs.
   */
  flights(host: string, port: number): Promise<FlightsAnswer>
  /** How projects were used since the proxy began. Undefined when it does not run. */
  uses(): Promise<UsesAnswer | undefined>
  /** What was counted of projects since the proxy began. Undefined when it does not run. */
  totals(): Promise<TotalsAnswer | undefined>
  /**
   * Waits until requests wait for a project to wake that was not told before `after`, at most so many seconds. Undefined when no proxy
   * runs.
   */
  wanted(after: number, seconds: number, signal: AbortSignal): Promise<WantedAnswer | undefined>
  /** Resolves when the table is in use and on disk. */
  putRoutes(table: RouteTable): Promise<ProxyStatus>
  /** The same for what changed. Rejects with `routes_stale` when the table in use is another one than the base of these changes. */
  changeRoutes(changes: RouteChanges): Promise<ProxyStatus>
  /**
   * Replaces all that there were. Resolves when every new connection is made with these; those that are open go on. Rejects with
   * `certificates_invalid` when one cannot be used: then nothing changes. They are gone when the proxy ends.
   */
  setCertificates(certificates: ProxyCertificates): Promise<ProxyStatus>
  /** Resolves when whoever brings the code gets its cookie. Rejects with `proxy_not_running` when no proxy runs. */
  addCode(code: Code): Promise<void>
  /** Resolves when the address is free again; connections under way may last longer. A proxy that does not run is fine. */
  shutdown(): Promise<void>
  /** The requests of a project, newest first. These four reject with `proxy_not_running` when no proxy runs. */
  access(project: string, query: AccessQuery): Promise<AccessPage>
  traffic(project: string, query: TrafficQuery): Promise<TrafficAnswer>
  /** Who opened a share. */
  viewers(project: string, share: string): Promise<ViewersAnswer>
  /** Deletes what is kept of the requests of a project that is deleted. */
  forgetAccess(project: string): Promise<void>
}

export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly code: 'proxy_not_running' | 'proxy_not_answering' | 'proxy_start_failed' | ControlProblem['code']

  constructor(code: ProxyError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export function createProxyControl(home: string): ProxyControl {
  const socket = stateFiles(home).socket
  const must = async (method: string, path: string, parameters: Parameters): Promise<unknown> => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
    const answer = await ask(socket, method, `${path}?${query}`)
    if (answer === undefined) throw notRunning(home)
    return answer
  }
  // Changes come in rows. Everything else asks whoever listens now: a connection may lead to a proxy that has handed over.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const sendRoutes = async (method: 'PUT' | 'PATCH', routes: RouteTable | RouteChanges) => {
    const status = await ask(socket, method, '/routes', JSON.stringify(routes), { agent })
    if (!status) throw notRunning(home)
    return status as ProxyStatus
  }
  return {
    async status() {
      return (await ask(socket, 'GET', '/status')) as ProxyStatus | undefined
    },
    async flights(host, port) {
      const query = new URLSearchParams({ host, port: String(port) })
      return (
        ((await ask(socket, 'GET', `/flights?${query}`)) as FlightsAnswer | undefined) ?? { requests: 0, tunnels: 0 }
      )
    },
    uses: async () => (await ask(socket, 'GET', '/uses')) as UsesAnswer | undefined,
    totals: async () => (await ask(socket, 'GET', '/totals')) as TotalsAnswer | undefined,
    async wanted(after, seconds, signal) {
      const path = `/wanted?${new URLSearchParams({ after: String(after), seconds: String(seconds) })}`
      const patience = { timeout: seconds * 1_000 + 10_000, signal }
      return (await ask(socket, 'GET', path, '', patience)) as WantedAnswer | undefined
    },
    putRoutes: (table) => sendRoutes('PUT', table),
    changeRoutes: (changes) => sendRoutes('PATCH', changes),
    async setCertificates(certificates) {
      const status = await ask(socket, 'PUT', '/certificates', JSON.stringify(certificates), { timeout: 60_000 })
      if (status === undefined) throw notRunning(home)
      return status as ProxyStatus
    },
    async addCode(code) {
      if ((await ask(socket, 'POST', '/codes', JSON.stringify(code))) === undefined) throw notRunning(home)
    },
    async shutdown() {
      await ask(socket, 'POST', '/shutdown')
    },
    access: async (project, query) => (await must('GET', '/access', { project, ...query })) as AccessPage,
    traffic: async (project, query) => (await must('GET', '/traffic', { project, ...query })) as TrafficAnswer,
    viewers: async (project, share) => (await must('GET', '/viewers', { project, share })) as ViewersAnswer,
    async forgetAccess(project) {
      await must('DELETE', '/access', { project })
    },
  }
}

type Parameters = Readonly<Record<string, string | number | undefined>>

function notRunning(home: string): ProxyError {
  return new ProxyError('proxy_not_running', `No proxy runs on ${home}. Start it with ensureProxy.`)
}

export interface EnsureOptions {
  readonly home: string
  readonly listen: string
  /** Of https. By default `off`. */
  readonly listenHttps?: string | undefined
  /** Processes that serve. By default one, and more when the load asks for them, up to four and the cores there are. */
  readonly workers?: number
  /** For a service that is root: the proxy runs as this user and gets its sockets from the service. */
  readonly as?: ProxyUser | undefined
  /** A descriptor of a socket that listens at this address and is kept open by its opener: systemd. */
  readonly socket?: number | undefined
  readonly httpsSocket?: number | undefined
  /** How long a new proxy may take until it answers, in ms. */
  readonly startWithin?: number
}

/**
 * Finds the proxy of this home, or starts one that outlives its caller. One that runs with other code or on another
 * address is asked to go: it stops accepting, the new one takes over, and what it has under way ends by itself.
 */
export async function ensureProxy(options: EnsureOptions): Promise<ProxyControl & { readonly started: boolean }> {
  const control = createProxyControl(options.home)
  const running = await control.status()
  if (running && (await matches(running, options))) return { ...control, started: false }
  if (options.as === undefined) {
    if (running) await control.shutdown()
    await start(options, control)
  } else await startAs({ ...options, as: options.as }, running, control)
  return { ...control, started: true }
}

async function matches(
  running: ProxyStatus,
  { listen, listenHttps = 'off', workers, as }: EnsureOptions,
): Promise<boolean> {
  return (
    (workers === undefined || workers === running.mostWorkers) &&
    (as === undefined || as.uid === running.uid) &&
    running.listen === listen &&
    (running.listenHttps ?? 'off') === listenHttps &&
    running.version === (await proxyVersion())
  )
}

/** As root: the new proxy has its socket before the old one lets go. */
async function startAs(
  options: EnsureOptions & { readonly as: ProxyUser },
  running: ProxyStatus | undefined,
  control: ProxyControl,
): Promise<void> {
  const { home, listen } = options
  const files = stateFiles(home)
  // Left by a start that was cut off in between: it listens, and no caller would find it.
  await ask(nextSocketOf(home), 'POST', '/shutdown')
  const logged = await stat(files.log).then(
    ({ size }) => size,
    () => 0,
  )
  const child = await launchAs(options, running, control.shutdown).catch((error: Error) => {
    throw new ProxyError('proxy_start_failed', `The proxy did not start. ${error.message}`)
  })
  const status = await answering(child, { home, logged, within: options.startWithin }, control)
  const { pid, version, address } = status
  await writeFacts(files.facts, { pid, version, listen, address, socket: files.socket, startedAt: new Date() })
}

async function start(
  { home, listen, listenHttps = 'off', workers, socket, httpsSocket, startWithin }: EnsureOptions,
  control: ProxyControl,
): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const files = stateFiles(home)
  const env = await environment(files.codeCache)
  const output = await open(files.log, 'a', 0o600)
  const logged = (await output.stat()).size
  const count = workers === undefined ? [] : ['--workers', String(workers)]
  const given = [
    ...(socket === undefined ? [] : [{ flag: '--listen-fd', fd: socket }]),
    ...(httpsSocket === undefined || listenHttps === 'off' ? [] : [{ flag: '--listen-https-fd', fd: httpsSocket }]),
  ]
  const addresses = ['--listen', listen, '--listen-https', listenHttps]
  const descriptors = given.flatMap(({ flag }, index) => [flag, String(3 + index)])
  const args = [...memoryFlags, program, '--home', home, ...addresses, ...count, ...descriptors]
  const child = spawn(process.execPath, args, {
    cwd: home,
    detached: true,
    stdio: ['ignore', output.fd, output.fd, ...given.map(({ fd }) => fd)],
    env,
  })
  await output.close()
  await answering(child, { home, logged, within: startWithin }, control)
}

/** Resolves when the started proxy answers. Rejects, with what it said, when it ends or takes too long. */
async function answering(
  child: ChildProcess,
  {
    home,
    logged,
    within = 10_000,
  }: { readonly home: string; readonly logged: number; readonly within?: number | undefined },
  control: ProxyControl,
): Promise<ProxyStatus> {
  const { log } = stateFiles(home)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  child.unref()

  const deadline = Date.now() + within
  while (Date.now() < deadline) {
    const end = await Promise.race([ended, delay(20, undefined)])
    if (end !== undefined) {
      const said = (await readFile(log)).subarray(logged).toString('utf8').trim()
      throw new ProxyError('proxy_start_failed', `The proxy did not start (${end}). ${said || `See ${log}.`}`)
    }
    const status = await control.status()
    if (status !== undefined && status.pid === child.pid) return status
  }
  child.kill('SIGKILL')
  throw new ProxyError('proxy_start_failed', `The proxy did not answer within ${within} ms. See ${log}.`)
}

/**
 * It talks to the world and gets none of the control plane's secrets. Compiled code comes from a cache: a process that
 * strips types by itself loads a compiler and stays 30 MB larger for life (107 MB instead of 75). So the first start of
 * each version fills the cache with a process that does nothing else.
 */
async function environment(cache: string): Promise<NodeJS.ProcessEnv> {
  const folder = join(cache, await proxyVersion())
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: folder }
  if (existsSync(folder)) return env

  await rm(cache, { recursive: true, force: true })
  const prepared = spawn(process.execPath, [...memoryFlags, program, '--prepare'], { env, stdio: 'ignore' })
  await new Promise<void>((resolve) => prepared.once('exit', () => resolve()).once('error', () => resolve()))
  return env
}

interface AskOptions {
  /** Milliseconds without a word. */
  readonly timeout?: number
  readonly signal?: AbortSignal
  readonly agent?: Agent | false
}

/** One command over the socket. Undefined when no proxy answers. */
function ask(
  socketPath: string,
  method: string,
  path: string,
  body = '',
  { timeout = 10_000, signal, agent = false }: AskOptions = {},
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { socketPath, method, path, agent, timeout, ...(signal && { signal }) }
    const call = request(options, async (response) => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
        const answer = JSON.parse(Buffer.concat(chunks).toString('utf8'))
        if (response.statusCode! < 300) return resolve(answer)
        reject(new ProxyError((answer as ControlProblem).code, (answer as ControlProblem).detail))
      } catch (error) {
        reject(
          new ProxyError('proxy_not_answering', `The proxy on ${socketPath} broke off its answer.`, { cause: error }),
        )
      }
    })
    call.on('timeout', () => call.destroy(new Error(`no answer within ${timeout / 1_000} s`)))
    call.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') return resolve(undefined)
      reject(new ProxyError('proxy_not_answering', `The proxy on ${socketPath} does not answer: ${error.message}.`))
    })
    call.end(body)
  })
}
