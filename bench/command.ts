import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createProxyControl } from '@stackquay/proxy/control'
import { freePort } from '../e2e/support/service.ts'

const root = join(import.meta.dirname, '..')

export type Command = readonly [string, ...string[]]

/** How a service is started: by a person, and without all that stands in front of it. */
export const commands = {
  'npm start': ['npm', 'start', '--silent'],
  'node main.ts': [process.execPath, join(root, 'apps/server/src/main.ts')],
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

export async function startByCommand([file, ...args]: Command, home: string): Promise<Started> {
  const [port, proxyPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    STACKQUAY_HOME: home,
    STACKQUAY_LISTEN: `127.0.0.1:${port}`,
    STACKQUAY_PROXY_HTTP: `127.0.0.1:${proxyPort}`,
    STACKQUAY_LOG_LEVEL: 'warn',
    // As `npm start` has it.
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
  }
  const began = performance.now()
  const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const end = async () => {
    await endGroup(child)
    await createProxyControl(join(home, 'proxy')).shutdown()
  }
  try {
    await healthy(child, url)
    return { took: performance.now() - began, url, pid: lastOf(child.pid!), end }
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

/** npm starts a shell, which starts the service; the proxy is a child too, but leads a session of its own. */
function lastOf(pid: number): number {
  const session = (of: number) =>
    readFileSync(`/proc/${of}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')[3]
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const next = children.find((child) => child > 0 && session(child) === session(pid))
  return next === undefined ? pid : lastOf(next)
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid!, 'SIGTERM')
  await ended
}
