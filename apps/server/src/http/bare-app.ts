import { operationList } from '@stackquay/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { answerBrokenRequest } from './broken-request.ts'
import { bodyLimit, readJson } from './read-body.ts'
import { requestIdOf } from './request-id.ts'
import { apiHeaders } from './security-headers.ts'
import type { SendProblem } from './send-problem.ts'
import { streamOf } from './stream-body.ts'
import { takeTicket } from './ticket-address.ts'

/** Fastify as the service has it, without routes: its limits, ids of requests, headers of every answer, bodies, and problems for whatever goes wrong. */
export function createBareApp(sendProblem: SendProblem): FastifyInstance {
  const app = createFastify((error, request, reply) => {
    setHeaders(request, reply)
    sendProblem(error, request, reply)
  })
  app.decorateRequest('principal')
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) =>
    isRaw(request) ? bytes : readJson(bytes),
  )
  // The operations that name the type alone get here: every other has refused the media type, or takes no body and does not read it.
  app.addContentTypeParser(streamTypes, (_request, payload, done) => done(null, streamOf(payload)))
  app.setErrorHandler(sendProblem)
  return app
}

/** Signed bytes are read as JSON by who has checked the signature. */
function isRaw({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as { rawBody?: boolean }).rawBody === true
}

const streamed = operationList.flatMap(({ bodyStream, bodyTypes }) =>
  bodyStream === true ? [...(bodyTypes ?? [])] : [],
)
const streamTypes = [...new Set(streamed)]

function createFastify(
  onMalformed: (error: Error, request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  return Fastify({
    bodyLimit,
    rewriteUrl: (request) => {
      const url = takeTicket(request as FastifyRequest['raw'])
      // Fastify keeps the address as it came; nothing may.
      if (url !== request.url) Object.assign(request, { originalUrl: url })
      return url
    },
    genReqId: (message) => requestIdOf(message as FastifyRequest['raw']),
    // A body of any size may take its time (`streamOf`); those that are parsed have `bodyMs`.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    // `?wait=300` holds a connection without a byte for five minutes, so idle sockets are bounded by the headers' time alone.
    connectionTimeout: 0,
    http: {
      headersTimeout: 15_000,
      maxHeaderSize: 16 * 1024,
      // Others, such as curl's h2c, go on as plain HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
    routerOptions: { maxParamLength: 300 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    exposeHeadRoutes: true,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: onMalformed,
  })
}

/** Schemas are parsed by the contract's operations; Fastify's own compilers are not even loaded, which is 540 KB of code. */
function noSchemas(): never {
  throw new Error('A route has a schema of Fastify. Describe it in the contract.')
}

function setHeaders({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.headers(apiHeaders).header('x-request-id', id)
}
