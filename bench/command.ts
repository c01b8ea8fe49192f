import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createProxyControl } from '@stackquay/proxy/control'
import { freePort } from '../e2e/support/service.ts'
import { serviceProgramOf } from '../e2e/support/service-program.ts'

export const root = join(import.meta.dirname, '..')

export type Command = readonly [string, ...string[]]

/**
 * What `npm start` becomes, of this checkout or another that it is compared with. Not through `tools/run.mjs`: that installs dependencies where
 * they do not fit, and a comparison changes no checkout.
 */
export async function serviceOf(checkout: string): Promise<{ readonly command: Command; readonly env: Env }> {
  const start: { memoryFlags?: readonly string[]; memoryEnv?: Env } = await import(
    join(checkout, 'tools/run/start.mjs')
  )
  const { memoryFlags = ['--max-semi-space-size=4'], memoryEnv = {} } = start
  return { command: [process.execPath, ...memoryFlags, await serviceProgramOf(checkout)], env: memoryEnv }
}

type Env = Readonly<Record<string, string>>

/** How a service is started: by a person, and without all that stands in front of it. */
export const commands = {
  'npm start': ['npm', 'start', '--silent'],
  'node main.js': [process.execPath, join(root, 'apps/server/dist/main.js')],
} as const satisfies Record<string, Command>

export interface Started {
  /** Milliseconds from the command to the first 200 of `/health`. */
  readonly took: number
  readonly url: string
  /** Of the control plane itself, behind npm. */
  readonly pid: number
  /** Ends the service and its proxy. */
  end(): Promise<void>
}

export interface StartOptions {
  /** The checkout that the command is of; this one unless told. */
  readonly checkout?: string
  readonly env?: Env
}

export async function startByCommand(
  [file, ...args]: Command,
  home: string,
  { checkout = root, env: more = {} }: StartOptions = {},
): Promise<Started> {
  const [port, proxyPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    STACKQUAY_HOME: home,
    STACKQUAY_LISTEN: `127.0.0.1:${port}`,
    STACKQUAY_PROXY_HTTP: `127.0.0.1:${proxyPort}`,
    ...(knowsSetting(checkout, 'STACKQUAY_PROXY_HTTPS') ? { STACKQUAY_PROXY_HTTPS: 'off' } : {}),
    ...(knowsSetting(checkout, 'STACKQUAY_SSH') ? { STACKQUAY_SSH: 'off' } : {}),
    ...(knowsSetting(checkout, 'STACKQUAY_PROXY_HTTPS') ? { STACKQUAY_PROXY_HTTPS: 'off' } : {}),
    STACKQUAY_LOG_LEVEL: 'warn',
    // As `npm start` has it.
    NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compile'),
    ...more,
  }
  const began = performance.now()
  const child = spawn(file, args, { cwd: checkout, env, stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const end = async () => {
    await endGroup(child)
    await createProxyControl(join(home, 'proxy')).shutdown()
  }
  try {
    await healthy(child, url)
    return {
      took: performance.now() - began,
      url,
      pid: lastOf(child.pid!),
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

async function healthy(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await answersWell(`${url}/api/v1/health`))) {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}.`)
    if (Date.now() > deadline) throw new Error('The service did not answer within a minute.')
    await delay(5)
  }
}

function answersWell(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}

/** npm starts a shell, which starts the service. What that starts itself (the proxy, programs that it looks at) is not meant. */
function lastOf(pid: number): number {
  if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').match(/apps\/server\/(src\/main\.ts|dist\/main\.js)/)) return pid
  const session = sessionOf(pid)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const next = children.find((child) => child > 0 && sessionOf(child) === session)
  return next === undefined ? pid : lastOf(next)
}

/** Undefined for a process that has ended meanwhile. */
function sessionOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')[3]
  } catch {
    return undefined
  }
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid!, 'SIGTERM')
  await ended
  // npm does not wait for what it started.
  while (isGroupThere(child.pid!)) await delay(20)
}

function isGroupThere(leader: number): boolean {
  try {
    return process.kill(-leader, 0)
  } catch {
    return false
  }
}

/** Older states refuse settings that they do not know. */
export function knowsSetting(checkout: string, name: string): boolean {
  return readFileSync(join(checkout, 'apps/server/src/config.ts'), 'utf8').includes(name)
}
