import { Readable } from 'node:stream'
import type { Operation } from '@stackquay/contract'
import { takesIdempotencyKey } from '@stackquay/contract/openapi/idempotency'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerOf } from './answer.ts'
import type { AnyHandler } from './bind.ts'
import { bytesOf, partOf } from './byte-range.ts'
import type { ClientReader } from './client.ts'
import type { RecordDenial } from './denials.ts'
import type { Reply } from './handler.ts'
import type { Answer, Idempotency } from './idempotency.ts'
import { parserOf } from './parse.ts'
import { ifNoneMatchHits } from './preconditions.ts'
import { problemAnswer, problemErrorOf } from './problem-answer.ts'
import { createRequestContext } from './request-context.ts'
import { requireRaised } from './rights.ts'
import { secureCookieLine } from './secure-cookie.ts'

export interface CallsDeps {
  readonly client: ClientReader
  readonly idempotency: Idempotency
  readonly recordDenial: RecordDenial
}

/** What leaves: an answer whole, or chunk by chunk. */
interface Sent extends Answer<string | Buffer> {
  readonly stream?: AsyncIterable<string | Uint8Array>
  readonly part?: Reply<unknown>['part'] | undefined
  readonly length?: number | undefined
  readonly isLive?: boolean | undefined
}

type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** An operation behind the admission hook: parse, refuse what the parsed parts raise, run at most once per key, answer. */
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
          requireRaised(principal, operation, input)
          const result = await handler(input, context)
          if (result.cookies !== undefined) setCookies(reply, result.cookies, client.isSecure(message))
          if (result.stream !== undefined)
            return { ...answerOf(result), stream: result.stream, part: result.part, length: result.length }
          return { ...answerOf(result), isLive: result.isLive }
        } catch (error) {
          // A refusal that only the parsed request or the handler tells is recorded like one of the admission hook.
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

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body, stream, part, length, isLive }: Sent,
): FastifyReply {
  const { etag } = headers
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (
    isRead &&
    isLive !== true &&
    etag !== undefined &&
    ifNoneMatchHits(request.headers['if-none-match'], etag.slice(1, -1))
  ) {
    return reply.code(304).header('etag', etag).send()
  }
  reply.code(status).headers(headers)
  if (stream !== undefined && length !== undefined && etag !== undefined)
    return sendBytes(request, reply, { stream, part, length, etag })
  // A HEAD of what is still to be made is answered without making it.
  if (stream !== undefined)
    return reply.send(request.method === 'HEAD' ? '' : Readable.from(stream, { objectMode: false }))
  if (body === '') return reply.send()
  // A text leaves in one write together with its head; but to one of problem+json Fastify would add a charset.
  return reply.send(status < 400 ? body : Buffer.from(body))
}

/** What has a length and a validator can be gone on with after it broke. */
function sendBytes(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  {
    stream,
    part: partOnly,
    length,
    etag,
  }: NonNullable<Pick<Sent, 'part'>> & { stream: NonNullable<Sent['stream']>; length: number; etag: string },
): FastifyReply {
  reply.header('accept-ranges', 'bytes')
  const part =
    method === 'GET' ? partOf({ range: headers.range, 'if-range': ifRangeOf(headers) }, etag, length) : 'whole'
  if (part === 'unsatisfiable') {
    leave(stream)
    return reply.code(416).header('content-range', `bytes */${length}`).send()
  }
  const { from, to } = part === 'whole' ? { from: 0, to: length - 1 } : part
  if (part !== 'whole') reply.code(206).header('content-range', `bytes ${from}-${to}/${length}`)
  reply.header('content-length', String(to + 1 - from))
  if (method === 'HEAD' || length === 0) {
    leave(stream)
    return reply.send('')
  }
  if (part === 'whole' || partOnly === undefined)
    return reply.send(Readable.from(bytesOf(stream, { from, to }), { objectMode: false }))
  leave(stream)
  const bytes = bytesOf(partOnly(part), { from: 0, to: to - from })
  return reply.send(Readable.from(bytes, { objectMode: false }))
}

/** What nobody will read is let go, so that its source does not wait. */
function leave(stream: AsyncIterable<string | Uint8Array>): void {
  stream[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined)
}

function ifRangeOf({ 'if-range': value }: FastifyRequest['headers']): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function setCookies(reply: FastifyReply, lines: readonly string[], secure: boolean): void {
  reply.header('set-cookie', secure ? lines.map(secureCookieLine) : [...lines])
}

export function pathOf({ url }: FastifyRequest): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
