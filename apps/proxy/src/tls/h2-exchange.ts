import type { ServerHttp2Stream } from 'node:http2'
import { OpenNote } from '../access/open-note.ts'
import { copyOf } from '../copies.ts'
import {
  brokenError,
  type ErrorResponse,
  idleBodyError,
  pageError,
  timeoutError,
  unreachableError,
} from '../error-responses.ts'
import { changedResponse } from '../gate/approach.ts'
import type { ResponseChanges } from '../gate/gate.ts'
import { responseHeaders } from '../headers.ts'
import type { RequestContext } from '../request-context.ts'
import type { PageTarget } from '../route-table.ts'
import type { ProxyState } from '../state.ts'
import type { AnswerHead, Framing } from '../upstream/answer-head.ts'
import type { RequestConnection, UpstreamExchange, UpstreamFailure } from '../upstream/exchange.ts'
import type { UpstreamPool } from '../upstream/pool.ts'
import { requestHead } from '../upstream/request-head.ts'
import { waitForTable } from '../wait-for-table.ts'
import { answerHead, fieldsOf, sayError, sendHead } from './h2-answer.ts'
import { H2Body } from './h2-body.ts'
import type { H2Request } from './h2-request.ts'

const { constants } = process.getBuiltinModule('node:http2')

/** One request by HTTP/2 that was let in. */
export interface H2Call {
  readonly state: ProxyState
  readonly stream: ServerHttp2Stream
  readonly request: H2Request
  readonly context: RequestContext
  readonly changes: ResponseChanges | null
  /** The same request from the start, by the present table. */
  again(): void
}

/**
 * One request and its answer, chunk by chunk, each side as fast as the slower one; the counterpart of `Exchange` in `forward.ts`, with
 * the same promise: an answer that looks complete is complete. When the project breaks off in the middle, the stream is reset.
 */
export class H2Exchange implements UpstreamExchange {
  readonly method: string
  readonly hasBody: boolean
  readonly isChunked: boolean
  readonly #call: H2Call
  readonly #note: OpenNote
  /** The table that it was let in by. */
  readonly #routes: ProxyState['routes']
  #pool: UpstreamPool | undefined
  #connection: RequestConnection | undefined
  #body: H2Body | undefined
  #attempts = 0
  /** Arrived, and not sent before it is known whether a body follows. */
  #head: string[] | null = null
  /** What can follow the body has to be said with the head. */
  #mayHaveTrailers = false
  #trailers: readonly string[] = []
  /** Bytes of the body still to come, when the project said how many; -1 when it did not. */
  #remaining = -1
  /** The client is behind. */
  #isFull = false
  /** Nothing more comes from the project. */
  #isOver = false
  #gone = false
  /** The project has it: that counts as use until it is answered. */
  #isUse = false

  constructor(call: H2Call) {
    const { state, stream, request, context } = call
    const { body } = context
    this.method = request.method
    this.isChunked = body === 'chunked'
    this.hasBody = this.isChunked || (body !== null && Number((body as { length: string }).length) > 0)
    this.#call = call
    this.#note = new OpenNote(state, request.message, context)
    this.#routes = state.routes
    stream.once('close', this.#onClientClose)
  }

  start(fresh = false): void {
    const { state, context } = this.#call
    const pool = state.upstreams.to(context.route)
    if (pool === null) {
      this.#answerPage()
      return
    }
    this.#attempts += 1
    this.#beginUse()
    this.#pool = pool
    pool.send(this, fresh)
  }

  #answerPage(): void {
    const { spec } = this.#call.context.route
    const target = spec.target as PageTarget
    const error = pageError({ ...spec, target })
    if (target.holdUntil === undefined && target.wakeWithin === undefined) {
      this.#say(error)
      return
    }
    void this.#waitForTable(target).then((again) => {
      if (this.#gone || this.#call.stream.destroyed) return
      if (again) this.#beginAnew()
      else this.#say(error)
    })
  }

  /** A request that begins anew has a note of its own, and passes the present rules of its route. */
  #beginAnew(): void {
    this.#call.stream.off('close', this.#onClientClose)
    this.#endUse()
    this.#call.again()
  }

  #waitForTable(target: Pick<PageTarget, 'holdUntil' | 'wakeWithin'>): Promise<boolean> {
    const { state, stream, request, context } = this.#call
    const gone = new AbortController()
    const leave = () => gone.abort()
    stream.once('close', leave)
    return waitForTable(state, context.route.project, request.message, target, gone.signal).finally(() =>
      stream.off('close', leave),
    )
  }

  #beginUse(): void {
    if (this.#isUse) return
    this.#isUse = true
    this.#call.context.route.use.begin()
  }

  #endUse(): void {
    if (!this.#isUse) return
    this.#isUse = false
    this.#call.context.route.use.end()
  }

  get head(): string {
    const { path, headers, body } = this.#call.context
    return requestHead(this.method, path, headers, body)
  }

  onConnection(connection: RequestConnection): void {
    this.#connection = connection
    if (!this.hasBody) return
    const { state, stream, context } = this.#call
    if (context.expects) stream.additionalHeaders({ ':status': 100 })
    this.#body = new H2Body(stream, connection, state.limits.bodyIdle, {
      onIdle: () => this.#onBodyIdle(),
      onBroken: () => this.#leaveProject(),
    })
  }

  onDrain(): void {
    this.#body?.resume()
  }

  onInformation({ status, headers: raw }: AnswerHead): void {
    const { stream } = this.#call
    // 101 has no meaning here (RFC 9113, 8.6).
    if (status === 100 || status === 101 || stream.headersSent || stream.destroyed || stream.closed) return
    stream.additionalHeaders({ ...fieldsOf(responseHeaders(raw, status)), ':status': status })
  }

  onHead({ status, headers: raw }: AnswerHead, framing: Framing, length: number): void {
    const { request, changes } = this.#call
    const own = responseHeaders(raw, status)
    const headers = changes === null ? own : changedResponse(own, changes)
    this.#remaining = length
    this.#mayHaveTrailers = framing === 'chunked'
    this.#head = answerHead(request, status, headers)
    this.#note.status = status
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    const { stream, state } = this.#call
    const size = end - start
    this.#flush(false)
    this.#note.bytes += size
    const { bytes: chunk, done } = copyOf(bytes, start, end)
    if (this.#remaining > 0) {
      this.#remaining -= size
      if (this.#remaining === 0) {
        stream.end(chunk, done)
        return
      }
    }
    if (stream.write(chunk, done) || stream.writableLength < state.limits.answerAhead / 2 || this.#isFull) return
    this.#isFull = true
    this.#connection!.pause()
    this.#watchReader()
    stream.once('drain', () => {
      this.#isFull = false
      stream.setTimeout(0)
      this.#connection?.resume()
    })
  }

  onPause(): void {
    // A head alone must not wait for its body.
    this.#flush(false)
  }

  onEnd(trailers: readonly string[]): void {
    const { stream } = this.#call
    this.#isOver = true
    this.#connection = undefined
    this.#body?.stop()
    if (this.#head !== null) this.#flush(trailers.length === 0)
    this.#trailers = responseHeaders(trailers, 200)
    if (!stream.writableEnded) stream.end()
    if (stream.writableLength > 0) this.#watchReader()
    this.#endUpload()
  }

  onFailure(failure: UpstreamFailure): void {
    const { stream } = this.#call
    this.#connection = undefined
    this.#body?.stop()
    if (this.#gone) return
    if (stream.headersSent) {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      return
    }
    this.#head = null
    if (!this.#mayRetry(failure)) this.#say(this.#errorOf(failure))
    else if (failure === 'refused') void this.#retrySoon()
    else this.#retry(true)
  }

  /** Once, and only what is harmless: see `Exchange`. */
  #mayRetry(failure: UpstreamFailure): boolean {
    if (this.#attempts > 1 || this.#body !== undefined || failure === 'timeout') return false
    return failure === 'refused' || (!this.hasBody && (this.method === 'GET' || this.method === 'HEAD'))
  }

  async #retrySoon(): Promise<void> {
    await this.#waitForTable({ holdUntil: Date.now() + this.#call.state.limits.refusedWait })
    this.#retry(false)
  }

  /** Another table may lead elsewhere, and have other rules. */
  #retry(fresh: boolean): void {
    if (this.#gone) return
    if (this.#call.state.routes === this.#routes) this.start(fresh)
    else this.#beginAnew()
  }

  #errorOf(failure: UpstreamFailure): ErrorResponse {
    const { context, state } = this.#call
    const { spec, target } = context.route
    const { project } = spec
    switch (failure) {
      case 'refused':
        return unreachableError(project, target!)
      case 'timeout':
        return timeoutError(project, Math.round(state.limits.answerWithin / 1000))
      case 'broken':
        return brokenError(project)
      default:
        return failure satisfies never
    }
  }

  /** The head goes out, if it did not. */
  #flush(isAll: boolean): void {
    const head = this.#head
    if (head === null) return
    const { stream } = this.#call
    const trailers = this.#mayHaveTrailers && !isAll
    sendHead(stream, head, isAll, trailers)
    if (trailers) stream.once('wantTrailers', () => this.#sendTrailers())
    // Only now: a body that is written without it would be sent with a head that Node makes up, status 200.
    this.#head = null
  }

  #sendTrailers(): void {
    this.#call.stream.sendTrailers(fieldsOf(this.#trailers))
  }

  #say(error: ErrorResponse): void {
    const { stream, request } = this.#call
    const note = this.#note
    note.status = error.status
    note.by = 'page'
    void sayError(stream, request, error).then((bytes) => {
      note.bytes = bytes
    })
    this.#endUpload()
  }

  /** The answer is there: what is still sent is thrown away, and need not be sent (RFC 9113, 8.1). */
  #endUpload(): void {
    const { stream } = this.#call
    if (stream.endAfterHeaders || stream.readableEnded) return
    stream.resume()
    stream.once('finish', () => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
    })
  }

  /** A client that takes nothing of what is there for it; every byte that it does take begins the time anew. */
  #watchReader(): void {
    const { stream, state } = this.#call
    stream.off('timeout', this.#onReaderIdle).setTimeout(state.limits.readerIdle, this.#onReaderIdle)
  }

  readonly #onReaderIdle = (): void => {
    this.#call.stream.close(constants.NGHTTP2_CANCEL)
  }

  #onBodyIdle(): void {
    const { stream } = this.#call
    this.#leaveProject()
    if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL)
    else this.#say(idleBodyError)
  }

  readonly #onClientClose = (): void => {
    // A stream that is reset looks as if everything had been written.
    if (!this.#isOver) this.#leaveProject()
    this.#endUse()
    this.#note.close()
  }

  #leaveProject(): void {
    this.#gone = true
    this.#body?.stop()
    if (this.#connection === undefined) this.#pool?.cancel(this)
    else this.#connection.abort()
    this.#connection = undefined
  }
}
