import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { answer } from './answer.ts'
import { type Arrival, readArrival } from './arrival.ts'
import { latin1, responseHeaders } from './headers.ts'
import { brokenNotice, idleBodyNotice, type Notice, pageNotice, timeoutNotice, unreachableNotice } from './notices.ts'
import { RequestBody } from './request-body.ts'
import type { Route, UpstreamTarget } from './route-table.ts'
import type { ProxyState } from './state.ts'

/** Takes one request to where its host name leads, and the answer back. */
export function forward(state: ProxyState, request: IncomingMessage, response: ServerResponse): void {
  state.requests += 1
  if (state.draining) response.shouldKeepAlive = false

  const arrival = readArrival(state, request)
  if ('route' in arrival) new Exchange(state, request, response, arrival).start(arrival.route)
  else refuse(request, response, arrival)
}

/** Also ends the connection: what follows a request that was not understood cannot be trusted to be one. */
function refuse(request: IncomingMessage, response: ServerResponse, notice: Notice): void {
  if (notice.code === 'bad_request') response.shouldKeepAlive = false
  void answer(request, response, notice)
}

/**
 * One request and its answer, chunk by chunk, each side as fast as the slower one. The promise to the client: an answer
 * that looks complete is complete. When the project breaks off in the middle, so does the connection.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #arrival: Arrival
  #route: Route
  #controller: Dispatcher.DispatchController | undefined
  #body: RequestBody | undefined
  #stalled: NodeJS.Timeout | undefined
  #attempts = 0
  /** Bytes of the body still to come, when the project said how many; -1 when it did not. */
  #remaining = -1
  #flushed = false
  #gone = false

  constructor(state: ProxyState, request: IncomingMessage, response: ServerResponse, arrival: Arrival) {
    this.#state = state
    this.#request = request
    this.#response = response
    this.#arrival = arrival
    this.#route = arrival.route
    response.on('close', () => this.#onClientClose())
  }

  start(route: Route): void {
    this.#route = route
    const { target } = route
    if (target.kind === 'page') {
      this.#say(pageNotice({ ...route, target }))
      return
    }
    if (this.#arrival.hasBody) this.#takeBody()
    this.#attempts += 1
    this.#state.upstreams.to(target).dispatch(
      {
        method: this.#request.method as Dispatcher.HttpMethod,
        path: this.#arrival.path,
        headers: this.#arrival.headers,
        body: this.#body ?? null,
      },
      this,
    )
  }

  #takeBody(): void {
    // Only now, when the route is known to take it: a stopped project need not be sent a gigabyte first.
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue()
    this.#body = new RequestBody(this.#request, this.#state.limits.bodyIdle, () => this.#onBodyIdle())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#gone) controller.abort(new Error('The client has left.'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _parsed: unknown, reason?: string): void {
    const raw = controller.rawHeaders as readonly Buffer[]
    if (status < 200) {
      this.#passInformation(status, raw)
      return
    }
    const headers = responseHeaders(raw, status)
    this.#remaining = contentLength(headers)
    this.#response.writeHead(status, reason || undefined, headers)
    // Head and first chunk leave in one packet when they came in one; a head alone must not wait for a body.
    process.nextTick(flushHead, this)
  }

  #passInformation(status: number, raw: readonly Buffer[]): void {
    // 100 was said here already, and HTTP/1.0 clients know no such answers.
    if (status === 100 || this.#request.httpVersionMinor === 0) return
    this.#response.writeInformation(status, responseHeaders(raw, status))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const response = this.#response
    this.#flushed = true
    if (this.#remaining > 0) {
      this.#remaining -= chunk.length
      if (this.#remaining === 0) {
        response.end(chunk)
        return
      }
    }
    if (response.write(chunk)) return

    controller.pause()
    this.#stalled = setTimeout(() => response.destroy(), this.#state.limits.readerIdle)
    response.once('drain', () => {
      clearTimeout(this.#stalled)
      controller.resume()
    })
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    const response = this.#response
    this.#flushed = true
    if (!response.writableEnded) {
      const trailers = controller.rawTrailers as readonly Buffer[] | null | undefined
      if (trailers && trailers.length > 0) response.addTrailers(pairs(trailers))
      response.end()
    }
    if (!this.#request.complete) this.#linger()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#gone) return
    if (this.#response.headersSent) {
      this.#response.destroy()
      return
    }
    const kind = failureOf(error)
    if (this.#mayRetry(kind)) this.#retry(kind)
    else this.#say(this.#noticeOf(kind))
  }

  /**
   * Once, and only what is harmless to send twice. A broken connection was most likely one that the project closed while
   * it was idle; a refused one may be a project that is just being replaced, so the route is looked up again.
   */
  #mayRetry(kind: Failure): boolean {
    const { method } = this.#request
    return this.#attempts === 1 && kind !== 'timeout' && !this.#body && (method === 'GET' || method === 'HEAD')
  }

  #retry(kind: Failure): void {
    setTimeout(
      () => {
        if (!this.#gone) this.start(this.#state.routes.byHost.get(this.#arrival.host) ?? this.#route)
      },
      kind === 'refused' ? 50 : 0,
    )
  }

  #noticeOf(kind: Failure): Notice {
    const { project, target } = this.#route
    switch (kind) {
      case 'refused':
        return unreachableNotice(project, target as UpstreamTarget)
      case 'timeout':
        return timeoutNotice(project, Math.round(this.#state.limits.answerWithin / 1000))
      case 'broken':
        return brokenNotice(project)
      default:
        return kind satisfies never
    }
  }

  #say(notice: Notice): void {
    this.#flushed = true
    void answer(this.#request, this.#response, notice)
    if (this.#arrival.hasBody && !this.#request.complete) this.#linger()
  }

  /** The answer is out and the client is still sending. Closing at once would make it lose the answer. */
  #linger(): void {
    const { socket } = this.#request
    const deadline = setTimeout(() => socket.destroy(), this.#state.limits.linger)
    const settled = () => clearTimeout(deadline)
    // Once its answer is out, a request that is cut off says nothing any more; its connection does.
    this.#request.once('end', settled).once('close', settled)
    socket.once('close', settled)
  }

  #onBodyIdle(): void {
    this.#response.shouldKeepAlive = false
    if (this.#response.headersSent) this.#response.destroy()
    else this.#say(idleBodyNotice)
    this.#gone = true
    this.#controller?.abort(new Error('The client stopped sending.'))
  }

  #onClientClose(): void {
    clearTimeout(this.#stalled)
    if (this.#response.writableFinished) return
    this.#gone = true
    this.#controller?.abort(new Error('The client has left.'))
  }

  flushHead(): void {
    if (!this.#flushed) this.#response.flushHeaders()
  }
}

function flushHead(exchange: Exchange): void {
  exchange.flushHead()
}

type Failure = 'refused' | 'broken' | 'timeout'

function failureOf(error: Error): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  return unreachable.has(code) ? 'refused' : 'broken'
}

const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

function contentLength(headers: readonly string[]): number {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (name.length === 14 && name.toLowerCase() === 'content-length') return Number(headers[index + 1])
  }
  return -1
}

function pairs(raw: readonly Buffer[]): [string, string][] {
  const all: [string, string][] = []
  for (let index = 0; index < raw.length; index += 2) all.push([latin1(raw[index]!), latin1(raw[index + 1]!)])
  return all
}
