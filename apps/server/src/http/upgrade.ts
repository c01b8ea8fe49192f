import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Operation, ProblemError } from '@stackquay/contract'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Admission, AdmissionRequest } from './admission.ts'
import type { AnyInput, AnyStreamHandler } from './bind.ts'
import type { ClientReader } from './client.ts'
import type { RecordDenial } from './denials.ts'
import { type OpenSocket, openFrameSocket, SocketGoneError } from './frame-socket.ts'
import type { Principal } from './handler.ts'
import { STATUS_CODES } from './node-http.ts'
import type { OperationPaths } from './operation-paths.ts'
import type { OriginRules } from './origin.ts'
import { parserOf } from './parse.ts'
import { problemAnswer, problemErrorOf } from './problem-answer.ts'
import { createRequestContext } from './request-context.ts'
import { requestIdOf } from './request-id.ts'
import { requireRaised } from './rights.ts'
import type { RightsWatch } from './rights-watch.ts'
import { apiHeaders } from './security-headers.ts'
import { takeTicket } from './ticket-address.ts'

export interface UpgradeDeps {
  readonly admit: (request: AdmissionRequest) => Admission | Promise<Admission>
  readonly origins: OriginRules
  readonly client: ClientReader
  readonly paths: OperationPaths
  readonly streams: readonly { readonly operation: Operation; readonly handler: AnyStreamHandler }[]
  readonly rights: RightsWatch
  readonly recordDenial: RecordDenial
  readonly log: { error(details: object, message: string): void }
}

export interface Upgrades {
  /** Node's 'upgrade' event. Until a request is let in, every answer is plain HTTP. */
  accept(message: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Tells every peer that the service goes away, and waits for the sockets to close. */
  close(): Promise<void>
}

export function createUpgrades(deps: UpgradeDeps): Upgrades {
  const { admit, origins, client, paths, streams, rights, recordDenial, log } = deps
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: 64 * 1024,
    perMessageDeflate: false,
    clientTracking: true,
  })
  const routes = new Map(
    streams.map((stream) => [stream.operation.id, { ...stream, parse: parserOf(stream.operation) }]),
  )
  const open = new Set<OpenSocket>()
  let stopping = false

  return {
    accept(message, socket, head) {
      message.url = takeTicket(message)
      const requestId = requestIdOf(message)
      // A peer that resets the connection while it is being judged is no matter for the log.
      socket.on('error', () => socket.destroy())
      judge(message, requestId).then(
        ({ start, principal, request }) => {
          server.handleUpgrade(message, socket, head, (peer) => {
            const opened = openFrameSocket(peer, requestId)
            watch(opened, principal, request, peer)
            void run(opened, requestId, principal, message, start)
          })
        },
        (error: unknown) => refuse(socket, message, requestId, error),
      )
    },
    async close() {
      stopping = true
      const closed = [...server.clients].map((peer) => new Promise((resolve) => peer.once('close', resolve)))
      for (const socket of open) socket.close(1001)
      await Promise.all(closed)
      server.close()
    },
  }

  async function judge(message: IncomingMessage, requestId: string) {
    const { pathname, searchParams } = new URL(message.url ?? '/', 'http://service')
    const found =
      message.method === 'GET' ? paths.at(pathname).find(({ operation }) => routes.has(operation.id)) : undefined
    if (stopping) throw new ProblemError('unavailable', 'The service is stopping.')
    if (found === undefined) throw new ProblemError('not_found', `There is no stream at ${pathname}.`)
    const request = { ...found, message }
    const { principal, refusal } = await admit(request)
    const { operation, params } = found
    const refuse = async (reason: unknown) => {
      await recordDenial(operation, { id: requestId, principal, params, raw: message }, reason)
      throw reason
    }
    const reason = refusal ?? foreignOrigin(message)
    if (reason !== null) return refuse(reason)
    const { handler, parse } = routes.get(operation.id)!
    const input = parse({ params, query: Object.fromEntries(searchParams), body: undefined })
    try {
      requireRaised(principal, operation, input)
    } catch (error) {
      return refuse(error)
    }
    return { principal, request, start: { handler, input } }
  }

  /** A page of another site can open a WebSocket with our cookie; only its Origin tells. */
  function foreignOrigin({ headers }: IncomingMessage): ProblemError | null {
    if (headers.origin === undefined) return null
    try {
      origins.checkOrigin({ ...headers, 'sec-fetch-site': undefined })
      return null
    } catch (error) {
      return problemErrorOf(error)
    }
  }

  function watch(opened: OpenSocket, principal: Principal, request: AdmissionRequest, peer: WebSocket): void {
    open.add(opened)
    const unwatch = rights.add({
      check: async () => (await admit({ ...request, again: principal })).refusal,
      end: (reason) => opened.fail(reason),
    })
    peer.once('close', () => {
      unwatch()
      open.delete(opened)
    })
  }

  async function run(
    opened: OpenSocket,
    requestId: string,
    principal: Principal,
    message: IncomingMessage,
    { handler, input }: { handler: AnyStreamHandler; input: AnyInput },
  ): Promise<void> {
    const context = createRequestContext({ principal, requestId, message, client, gone: opened.signal })
    try {
      await handler(input, context, opened)
      opened.close(1000)
    } catch (error) {
      if (error instanceof SocketGoneError || opened.signal.aborted) return
      opened.fail(reported(error, requestId))
    }
  }

  function reported(error: unknown, requestId: string): ProblemError {
    const problem = problemErrorOf(error)
    if (problem.code === 'internal_error') log.error({ err: error, requestId }, 'A stream failed.')
    return problem
  }

  function refuse(socket: Duplex, message: IncomingMessage, requestId: string, error: unknown): void {
    const path = (message.url ?? '/').split('?', 1)[0]!
    const { status, headers, problem } = problemAnswer(reported(error, requestId), { requestId, path })
    const body = Buffer.from(JSON.stringify(problem))
    const lines = Object.entries({
      ...apiHeaders,
      ...headers,
      'x-request-id': requestId,
      'content-length': String(body.length),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(
      Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`), body]),
    )
  }
}
