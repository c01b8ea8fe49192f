import type { IncomingHttpHeaders as Http2Headers, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { noteRefusal } from '../access/open-note.ts'
import { badRequestError, type ErrorResponse, misdirectedError } from '../error-responses.ts'
import { changedRequest, checkRequest } from '../gate/approach.ts'
import type { Decision } from '../gate/gate.ts'
import { readRequestContext } from '../request-context.ts'
import type { ProxyState } from '../state.ts'
import { carryGrpc, isGrpc } from './grpc.ts'
import { answerHead, sayError, sendHead } from './h2-answer.ts'
import { type H2Call, H2Exchange } from './h2-exchange.ts'
import { H2Request } from './h2-request.ts'
import { certificateOf } from './names.ts'
import { isMisdirected } from './policy.ts'

const { constants } = process.getBuiltinModule('node:http2')

/** Carries one request by HTTP/2 to the project of its host name, by the same rules as one by HTTP/1.1. */
export function serveStream(
  state: ProxyState,
  socket: Socket,
  stream: ServerHttp2Stream,
  headers: Http2Headers,
  raw: readonly string[],
): void {
  state.requests += 1
  // Its end is heard as `close`; without a listener an error would end the process.
  stream.on('error', () => {})
  const { host } = headers
  const authority = headers[':authority']
  const request = new H2Request(stream, socket, headers, raw)
  if (host !== undefined && authority !== undefined && host !== authority)
    refuse(stream, request, badRequestError('Its Host header is another than its authority.'))
  else begin(state, stream, request)
}

/** Also for a request that has waited: a new table may lead elsewhere, and have other rules. */
function begin(state: ProxyState, stream: ServerHttp2Stream, request: H2Request): void {
  const context = request.method === 'CONNECT' ? noTunnel : readRequestContext(state, request.message)
  if (!('route' in context)) {
    refuse(stream, request, context)
    return
  }
  if (request.method === 'TRACE') {
    refuse(stream, request, badRequestError('TRACE is not carried to projects.'))
    return
  }
  if (isMisdirected(certificateOf(request), context.host)) {
    refuse(stream, request, misdirectedError)
    return
  }
  // A body without a length is one all the same: its end is that of the stream.
  const body = context.body ?? (stream.endAfterHeaders ? null : 'chunked')
  const call: H2Call = {
    state,
    stream,
    request,
    context: body === context.body ? context : { ...context, body },
    changes: null,
    again: () => begin(state, stream, request),
  }
  const { gate } = context.route
  if (gate === null) {
    carry(call)
    return
  }
  const { routes } = state
  const decision = checkRequest(state, gate, request.message, context, false)
  if (decision instanceof Promise) {
    decision
      .then((late) => {
        if (stream.destroyed) return
        // While a password was looked at, the route may have become another; what was right is remembered.
        if (late.pass && state.routes !== routes) begin(state, stream, request)
        else goOn(call, late)
      })
      .catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  } else goOn(call, decision)
}

function carry(call: H2Call): void {
  if (isGrpc(call)) void carryGrpc(call)
  else new H2Exchange(call).start()
}

const noTunnel = badRequestError('CONNECT is not carried to projects.')

function goOn(call: H2Call, decision: Decision): void {
  const { state, stream, request, context } = call
  if (!decision.pass) {
    const { answer } = decision
    noteRefusal(state, request.message, context, decision, stream)
    if (answer.error !== null) {
      const { error } = answer
      // The page of a form leads back to where the person wanted to go.
      const shown = error.form === undefined ? error : { ...error, form: { next: context.path, ...error.form } }
      refuse(stream, request, shown, answer.headers)
      return
    }
    const length = answer.status === 204 ? [] : ['content-length', '0']
    sendHead(stream, answerHead(request, answer.status, [...answer.headers.flat(), ...length]), true)
    throwAwayBody(stream)
    return
  }
  const changes = decision.request
  const changed = changes === null ? context : { ...context, headers: changedRequest(context.headers, changes) }
  for (const one of [context.route.share, decision.by])
    if (one !== null)
      stream.once(
        'close',
        state.shareEnds.add(one, () => stream.close(constants.NGHTTP2_CANCEL)),
      )
  carry({ ...call, context: changed, changes: decision.response })
}

function refuse(
  stream: ServerHttp2Stream,
  request: H2Request,
  error: ErrorResponse,
  headers: readonly (readonly [string, string])[] = [],
): void {
  void sayError(stream, request, error, headers)
  throwAwayBody(stream)
}

/** The answer does not depend on the rest of the request: the client need not send it (RFC 9113, 8.1). */
function throwAwayBody(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) return
  stream.resume()
  stream.once('finish', () => {
    if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
  })
}
