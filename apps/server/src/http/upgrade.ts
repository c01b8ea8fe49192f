import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ProblemError } from '@stackquay/contract'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ClientReader } from './client.ts'
import { SocketGoneError } from './frame-sender.ts'
import { type OpenSocket, openFrameSocket } from './frame-socket.ts'
import type { RequestContext } from './handler.ts'
import { problemErrorOf } from './problem-answer.ts'
import { problemBytes } from './problem-bytes.ts'
import { createRequestContext, renewPrincipal } from './request-context.ts'
import { requestIdOf } from './request-id.ts'
import type { RightsWatch } from './rights-watch.ts'
import { type AdmittedStream, createStreamAdmission, type StreamAdmissionDeps } from './stream-admission.ts'
import { takeTicket } from './ticket-address.ts'

export interface UpgradeDeps extends StreamAdmissionDeps {
  readonly client: ClientReader
  readonly rights: RightsWatch
  readonly log: { error(details: object, message: string): void }
}

export interface Upgrades {
  /** Node's 'upgrade' event. Until a request is let in, every answer is plain HTTP. */
  accept(message: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Tells every peer that the service goes away, and waits for the sockets to close. */
  close(): Promise<void>
}

export function createUpgrades(deps: UpgradeDeps): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: 64 * 1024,
    perMessageDeflate: false,
    clientTracking: true,
  })
  const admitStream = createStreamAdmission(deps)
  const open = new Set<OpenSocket>()
  let stopping = false

  return {
    accept(message, socket, head) {
      message.url = takeTicket(message)
      const requestId = requestIdOf(message)
      // A peer that resets the connection while it is being judged is no matter for the log.
      socket.on('error', () => socket.destroy())
      const admitted = stopping ? Promise.reject(isStopping()) : admitStream(message, requestId)
      admitted.then(
        (stream) => server.handleUpgrade(message, socket, head, (peer) => begin(stream, peer, requestId, socket)),
        (error: unknown) => {
          const path = (message.url ?? '/').split('?', 1)[0]!
          socket.end(problemBytes(reported(error, requestId, deps), { requestId, path }))
        },
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

  function begin(stream: AdmittedStream, peer: WebSocket, requestId: string, connection: Duplex): void {
    const opened = openFrameSocket(peer, connection, requestId)
    open.add(opened)
    const { principal, request } = stream
    const { client } = deps
    const parts = { principal, requestId, message: request.message, client, gone: opened.signal }
    const context = createRequestContext(parts)
    const unwatch = watchRights(stream, context, opened, deps)
    peer.once('close', () => {
      unwatch()
      open.delete(opened)
    })
    void run(stream, context, opened, deps)
  }
}

function watchRights(
  { principal, request }: AdmittedStream,
  context: RequestContext,
  opened: OpenSocket,
  { admit, rights }: UpgradeDeps,
): () => void {
  return rights.add({
    check: async () => {
      const now = await admit({ ...request, again: principal })
      if (now.refusal === null) renewPrincipal(context, now.principal)
      return now.refusal
    },
    end: (reason) => opened.fail(reason),
  })
}

async function run(
  { handler, input }: AdmittedStream,
  context: RequestContext,
  opened: OpenSocket,
  deps: UpgradeDeps,
): Promise<void> {
  try {
    await handler(input, context, opened)
    opened.close(1000)
  } catch (error) {
    if (error instanceof SocketGoneError || opened.signal.aborted) return
    opened.fail(reported(error, context.requestId, deps))
  }
}

function reported(error: unknown, requestId: string, { log }: UpgradeDeps): ProblemError {
  const problem = problemErrorOf(error)
  if (problem.code === 'internal_error') log.error({ err: error, requestId }, 'A stream failed.')
  return problem
}

function isStopping(): ProblemError {
  return new ProblemError('unavailable', 'The service is stopping.')
}
