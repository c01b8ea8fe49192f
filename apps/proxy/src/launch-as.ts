import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { closeSync, constants, openSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ProxyStatus } from './control-protocol.ts'
import { listenAtFile } from './control-socket.ts'
import { prepareDataFolder } from './data-folder.ts'
import {
  type AddressSetting,
  backlog,
  explainListen,
  type ListenAddress,
  parseListen,
  portUsed,
} from './listen-address.ts'
import { descriptorOf, listenersAt } from './listeners.ts'
import { stateFiles } from './state-files.ts'
import { proxyVersion } from './version.ts'
import { memoryFlags } from './workers/program.ts'

/** The user that a service of root runs the proxy as. */
export interface ProxyUser {
  readonly uid: number
  readonly gid: number
  readonly name: string
  /** `main.ts` of a copy of this package that this user can read. */
  readonly program: string
}

export interface LaunchOptions {
  readonly home: string
  readonly listen: string
  /** Of https; by default `off`. */
  readonly listenHttps?: string | undefined
  readonly workers?: number | undefined
  readonly as: ProxyUser
  /** A socket that listens already and is kept open by its opener. */
  readonly socket?: number | undefined
  readonly httpsSocket?: number | undefined
}

/** Descriptors of sockets that listen; https: null where it is off. */
interface Listeners {
  readonly http: number
  readonly https: number | null
}

/**
 * Starts a proxy that never is root: it gets its sockets as descriptors and one folder of its own. The socket for commands
 * stands in root's folder and can be opened by root alone.
 *
 * A proxy that runs already serves on until the new one has its socket, so at no moment is a connection refused; `endOld`
 * has it stop accepting.
 */
export async function launchAs(
  options: LaunchOptions,
  running: ProxyStatus | undefined,
  endOld: () => Promise<void>,
): Promise<ChildProcess> {
  const { home, as } = options
  const data = await prepareDataFolder(home, as)
  const files = stateFiles(home)
  const env = await environment(home, data, as)
  const confined = await confinement(as)
  const log = openSync(
    files.log,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  )
  const node = openSync(process.execPath, 'r')
  const control = createServer()
  try {
    const nextSocket = nextSocketOf(home)
    await listenAtFile(control, `${files.socket}.new`)
    // Closing it here removes the file by the name that it was made with, so it gets another one first.
    await rename(`${files.socket}.new`, nextSocket)
    const start = (listeners: Listeners): ChildProcess => {
      const fds = { listeners, control: descriptorOf(control), node }
      return spawnConfined(confined, argumentsOf(options, data), { env, data, log, ...fds })
    }
    const child = await withListeners(options, running, endOld, start)
    await endOld()
    await rename(nextSocket, files.socket)
    return child
  } finally {
    control.close()
    closeSync(log)
    closeSync(node)
  }
}

/** Where the socket for commands stands before it has taken the place of the one before. */
export function nextSocketOf(home: string): string {
  return `${stateFiles(home).socket}.next`
}

interface Opening {
  readonly address: ListenAddress
  readonly setting: AddressSetting
}

/**
 * Opens the listening sockets that were not given, has them inherited, and closes them here, all in one turn of the event loop:
 * nothing is accepted by this process. They are opened so that root alone can open others at these addresses beside them
 * (SO_REUSEPORT); so who else listens there is looked for first.
 */
async function withListeners(
  { listen, listenHttps = 'off', socket, httpsSocket }: LaunchOptions,
  running: ProxyStatus | undefined,
  endOld: () => Promise<void>,
  start: (listeners: Listeners) => ChildProcess,
): Promise<ChildProcess> {
  const http = socket === undefined ? await openingOf(listen, 'STACKQUAY_PROXY_HTTP') : null
  const isOff = listenHttps === 'off'
  const https = isOff || httpsSocket !== undefined ? null : await openingOf(listenHttps, 'STACKQUAY_PROXY_HTTPS')
  const openings = [http, https].filter((one) => one !== null)
  await Promise.all(openings.map((one) => othersGone(one, running)))
  const launch = () =>
    listenAndStart(openings, (descriptorsOfAll) => {
      const next = [...descriptorsOfAll]
      const first = http === null ? socket! : next.shift()!
      return start({ http: first, https: isOff ? null : https === null ? httpsSocket! : next.shift()! })
    })
  try {
    return await launch()
  } catch (error) {
    // A proxy of an earlier version shares its port with no other process: it has to go first.
    if (!isTaken(error) || running === undefined) throw error
  }
  await endOld()
  return launch()
}

function isTaken(error: unknown): boolean {
  return (error as Error).cause !== undefined && ((error as Error).cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

async function openingOf(text: string, setting: AddressSetting): Promise<Opening> {
  const asked = parseListen(text)
  return { address: { ...asked, host: await addressOf(asked, setting) }, setting }
}

/** A name is looked up once: what is looked for and what is listened at must be the same. */
async function addressOf(asked: ListenAddress, setting: AddressSetting): Promise<string> {
  try {
    return (await lookup(asked.host)).address
  } catch (error) {
    throw await explainListen(error as NodeJS.ErrnoException, asked, setting)
  }
}

/** All in the turn in which the last of them listens. Rejects with words for a person; the reason is its cause. */
async function listenAndStart(
  openings: readonly Opening[],
  start: (descriptors: readonly number[]) => ChildProcess,
): Promise<ChildProcess> {
  const servers = openings.map(() => createServer())
  const opened = await Promise.allSettled(openings.map((opening, index) => listening(servers[index]!, opening)))
  let failed: { readonly reason: NodeJS.ErrnoException; readonly opening: Opening } | null = null
  try {
    for (const [index, one] of opened.entries())
      if (one.status === 'rejected') failed ??= { reason: one.reason, opening: openings[index]! }
    if (failed === null) return start(servers.map(descriptorOf))
  } finally {
    for (const server of servers) server.close()
  }
  const { reason, opening } = failed
  throw new Error((await explainListen(reason, opening.address, opening.setting)).message, { cause: reason })
}

function listening(server: Server, { address: { host, port } }: Opening): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog, reusePort: port !== 0 }, resolve)
  })
}

/** Workers of a proxy that was killed notice it by themselves, but maybe a moment after. */
async function othersGone({ address, setting }: Opening, running: ProxyStatus | undefined): Promise<void> {
  if (address.port === 0) return
  const deadline = Date.now() + 3_000
  for (;;) {
    const others = listenersAt(address).filter(
      (socket) => socket !== running?.socket && socket !== running?.httpsSocket,
    )
    // One of an earlier version does not say which socket is its own; the kernel refuses to share that one.
    if (others.length === 0 || (running !== undefined && running.socket === undefined)) return
    if (Date.now() >= deadline) throw await portUsed(address.port, setting)
    await delay(50)
  }
}

function argumentsOf({ listen, listenHttps = 'off', workers, as }: LaunchOptions, data: string): readonly string[] {
  const count = workers === undefined ? [] : ['--workers', String(workers)]
  return [...memoryFlags, as.program, '--home', data, '--listen', listen, '--listen-https', listenHttps, ...count]
}

interface Spawned {
  readonly env: NodeJS.ProcessEnv
  readonly data: string
  readonly log: number
  readonly listeners: Listeners
  readonly control: number
  readonly node: number
}

/** Node is run by its descriptor: the installation may lie where this user cannot go. */
function spawnConfined(
  { command, uid, gid }: Confinement,
  args: readonly string[],
  { env, data, log, listeners, control, node }: Spawned,
): ChildProcess {
  const given = [
    '--listen-fd',
    '3',
    '--control-fd',
    '4',
    ...(listeners.https === null ? [] : ['--listen-https-fd', '6']),
  ]
  const [file, ...rest] = [...command, '/proc/self/fd/5', ...args, ...given]
  const https = listeners.https === null ? [] : [listeners.https]
  return spawn(file!, rest, {
    cwd: data,
    detached: true,
    stdio: ['ignore', log, log, listeners.http, control, node, ...https],
    env,
    ...(uid !== undefined && gid !== undefined && { uid, gid }),
  })
}

interface Confinement {
  readonly command: readonly string[]
  /** Given where no command changes the user. */
  readonly uid?: number
  readonly gid?: number
}

/**
 * As the user, without any capability, and with no way to get one (`no_new_privs`, an empty bounding set). Where setpriv(1)
 * of util-linux is not there, the change of the user alone takes all capabilities away.
 */
async function confinement({ uid, gid }: ProxyUser): Promise<Confinement> {
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  const command = ['setpriv', ...user, '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--']
  // Some have a program of this name that knows less; it is tried, not looked at.
  const works = await promisify(execFile)(command[0]!, [...command.slice(1), 'true']).then(
    () => true,
    () => false,
  )
  return works ? { command } : { command: [], uid, gid }
}

/**
 * It talks to the world and gets none of the control plane's secrets. Code that was compiled comes from a cache in the
 * proxy's folder, which the proxy's user fills and clears; root writes down in its own folder that this was done.
 */
async function environment(home: string, data: string, as: ProxyUser): Promise<NodeJS.ProcessEnv> {
  const version = await proxyVersion()
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: join(stateFiles(data).codeCache, version) }
  const mark = join(home, 'prepared')
  if ((await readFile(mark, 'utf8').catch(() => '')) === `${version}\n`) return env

  const node = await open(process.execPath, 'r')
  try {
    const { command, ...user } = await confinement(as)
    const [file, ...args] = [...command, '/proc/self/fd/3', ...memoryFlags, as.program, '--prepare']
    const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', 'ignore', 'pipe', node.fd]
    const prepared = spawn(file!, args, { cwd: '/', env, stdio, ...user })
    let said = ''
    prepared.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const code = await new Promise<number | null>((resolve) =>
      prepared.once('close', resolve).once('error', () => resolve(null)),
    )
    if (code !== 0) throw new Error(cannotStart(as, data, said))
  } finally {
    await node.close()
  }
  await writeFile(mark, `${version}\n`, { mode: 0o600 })
  return env
}

function cannotStart({ name, program }: ProxyUser, data: string, said: string): string {
  const reason = said.trim().split('\n').slice(0, 3).join(' ')
  return `The user "${name}" cannot run the proxy${reason === '' ? '' : `: ${reason}`}. It must be able to enter the folders above ${data} and ${program}; set STACKQUAY_HOME to a folder that others may pass through, like /var/lib/stackquay.`
}
