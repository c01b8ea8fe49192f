import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Problem } from '@stackquay/contract'
import { type WebSocket, WebSocketServer } from 'ws'

export interface StandIn extends AsyncDisposable {
  readonly url: string
  readonly server: Server
}

export interface StandInHandlers {
  http?: (request: IncomingMessage, response: ServerResponse, body: string) => void
  /** Null accepts the upgrade; a problem refuses it with its status. */
  refuse?: (request: IncomingMessage) => Problem | null
  socket?: (socket: WebSocket, request: IncomingMessage) => void
}

/** A small HTTP server that speaks as much of the contract as a test says. */
export async function standIn(handlers: StandInHandlers): Promise<StandIn> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (handlers.http === undefined) sendProblem(response, problem(404, 'not_found'))
    else handlers.http(request, response, Buffer.concat(chunks).toString())
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, duplex, head) => {
    duplex.on('error', () => {})
    const refusal = handlers.refuse?.(request) ?? null
    if (refusal !== null)
      return duplex.end(`HTTP/1.1 ${refusal.status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    sockets.handleUpgrade(request, duplex, head, (socket) => handlers.socket?.(socket, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function sendProblem(response: ServerResponse, body: Problem, headers: Record<string, string> = {}): void {
  response.writeHead(body.status, { 'content-type': 'application/problem+json', ...headers }).end(JSON.stringify(body))
}

export function problem(status: number, code: Problem['code'], rest: Partial<Problem> = {}): Problem {
  return {
    type: `urn:stackquay:problem:${code}`,
    title: `Title of ${code}`,
    status,
    detail: `Detail of ${code}.`,
    code,
    hint: `Hint of ${code}.`,
    retryable: false,
    ...rest,
  }
}
