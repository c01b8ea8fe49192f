import type { ClientHttp2Stream } from 'node:http2'
import { OpenNote } from '../access/open-note.ts'
import { brokenError, type ErrorResponse, timeoutError, unreachableError } from '../error-responses.ts'
import { changedResponse } from '../gate/approach.ts'
import { responseHeaders } from '../headers.ts'
import type { RequestContext } from '../request-context.ts'
import { type Lease, leaseSession } from './grpc-sessions.ts'
import { answerHead, fieldsOf, lowerCase, sayError, sendHead } from './h2-answer.ts'
import type { H2Call } from './h2-exchange.ts'

const { constants } = process.getBuiltinModule('node:http2')

/** gRPC needs HTTP/2 on the whole way: its status is in trailers, and both sides speak at the same time. */
export function isGrpc({ request, context }: H2Call): boolean {
  return context.route.target !== null && /^application\/grpc\b(?!-web)/i.test(request.headers['content-type'] ?? '')
}

/** Carries one call to a project that speaks HTTP/2 without TLS, and what it says back, each side as fast as the slower one. */
export async function carryGrpc(call: H2Call): Promise<void> {
  const { state, stream, context } = call
  const { route } = context
  const note = new OpenNote(state, call.request.message, context)
  const pool = state.upstreams.to(route)!
  const landed = pool.addTunnel()
  route.use.begin()
  let lease: Lease | null = null
  stream.once('close', () => {
    lease?.release()
    landed()
    route.use.end()
    note.close()
  })
  try {
    lease = await leaseSession(pool, route.target!, state.limits)
  } catch {
    say(call, note, unreachableError(route.spec.project, route.target!))
    return
  }
  // Also before it is known: its listener has run.
  if (stream.destroyed || stream.closed) lease.release()
  else new GrpcCall(call, note, lease).start()
}

function say({ stream, request }: H2Call, note: OpenNote, error: ErrorResponse): void {
  note.status = error.status
  note.by = 'page'
  stream.resume()
  void sayError(stream, request, error).then((bytes) => {
    note.bytes = bytes
  })
}

class GrpcCall {
  readonly #call: H2Call
  readonly #note: OpenNote
  readonly #lease: Lease
  #trailers: string[] | null = null
  #isOver = false

  constructor(call: H2Call, note: OpenNote, lease: Lease) {
    this.#call = call
    this.#note = note
    this.#lease = lease
  }

  start(): void {
    const { stream, state, context } = this.#call
    let up: ClientHttp2Stream
    try {
      const head = upstreamHead(this.#call.request.method, context)
      up = this.#lease.session.request(head as unknown as Parameters<Lease['session']['request']>[0], {
        endStream: stream.endAfterHeaders,
      })
    } catch {
      // It was closed just now.
      this.#fail(brokenError(context.route.spec.project))
      return
    }
    const late = setTimeout(() => {
      this.#fail(timeoutError(context.route.spec.project, Math.round(state.limits.answerWithin / 1_000)))
      up.close(constants.NGHTTP2_CANCEL)
    }, state.limits.answerWithin).unref()
    this.#sendOn(up)
    up.once('response', (_fields, flags, raw) => {
      clearTimeout(late)
      this.#onHead(raw as unknown as readonly string[], (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0)
    })
    up.on('trailers', (_fields, _flags, raw) => {
      this.#trailers = raw as unknown as string[]
    })
    up.on('data', (chunk: Buffer) => {
      this.#note.bytes += chunk.length
      if (stream.write(chunk)) return
      up.pause()
      // A client that takes nothing holds memory of the connection that all calls to the project share.
      stream.setTimeout(state.limits.readerIdle)
    })
    stream.on('timeout', () => stream.close(constants.NGHTTP2_CANCEL))
    stream.on('drain', () => {
      stream.setTimeout(0)
      up.resume()
    })
    up.once('end', () => {
      if (up.rstCode === constants.NGHTTP2_NO_ERROR && !up.aborted) stream.end()
    })
    up.on('error', () => {})
    up.once('close', () => {
      clearTimeout(late)
      this.#onProjectEnd(up.rstCode)
    })
    stream.once('close', () => {
      this.#isOver = true
      // A client whose deadline has come, or that has seen enough.
      if (!up.closed) up.close(constants.NGHTTP2_CANCEL)
    })
  }

  #sendOn(up: ClientHttp2Stream): void {
    const { stream } = this.#call
    if (stream.endAfterHeaders) return
    stream.on('data', (chunk: Buffer) => {
      if (!up.write(chunk)) stream.pause()
    })
    up.on('drain', () => stream.resume())
    stream.once('end', () => {
      // A stream that is reset ends like one that is complete.
      if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR) up.close(constants.NGHTTP2_CANCEL)
      else up.end()
    })
  }

  #onHead(raw: readonly string[], isAll: boolean): void {
    const { stream, request, changes } = this.#call
    const { status, fields } = split(raw)
    const own = responseHeaders(fields, status)
    const headers = changes === null ? own : changedResponse(own, changes)
    this.#note.status = status
    if (!isAll)
      stream.once('wantTrailers', () => stream.sendTrailers(fieldsOf(responseHeaders(this.#trailers ?? [], 200))))
    sendHead(stream, answerHead(request, status, headers), isAll, !isAll)
  }

  #onProjectEnd(code: number | undefined): void {
    const { stream, context } = this.#call
    if (this.#isOver || stream.writableEnded) return
    if (!stream.headersSent) this.#fail(brokenError(context.route.spec.project))
    else if (!stream.closed) stream.close(code === constants.NGHTTP2_NO_ERROR ? constants.NGHTTP2_INTERNAL_ERROR : code)
  }

  #fail(error: ErrorResponse): void {
    if (this.#isOver) return
    this.#isOver = true
    say(this.#call, this.#note, error)
  }
}

function upstreamHead(method: string, { path, headers, body }: RequestContext): string[] {
  // `host` comes first.
  const head = [':method', method, ':scheme', 'http', ':authority', headers[1]!, ':path', path]
  for (let index = 2; index < headers.length; index += 2) head.push(lowerCase(headers[index]!), headers[index + 1]!)
  if (body !== null && body !== 'chunked') head.push('content-length', body.length)
  // Taken away as a word between two neighbours; servers of gRPC insist on it.
  head.push('te', 'trailers')
  return head
}

function split(raw: readonly string[]): { readonly status: number; readonly fields: string[] } {
  let status = 502
  const fields: string[] = []
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index] === ':status') status = Number(raw[index + 1])
    else fields.push(raw[index]!, raw[index + 1]!)
  }
  return { status, fields }
}
