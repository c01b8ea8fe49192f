import type { IncomingMessage } from 'node:http'
import { apiPrefix, operations, ProblemError, problemOf } from '@stackquay/contract'
import type { ApiAnswer, ApiRequest, Caller, CallOptions } from '@stackquay/mcp'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Principal } from '../http/handler.ts'
import type { HttpKit } from '../http/kit.ts'
import { createRequestContext } from '../http/request-context.ts'
import type { Masking } from './masking.ts'

/** A request to `/mcp` that was let in. */
export interface Visit {
  readonly message: IncomingMessage
  readonly requestId: string
  readonly principal: Principal & { readonly kind: 'token' }
}

export interface CallerDeps extends Pick<HttpKit, 'admit' | 'recordDenial' | 'denied' | 'client'> {
  readonly app: Pick<FastifyInstance, 'inject'>
  readonly masking: Masking
}

/** More than that nobody reads; what is longer is asked for in parts. */
const mostBytes = 4 << 20

/**
 * Calls operations as the caller of a visit: through the service’s own routes, with the credentials that came, in this process. So a
 * tool can do what its token can at that moment, and every check, audit entry and limit of the API is the tool’s too.
 */
export function callerOf(visit: Visit, deps: CallerDeps): Caller {
  const { principal, message, requestId } = visit
  const { app, masking, admit, recordDenial, denied, client } = deps
  const mask = masking()
  return {
    id: principal.token.id,
    async call(request, options) {
      const answer = await callIn(app, message, request, options)
      // A problem may quote the last lines of a program, wherever it is told.
      if (answer.status < 400) return answer
      return { ...answer, json: await mask(answer.json, request.params.id === undefined ? [] : [request.params.id]) }
    },
    async refusalOf({ operation: id, params }) {
      const operation = operations[id]
      const { principal, refusal } = await admit({ operation, params, message })
      if (refusal === null) return null
      await recordDenial(operation, { id: requestId, principal, params, raw: message }, refusal)
      return problemOf(refusal, { requestId })
    },
    mask,
    async recordRefused({ tool, project, reason }) {
      const context = createRequestContext({ principal, requestId, message, client, gone: never })
      await denied.record(
        context.audit({ action: 'mcp.confirm', target: tool, project, outcome: 'denied', changes: { reason } }),
      )
    },
  }
}

const never = new AbortController().signal

async function callIn(
  app: CallerDeps['app'],
  message: IncomingMessage,
  { operation: id, params, query, body, headers = {} }: ApiRequest,
  { signal, timeLimit }: CallOptions = {},
): Promise<ApiAnswer> {
  const operation = operations[id]
  const url = apiPrefix + operation.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(params[name]))
  const isBytes = 'bodyStream' in operation
  const limit = timeLimit === undefined ? null : AbortSignal.timeout(timeLimit)
  const ended = AbortSignal.any([signal, limit].filter((one) => one !== null && one !== undefined))
  const sent = {
    method: operation.method,
    url,
    query: { ...query },
    remoteAddress: message.socket.remoteAddress ?? '127.0.0.1',
    headers: {
      ...passedOn(message),
      ...headers,
      ...(body === undefined ? {} : { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
    },
    ...(body === undefined ? {} : { payload: isBytes ? (body as string) : JSON.stringify(body) }),
    payloadAsStream: true,
    signal: ended,
  } as const satisfies InjectOptions
  let status = 504
  let etag: string | null = null
  let type = ''
  const chunks: Buffer[] = []
  let size = 0
  let broken: ApiAnswer['broken'] = null
  let leave: () => void = () => undefined
  try {
    const answer = await app.inject(sent)
    // What goes on for whoever reads it ends when it hears that nobody does any more, as it would of a connection.
    leave = () => void answer.raw.res.emit('close')
    status = answer.statusCode
    etag = String(answer.headers.etag ?? '').replace(/^"(.*)"$/, '$1') || null
    type = String(answer.headers['content-type'] ?? '')
    for await (const chunk of answer.stream()) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size <= mostBytes) continue
      broken = 'size'
      break
    }
  } catch (error) {
    if (limit?.aborted !== true) throw error
    broken = 'time'
    if (status === 504) status = 200
  } finally {
    if (broken !== null || signal?.aborted === true) leave()
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status, etag, text, broken, json: broken === null && /json(;|$)/.test(type) ? jsonOf(text) : undefined }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Many values, one in each line.
    return undefined
  }
}

/** One part of a path, and no way out of it. */
function segment(value: string | undefined): string {
  if (value !== undefined && value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value)
  throw new ProblemError('invalid_request', `"${value ?? ''}" is no name.`)
}

/** What tells who asks, and whence. */
function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const names = [
    'authorization',
    'user-agent',
    'host',
    'x-forwarded-for',
    'x-forwarded-proto',
    'forwarded',
    'x-real-ip',
  ]
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [])),
  )
}
