import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { WebSocket } from 'ws'
import { type Answer, type Service, startService, throughProxy } from './service.ts'
import { makeSourceRoot } from './source-root.ts'

/** Says what reached it, streams for ever under /stream, is as well as it was last told under /be/503, and answers every upgrade with an echo of bytes. */
const program = `
const { createServer } = require('http')
let health = 200
const server = createServer((request, response) => {
  if (request.url.startsWith('/be/')) health = Number(request.url.slice(4))
  if (request.url === '/health')
    return response.writeHead(health, { 'content-type': 'text/plain', location: 'http://127.0.0.1:1/' }).end('I am ' + health)
  if (request.url !== '/stream') return response.end(JSON.stringify({ url: request.url, headers: request.headers }))
  response.writeHead(200, { 'content-type': 'text/plain' })
  const timer = setInterval(() => response.write('tick\\n'), 50)
  response.on('close', () => clearInterval(timer))
}).listen(process.env.PORT, '127.0.0.1')
const { createHash } = require('crypto')
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('error', () => {})
})
`

export interface ShownProject {
  readonly service: Service
  /** A call of the API as an administrator. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  api(method: string, path: string, body?: object): Promise<{ status: number; body: any }>
  /** A request through the proxy to any host. */
  get(host: string, path?: string, headers?: Record<string, string>): Promise<Answer>
  /** Its source folder. */
  readonly path: string
  close(): Promise<void>
}

/** A real service with the project "Shop", which runs. */
export async function showProject(env: Readonly<Record<string, string>> = {}): Promise<ShownProject> {
  const root = await makeSourceRoot()
  const service = await startService({ roots: root.path, env })
  const path = await root.folder('shop', {
    'package.json': JSON.stringify({ name: 'shop', private: true, scripts: { start: 'node server.js' } }),
    'server.js': program,
  })
  const created = await service.client.call('createProject', { body: { name: 'Shop', path }, query: { wait: 60 } })
  if (created.status.state !== 'running') throw new Error(`the project is ${created.status.state}: ${service.output()}`)
  return {
    service,
    path,
    api: async (method, at, body) => {
      const answer = await fetch(`${service.url}/api/v1${at}`, {
        method,
        headers: { authorization: `Bearer ${service.token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
    },
    get: (host, at = '/', headers = {}) => throughProxy(service.proxyPort, host, at, { headers }),
    close: async () => {
      await service.close()
      await root.remove()
    },
  }
}

export interface OpenSocket {
  readonly closed: Promise<number>
  readonly isClosed: () => boolean
}

/** An answer that never ends, read as it comes; `closed` says when it was cut off. */
export async function openStream(port: number, host: string): Promise<OpenSocket> {
  const call = request({ host: '127.0.0.1', port, path: '/stream', agent: false, headers: { host } }).end()
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`the stream answers ${answer.statusCode}`)
  answer.on('error', () => undefined).resume()
  return watch((done) => answer.once('close', done))
}

export async function openWebSocket(port: number, host: string, headers = {}): Promise<OpenSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, { headers: { host, ...headers } })
  await once(socket, 'open')
  socket.on('error', () => undefined)
  return watch((done) => socket.once('close', done))
}

function watch(onClose: (done: () => void) => void): OpenSocket {
  let at: number | null = null
  const { promise, resolve } = Promise.withResolvers<number>()
  onClose(() => {
    at = Date.now()
    resolve(at)
  })
  return { closed: promise, isClosed: () => at !== null }
}
