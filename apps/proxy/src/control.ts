import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { extname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ControlProblem, ProxyStatus } from './control-protocol.ts'
import type { RouteTable } from './route-table.ts'
import { stateFiles } from './state-files.ts'
import { proxyVersion } from './version.ts'

export type { ProxyStatus } from './control-protocol.ts'

/** A running proxy, seen from the control plane. */
export interface ProxyControl {
  /** Undefined when no proxy runs on this home. */
  status(): Promise<ProxyStatus | undefined>
  /** Resolves when the table is in use and on disk. */
  putRoutes(table: RouteTable): Promise<ProxyStatus>
  /** Resolves when the address is free again; connections under way may last longer. A proxy that does not run is fine. */
  shutdown(): Promise<void>
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
  return {
    async status() {
      return (await ask(socket, 'GET', '/status')) as ProxyStatus | undefined
    },
    async putRoutes(table) {
      const status = await ask(socket, 'PUT', '/routes', JSON.stringify(table))
      if (!status) throw new ProxyError('proxy_not_running', `No proxy runs on ${home}. Start it with ensureProxy.`)
      return status as ProxyStatus
    },
    async shutdown() {
      await ask(socket, 'POST', '/shutdown')
    },
  }
}

export interface EnsureOptions {
  readonly home: string
  readonly listen: string
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
  if (running && running.listen === options.listen && running.version === (await proxyVersion())) {
    return { ...control, started: false }
  }
  if (running) await control.shutdown()
  await start(options, control)
  return { ...control, started: true }
}

async function start({ home, listen, startWithin = 10_000 }: EnsureOptions, control: ProxyControl): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const files = stateFiles(home)
  const env = await environment(files.codeCache)
  const output = await open(files.log, 'a', 0o600)
  const logged = (await output.stat()).size
  const child = spawn(process.execPath, [...memoryFlags, mainFile, '--home', home, '--listen', listen], {
    cwd: home,
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
    env,
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  child.unref()
  await output.close()

  const deadline = Date.now() + startWithin
  while (Date.now() < deadline) {
    const end = await Promise.race([ended, delay(20, undefined)])
    if (end !== undefined) {
      const said = (await readFile(files.log)).subarray(logged).toString('utf8').trim()
      throw new ProxyError('proxy_start_failed', `The proxy did not start (${end}). ${said || `See ${files.log}.`}`)
    }
    const status = await control.status()
    if (status?.pid === child.pid) return
  }
  child.kill('SIGKILL')
  throw new ProxyError('proxy_start_failed', `The proxy did not answer within ${startWithin} ms. See ${files.log}.`)
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
  const prepared = spawn(process.execPath, [...memoryFlags, mainFile, '--prepare'], { env, stdio: 'ignore' })
  await new Promise<void>((resolve) => prepared.once('exit', () => resolve()).once('error', () => resolve()))
  return env
}

/** Measured with 1, 4 and 16 MB: more costs memory and serves no faster, less doubles the slowest percent of answers. */
const memoryFlags: readonly string[] = ['--max-semi-space-size=4']

const mainFile = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url))

/** One command over the socket. Undefined when nobody is there. */
function ask(socketPath: string, method: string, path: string, body = ''): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path, agent: false, timeout: 10_000 }, async (response) => {
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
    call.on('timeout', () => call.destroy(new Error('no answer within 10 s')))
    call.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') return resolve(undefined)
      reject(new ProxyError('proxy_not_answering', `The proxy on ${socketPath} does not answer: ${error.message}.`))
    })
    call.end(body)
  })
}
