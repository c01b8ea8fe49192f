import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OperationRecord, OperationStep, Problem, ProjectView } from '@stackquay/contract'
import { type WebSocket, WebSocketServer } from 'ws'

export interface Call {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: unknown
  readonly headers: IncomingMessage['headers']
}

/** What a route answers: JSON with status 200, or whatever it writes itself. */
export type Route = (call: Call, response: ServerResponse) => unknown

/** What a WebSocket at a path is told: `'/projects/shop/runs/run_1/ws'`. */
export type SocketRoute = (socket: WebSocket, query: URLSearchParams) => void

export interface StandIn extends AsyncDisposable {
  readonly url: string
  readonly calls: readonly Call[]
  /** `POST /projects/shop/start`, in order. */
  readonly lines: () => string[]
}

/** A small service that speaks the parts of the contract a test names: `'GET /projects': () => ({ items: [] })`. */
export async function standIn(
  routes: Readonly<Record<string, Route>>,
  sockets: Readonly<Record<string, SocketRoute>> = {},
): Promise<StandIn> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://stand-in')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const path = url.pathname.replace(/^\/api\/v1/, '')
    const call: Call = {
      method: request.method!,
      path,
      query: url.searchParams,
      body: text === '' ? null : JSON.parse(text),
      headers: request.headers,
    }
    calls.push(call)
    const route = routes[`${call.method} ${path}`]
    if (route === undefined)
      return answerProblem(response, problem(404, 'not_found', { detail: `Nothing at ${call.method} ${path}.` }))
    const answer = await route(call, response)
    if (answer !== undefined)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const upgrades = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, duplex, head) => {
    const url = new URL(request.url!, 'http://stand-in')
    const route = sockets[url.pathname.replace(/^\/api\/v1/, '')]
    duplex.on('error', () => {})
    if (route === undefined) return duplex.end('HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    upgrades.handleUpgrade(request, duplex, head, (socket) => route(socket, url.searchParams))
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    lines: () => calls.map(({ method, path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => {
      for (const socket of upgrades.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function answerProblem(response: ServerResponse, body: Problem): void {
  response.writeHead(body.status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
}

export function problem(status: number, code: Problem['code'], rest: Partial<Problem> = {}): Problem {
  return {
    type: 'about:blank',
    title: `Title of ${code}`,
    status,
    detail: `Detail of ${code}.`,
    code,
    hint: `Hint of ${code}.`,
    retryable: false,
    ...rest,
  }
}

const time = '2026-01-01T00:00:00.000Z'

export function project(rest: Partial<ProjectView> = {}): ProjectView {
  return {
    id: 'prj_1',
    slug: 'shop',
    name: 'Shop',
    url: 'http://shop.localhost:8780',
    urls: ['http://shop.localhost:8780'],
    path: '/srv/shop',
    engine: 'native',
    status: {
      state: 'running',
      desired: 'running',
      since: time,
      health: 'healthy',
      asleep: null,
      warnings: [],
      workloads: [],
    },
    operation: null,
    databases: {},
    domains: [],
    limits: null,
    limitsUnavailable: null,
    healthCheck: null,
    sleep: null,
    template: null,
    git: null,
    generation: 1,
    observedGeneration: 1,
    createdAt: time,
    updatedAt: time,
    env: {},
    ...rest,
  }
}

export function operation(rest: Partial<OperationRecord> = {}): OperationRecord {
  return {
    id: 'op_1',
    kind: 'start',
    project: 'prj_1',
    state: 'running',
    steps: [],
    progress: 0,
    error: null,
    actor: 'ada (token: ci)',
    requestedBy: [{ actor: 'ada (token: ci)', requestId: null, at: time }],
    generation: null,
    createdAt: time,
    startedAt: time,
    finishedAt: null,
    ...rest,
  }
}

export function step(id: string, state: OperationStep['state'], rest: Partial<OperationStep> = {}): OperationStep {
  const began = state === 'pending' ? null : time
  const ended = state === 'pending' || state === 'running' ? null : '2026-01-01T00:00:03.200Z'
  return { id, title: `Do ${id}`, state, startedAt: began, finishedAt: ended, output: [], ...rest }
}

export const emptyPlan = {
  steps: [],
  starts: [],
  restarts: [],
  stops: [],
  keepsRunning: [],
  deletesData: [],
  trashUntil: null,
  changes: [],
  warnings: [],
  after: null,
  exact: true,
}
