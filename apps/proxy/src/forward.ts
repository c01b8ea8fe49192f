import type { IncomingMessage, ServerResponse } from 'node:http'
import { noteRefusal, OpenNote } from './access/open-note.ts'
import { answer } from './answer.ts'
import { copyOf } from './copies.ts'
import {
  badRequestError,
  brokenError,
  type ErrorResponse,
  idleBodyError,
  pageError,
  timeoutError,
  unreachableError,
} from './error-responses.ts'
import { changedRequest, changedResponse, checkRequest, sendRefusal } from './gate/approach.ts'
import type { Decision, ResponseChanges } from './gate/gate.ts'
import { responseHeaders } from './headers.ts'
import { linger } from './linger.ts'
import { RequestBody } from './request-body.ts'
import { type RequestContext, readRequestContext } from './request-context.ts'
import type { PageTarget } from './route-table.ts'
import type { ProxyState } from './state.ts'
import { takeTurn } from './turns.ts'
import type { AnswerHead, Framing } from './upstream/answer-head.ts'
import type { RequestConnection, UpstreamExchange, UpstreamFailure } from './upstream/exchange.ts'
import type { UpstreamPool } from './upstream/pool.ts'
import { requestHead } from './upstream/request-head.ts'
import { waitForTable } from './wait-for-table.ts'

/** Carries one request to the project of its host name, and the answer back. */
export function forward(state: ProxyState, request: IncomingMessage, response: ServerResponse): void {
  state.requests += 1
  takeTurn(request.socket, response, state.limits.pipelined, () => {
    if (state.draining) response.shouldKeepAlive = false
    begin(state, request, response)
  })
}

/** Also for a request that has waited: a new table may lead elsewhere, and have other rules. */
function begin(state: ProxyState, request: IncomingMessage, response: ServerResponse): void {
  if (state.tls?.answersFirst(request, response)) return
  const context = readRequestContext(state, request)
  if (!('route' in context)) {
    refuse(request, response, context)
    return
  }
  const instead = state.tls === null ? null : state.tls.insteadOf(request, context)
  if (instead !== null) {
    goOn(state, request, response, context, { pass: false, by: 'redirects', answer: instead })
    return
  }
  // It would show a page's script what the proxy and the browser have put into the request.
  if (request.method === 'TRACE') {
    refuse(request, response, badRequestError('TRACE is not carried to projects.'))
    return
  }
  const { gate } = context.route
  if (gate === null) {
    new Exchange(state, request, response, context, null).start()
    return
  }

  const { routes } = state
  const decision = checkRequest(state, gate, request, context, false)
  if (decision instanceof Promise) {
    decision
      .then((late) => {
        if (response.destroyed) return
        // While a password was looked at, the route may have become another; what was right is remembered.
        if (late.pass && state.routes !== routes) begin(state, request, response)
        else goOn(state, request, response, context, late)
      })
      .catch(() => response.destroy())
  } else goOn(state, request, response, context, decision)
}

function goOn(
  state: ProxyState,
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  decision: Decision,
): void {
  if (!decision.pass) {
    noteRefusal(state, request, context, decision, response)
    sendRefusal(state, request, response, decision.answer, context.path)
    return
  }
  const changes = decision.request
  const changed = changes === null ? context : { ...context, headers: changedRequest(context.headers, changes) }
  const { share } = context.route
  for (const one of [share, decision.by])
    if (one !== null)
      response.once(
        'close',
        state.shareEnds.add(one, () => request.socket.destroy()),
      )
  new Exchange(state, request, response, changed, decision.response).start()
}

/** Also ends the connection: what follows a request that was not understood cannot be trusted to be one. */
function refuse(request: IncomingMessage, response: ServerResponse, error: ErrorResponse): void {
  if (error.code === 'bad_request') response.shouldKeepAlive = false
  void answer(request, response, error)
}

/**
 * One request and its answer, chunk by chunk, each side as fast as the slower one. The promise to the client: an answer
 * that looks complete is complete. When the project breaks off in the middle, so does the connection.
 */
class Exchange implements UpstreamExchange {
  readonly method: string
  readonly hasBody: boolean
  readonly isChunked: boolean
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #context: RequestContext
  readonly #changes: ResponseChanges | null
  readonly #note: OpenNote
  /** The table that it was let in by. */
  readonly #routes: ProxyState['routes']
  #pool: UpstreamPool | undefined
  #connection: RequestConnection | undefined
  #body: RequestBody | undefined
  #attempts = 0
  /** Bytes of the body still to come, when the project said how many; -1 when it did not. */
  #remaining = -1
  #flushed = false
  #gone = false
  /** The project has it: that counts as use until it is answered. */
  #isUse = false

  constructor(
    state: ProxyState,
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    changes: ResponseChanges | null,
  ) {
    const { body } = context
    this.method = request.method!
    this.isChunked = body === 'chunked'
    this.hasBody = this.isChunked || (body !== null && Number((body as { length: string }).length) > 0)
    this.#changes = changes
    this.#state = state
    this.#request = request
    this.#response = response
    this.#context = context
    this.#note = new OpenNote(state, request, context)
    this.#routes = state.routes
    response.once('close', this.#onClientClose)
  }

  start(fresh = false): void {
    const pool = this.#state.upstreams.to(this.#context.route)
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
    const { spec } = this.#context.route
    const target = spec.target as PageTarget
    const error = pageError({ ...spec, target })
    if (target.holdUntil === undefined && target.wakeWithin === undefined) {
      this.#say(error)
      return
    }
    void this.#waitForTable(target).then((again) => {
      if (this.#gone || this.#response.destroyed) return
      if (again) this.#beginAnew()
      else this.#say(error)
    })
  }

  /** A request that begins anew has a note of its own, and passes the present rules of its route. */
  #beginAnew(): void {
    this.#response.off('close', this.#onClientClose)
    this.#endUse()
    begin(this.#state, this.#request, this.#response)
  }

  #waitForTable(target: Pick<PageTarget, 'holdUntil' | 'wakeWithin'>): Promise<boolean> {
    const gone = new AbortController()
    const leave = () => gone.abort()
    this.#response.once('close', leave)
    return waitForTable(this.#state, this.#context.route.project, this.#request, target, gone.signal).finally(() =>
      this.#response.off('close', leave),
    )
  }

  #beginUse(): void {
    if (this.#isUse) return
    this.#isUse = true
    this.#context.route.use.begin()
  }

  #endUse(): void {
    if (!this.#isUse) return
    this.#isUse = false
    this.#context.route.use.end()
  }

  get head(): string {
    const { path, headers, body } = this.#context
    return requestHead(this.method, path, headers, body)
  }

  onConnection(connection: RequestConnection): void {
    this.#connection = connection
    if (!this.hasBody) return
    // Only now, when the project takes it: a stopped project need not be sent a gigabyte first.
    if (this.#context.expects) this.#response.writeContinue()
    this.#body = new RequestBody(this.#request, connection, this.#state.limits.bodyIdle, () => this.#onBodyIdle())
  }

  onDrain(): void {
    this.#body?.resume()
  }

  onInformation({ status, headers }: AnswerHead): void {
    // 100 was said here already, and HTTP/1.0 clients know no such answers.
    if (status === 100 || this.#request.httpVersionMinor === 0) return
    this.#response.writeInformation(status, responseHeaders(headers, status))
  }

  onHead({ status, reason, headers: raw }: AnswerHead, _framing: Framing, length: number): void {
    const own = responseHeaders(raw, status)
    const headers = this.#changes === null ? own : changedResponse(own, this.#changes)
    this.#remaining = length
    this.#response.writeHead(status, reason || undefined, headers)
    this.#note.status = status
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    const response = this.#response
    const size = end - start
    this.#flushed = true
    this.#note.bytes += size
    if (this.#remaining > 0) {
      this.#remaining -= size
      if (this.#remaining === 0) {
        // Head and body as one string are written at once, without a copy in between: twice as fast for small answers.
        if (size <= asString) response.end(bytes.toString('latin1', start, end), 'latin1')
        else {
          const copy = copyOf(bytes, start, end)
          response.end(copy.bytes, copy.done)
        }
        return
      }
    }
    const copy = copyOf(bytes, start, end)
    if (response.write(copy.bytes, copy.done) || response.writableLength < this.#state.limits.answerAhead) return

    this.#connection!.pause()
    this.#watchReader()
    response.once('drain', () => {
      this.#request.socket.setTimeout(0)
      this.#connection?.resume()
    })
  }

  onPause(): void {
    if (this.#flushed || !this.#response.headersSent) return
    // A head alone must not wait for its body.
    this.#flushed = true
    this.#response.flushHeaders()
  }

  onEnd(trailers: readonly string[]): void {
    const response = this.#response
    this.#connection = undefined
    this.#body?.stop()
    if (!response.writableEnded) {
      if (trailers.length > 0) response.addTrailers(pairs(responseHeaders(trailers, 200)))
      response.end()
    }
    if (response.writableLength > 0) this.#watchReader()
    if (!this.#request.complete) this.#linger()
  }

  onFailure(failure: UpstreamFailure): void {
    this.#connection = undefined
    this.#body?.stop()
    if (this.#gone) return
    if (this.#response.headersSent) {
      this.#response.destroy()
      return
    }
    if (!this.#mayRetry(failure)) this.#say(this.#errorOf(failure))
    else if (failure === 'refused') void this.#retrySoon()
    else this.#retry(true)
  }

  /**
   * Once. A refused connection has sent nothing, and may be meant for a project that is just being replaced. A broken
   * connection was most likely one that the project closed while it was idle: then only what is harmless to send twice.
   */
  #mayRetry(failure: UpstreamFailure): boolean {
    if (this.#attempts > 1 || this.#body !== undefined || failure === 'timeout') return false
    return failure === 'refused' || (!this.hasBody && (this.method === 'GET' || this.method === 'HEAD'))
  }

  async #retrySoon(): Promise<void> {
    await this.#waitForTable({ holdUntil: Date.now() + this.#state.limits.refusedWait })
    this.#retry(false)
  }

  /** Another table may lead elsewhere, and have other rules. */
  #retry(fresh: boolean): void {
    if (this.#gone) return
    if (this.#state.routes === this.#routes) this.start(fresh)
    else this.#beginAnew()
  }

  #errorOf(failure: UpstreamFailure): ErrorResponse {
    const { spec, target } = this.#context.route
    const { project } = spec
    switch (failure) {
      case 'refused':
        return unreachableError(project, target!)
      case 'timeout':
        return timeoutError(project, Math.round(this.#state.limits.answerWithin / 1000))
      case 'broken':
        return brokenError(project)
      default:
        return failure satisfies never
    }
  }

  #say(error: ErrorResponse): void {
    this.#flushed = true
    const note = this.#note
    note.status = error.status
    note.by = 'page'
    void answer(this.#request, this.#response, error).then((bytes) => {
      note.bytes = bytes
    })
    if (this.hasBody && !this.#request.complete) this.#linger()
  }

  #linger(): void {
    linger(this.#request, this.#state.limits.linger)
  }

  /** A client that takes nothing of what is there for it; every byte that it does take begins the time anew. */
  #watchReader(): void {
    this.#request.socket.setTimeout(this.#state.limits.readerIdle)
  }

  #onBodyIdle(): void {
    this.#response.shouldKeepAlive = false
    this.#leaveProject()
    if (this.#response.headersSent) this.#response.destroy()
    else this.#say(idleBodyError)
  }

  readonly #onClientClose = (): void => {
    if (!this.#response.writableFinished) this.#leaveProject()
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

/** Node writes so much from the stack, without memory of its own (16 KB with the head). */
const asString = 12 * 1024

function pairs(flat: readonly string[]): [string, string][] {
  const all: [string, string][] = []
  for (let index = 0; index < flat.length; index += 2) all.push([flat[index]!, flat[index + 1]!])
  return all
}
