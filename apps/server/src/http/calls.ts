import { Readable } from 'node:stream'
import type { Operation } from '@stackquay/contract'
import { takesIdempotencyKey } from '@stackquay/contract/openapi'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerOf } from './answer.ts'
import type { AnyHandler } from './bind.ts'
import type { ClientReader } from './client.ts'
import type { RecordDenial } from './denials.ts'
import type { Answer, Idempotency } from './idempotency.ts'
import { parserOf } from './parse.ts'
import { ifNoneMatchHits } from './preconditions.ts'
import { problemAnswer, problemErrorOf } from './problem-answer.ts'
import { createRequestContext } from './request-context.ts'

export interface CallsDeps {
  readonly client: ClientReader
  readonly idempotency: Idempotency
  readonly recordDenial: RecordDenial
}

/** What leaves: an answer whole, or piece by piece. */
interface Sent extends Answer<string | Buffer> {
  readonly stream?: AsyncIterable<string | Uint8Array>
}

type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** An operation behind the entrance: parse, run at most once per key, answer. */
export function createCalls({ client, idempotency, recordDenial }: CallsDeps) {
  return function callOf(operation: Operation, handler: AnyHandler): RouteHandler {
    const parse = parserOf(operation)
    const mayBeKeyed = takesIdempotencyKey(operation)
    return async (request, reply) => {
      const { raw: message, id: requestId, principal } = request
      const context = createRequestContext({ principal, requestId, message, client, gone: reply.raw })
      const input = parse(request)
      const work = async (): Promise<Sent> => {
        try {
          const result = await handler(input, context)
          if (result.cookies !== undefined) setCookies(reply, result.cookies, client.isSecure(message))
          if (result.stream !== undefined) return { ...answerOf(result), stream: result.stream }
          return answerOf(result)
        } catch (error) {
          // A refusal that only the handler could know of is recorded like one at the entrance.
          await recordDenial(operation, request, error)
          throw error
        }
      }
      const key = mayBeKeyed ? message.headers['idempotency-key'] : undefined
      if (typeof key !== 'string' || principal.kind === 'anonymous') return send(request, reply, await work())
      const keyed = { operation, principal, key, url: request.url, body: request.body }
      return send(request, reply, await idempotency.run(keyed, () => keepable(request, work)))
    }
  }
}

/** Under a key, a problem is an answer to keep like any other; what nobody foresaw is not. */
async function keepable(request: FastifyRequest, work: () => Promise<Answer<string | Buffer>>): Promise<Answer> {
  try {
    const answer = await work()
    return { ...answer, body: answer.body.toString() }
  } catch (error) {
    const foreseen = problemErrorOf(error)
    if (foreseen.code === 'internal_error') throw error
    const { status, headers, problem } = problemAnswer(foreseen, { requestId: request.id, path: pathOf(request) })
    return { status, headers, body: JSON.stringify(problem) }
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { status, headers, body, stream }: Sent): FastifyReply {
  const { etag } = headers
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && etag !== undefined && ifNoneMatchHits(request.headers['if-none-match'], etag.slice(1, -1))) {
    return reply.code(304).header('etag', etag).send()
  }
  reply.code(status).headers(headers)
  // A HEAD of what is still to be made is answered without making it.
  if (stream !== undefined)
    return reply.send(request.method === 'HEAD' ? '' : Readable.from(stream, { objectMode: false }))
  if (body === '') return reply.send()
  // A text leaves in one write together with its head; but to one of problem+json Fastify would add a charset.
  return reply.send(status < 400 ? body : Buffer.from(body))
}

function setCookies(reply: FastifyReply, lines: readonly string[], secure: boolean): void {
  reply.header('set-cookie', secure ? lines.map((line) => `${line}; Secure`) : [...lines])
}

export function pathOf({ url }: FastifyRequest): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
