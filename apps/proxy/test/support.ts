import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, request } from 'node:http'
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createProxyControl } from '../src/control.ts'
import type { Limits } from '../src/limits.ts'
import { startProxy } from '../src/proxy.ts'
import type { Route, RouteTable, Target } from '../src/route-table.ts'

/** A folder that goes away with the test, after the proxy that may run on it. */
export async function tempHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-proxy-'))
  t.after(async () => {
    await endOf(home)
    // A proxy in this process may still be writing there.
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  return home
}

async function endOf(home: string): Promise<void> {
  const control = createProxyControl(home)
  const pid = (await control.status())?.pid
  if (pid === undefined || pid === process.pid) return
  await control.shutdown()
  await until(() => !alive(pid), 'the proxy ends')
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A proxy in this process, with one route: `shop.localhost` leads to the given target. */
export async function proxyTo(t: TestContext, target: Target, limits: Partial<Limits> = {}) {
  const home = await tempHome(t)
  const proxy = await startProxy({ home, listen: '127.0.0.1:0', limits: { drainWithin: 200, ...limits } })
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
  })
  const control = createProxyControl(home)
  await control.putRoutes(table([route('shop', target)]))
  return { port: proxy.address.port, home, control, proxy }
}

export function upstreamAt(port: number): Target {
  return { kind: 'upstream', host: '127.0.0.1', port }
}

export function route(slug: string, target: Target): Route {
  return { hosts: [`${slug}.localhost`], project: { id: `prj_${slug}`, slug, name: `The ${slug}` }, target }
}

export function table(routes: readonly Route[], generation = 1): RouteTable {
  return { version: 1, generation, routes }
}

/** A project: a real HTTP server. */
export async function httpUpstream(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  return listen(t, server)
}

/** A project of which every byte is decided by the test. */
export async function tcpUpstream(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    onConnection(socket)
  })
  return listen(t, server)
}

async function listen(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return portOf(server)
}

export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.')
  return address.port
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly trailers: NodeJS.Dict<string>
  readonly text: string
}

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Buffer
}

export async function ask(port: number, options: Ask = {}): Promise<Answer> {
  const response = await open(port, options)
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  return {
    status: response.statusCode!,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    trailers: response.trailers,
    text: Buffer.concat(chunks).toString('utf8'),
  }
}

/** Resolves with the head of the answer; the body is still to be read. */
export function open(port: number, { method = 'GET', path = '/', host, headers, body }: Ask): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request(
      { port, host: '127.0.0.1', method, path, agent: false, headers: { host: host ?? 'shop.localhost', ...headers } },
      resolve,
    )
    call.on('error', reject)
    call.end(body)
  })
}

/** Sends bytes as they are and resolves with all that comes back until the other side closes. */
export function raw(port: number, bytes: string, { closeAfter = 3_000 } = {}): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    const timer = setTimeout(() => socket.destroy(), closeAfter)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(received)
    })
  })
}

export async function until(condition: () => boolean | Promise<boolean>, what: string, within = 5_000): Promise<void> {
  const deadline = Date.now() + within
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Not within ${within} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
