import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { closeSync, constants, openSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ProxyStatus } from './control-protocol.ts'
import { listenAtFile } from './control-socket.ts'
import { prepareDataFolder } from './data-folder.ts'
import { backlog, explainListen, type ListenAddress, parseListen, portUsed } from './listen-address.ts'
import { descriptorOf, listenersAt } from './listeners.ts'
import { stateFiles } from './state-files.ts'
import { proxyVersion } from './version.ts'
import { memoryEnvironment, memoryFlags } from './workers/program.ts'

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
  readonly workers?: number | undefined
  readonly as: ProxyUser
  /** A socket that listens already and is kept open by its opener. */
  readonly socket?: number | undefined
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
    const start = (listening: number): ChildProcess => {
      const fds = { listening, control: descriptorOf(control), node }
      return spawnConfined(confined, argumentsOf(options, data), { env, data, log, ...fds })
    }
    const child =
      options.socket === undefined ? await withListener(options, running, endOld, start) : start(options.socket)
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

/**
 * Opens the listening socket, has it inherited, and closes it here, all in one turn of the event loop: nothing is accepted
 * by this process. It is opened so that root alone can open another one at this address beside it (SO_REUSEPORT); so who
 * else listens there is looked for first.
 */
async function withListener(
  { listen }: LaunchOptions,
  running: ProxyStatus | undefined,
  endOld: () => Promise<void>,
  start: (listening: number) => ChildProcess,
): Promise<ChildProcess> {
  const asked = parseListen(listen)
  const address = { ...asked, host: await addressOf(asked) }
  await othersGone(address, running)
  try {
    return await listenAndStart(address, start)
  } catch (error) {
    // A proxy of an earlier version shares its port with no other process: it has to go first.
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || running === undefined) {
      throw await explainListen(error as NodeJS.ErrnoException, address)
    }
  }
  await endOld()
  return listenAndStart(address, start).catch(async (error: NodeJS.ErrnoException) => {
    throw await explainListen(error, address)
  })
}

/** A name is looked up once: what is looked for and what is listened at must be the same. */
async function addressOf(asked: ListenAddress): Promise<string> {
  try {
    return (await lookup(asked.host)).address
  } catch (error) {
    throw await explainListen(error as NodeJS.ErrnoException, asked)
  }
}

function listenAndStart({ host, port }: ListenAddress, start: (listening: number) => ChildProcess) {
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>()
  const server = createServer()
  server.once('error', reject)
  server.listen({ host, port, backlog, reusePort: port !== 0 }, () => {
    try {
      resolve(start(descriptorOf(server)))
    } catch (error) {
      reject(error)
    } finally {
      server.close()
    }
  })
  return promise
}

/** Workers of a proxy that was killed notice it by themselves, but maybe a moment after. */
async function othersGone(address: ListenAddress, running: ProxyStatus | undefined): Promise<void> {
  if (address.port === 0) return
  const deadline = Date.now() + 3_000
  for (;;) {
    const others = listenersAt(address).filter((socket) => socket !== running?.socket)
    // One of an earlier version does not say which socket is its own; the kernel refuses to share that one.
    if (others.length === 0 || (running !== undefined && running.socket === undefined)) return
    if (Date.now() >= deadline) throw await portUsed(address.port)
    await delay(50)
  }
}

function argumentsOf({ listen, workers, as }: LaunchOptions, data: string): readonly string[] {
  const count = workers === undefined ? [] : ['--workers', String(workers)]
  return [...memoryFlags, as.program, '--home', data, '--listen', listen, ...count]
}

interface Spawned {
  readonly env: NodeJS.ProcessEnv
  readonly data: string
  readonly log: number
  readonly listening: number
  readonly control: number
  readonly node: number
}

/** Node is run by its descriptor: the installation may lie where this user cannot go. */
function spawnConfined(
  { command, uid, gid }: Confinement,
  args: readonly string[],
  { env, data, log, listening, control, node }: Spawned,
): ChildProcess {
  const [file, ...rest] = [...command, '/proc/self/fd/5', ...args, '--listen-fd', '3', '--control-fd', '4']
  return spawn(file!, rest, {
    cwd: data,
    detached: true,
    stdio: ['ignore', log, log, listening, control, node],
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
  const cache = join(stateFiles(data).codeCache, version)
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: cache, ...memoryEnvironment }
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
