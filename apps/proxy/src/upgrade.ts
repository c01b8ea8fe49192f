import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { noteRefusal, OpenNote } from './access/open-note.ts'
import { rawAnswer } from './answer.ts'
import { brokenError, type ErrorResponse, pageError, timeoutError, unreachableError } from './error-responses.ts'
import { changedRequest, changedResponse, checkRequest, rawRefusal } from './gate/approach.ts'
import type { Decision, ResponseChanges } from './gate/gate.ts'
import type { GateAnswer } from './gate/rule.ts'
import { responseHeaders } from './headers.ts'
import { endConnection } from './linger.ts'
import { type RequestContext, readRequestContext } from './request-context.ts'
import type { PageTarget } from './route-table.ts'
import type { ProxyState } from './state.ts'
import { isEncrypted } from './tls/is-encrypted.ts'
import { openTunnel, type Tunnel } from './tunnel.ts'
import { owesAnswers } from './turns.ts'
import type { AnswerHead, Framing } from './upstream/answer-head.ts'
import type { UpstreamFailure } from './upstream/exchange.ts'
import { type Handshake, type HandshakeSink, shakeHands } from './upstream/handshake.ts'
import { upgradeHead } from './upstream/request-head.ts'
import { waitForTable } from './wait-for-table.ts'

/**
 * WebSockets and every other upgrade. A project may also say no: then its answer is passed on and the connection ends.
 * Only after a real 101 do bytes flow unread; a tunnel opened earlier would let a client send further requests past the
 * proxy.
 */
export function upgrade(state: ProxyState, request: IncomingMessage, client: Duplex, head: Buffer): void {
  state.requests += 1
  client.on('error', () => client.destroy())
  // Sent ahead of answers that are still owed: they would end up in the middle of the tunnel.
  if (owesAnswers(client as Socket)) {
    client.destroy()
    return
  }
  begin(state, request, client as Socket, head)
}

function begin(state: ProxyState, request: IncomingMessage, client: Socket, head: Buffer): void {
  const context = readRequestContext(state, request)
  if (!('route' in context)) return void refuse(state, request, client, context)
  const instead = state.tls === null ? null : state.tls.insteadOf(request, context)
  if (instead !== null) return void refuseAtGate(state, request, client, instead)
  const { gate, share } = context.route
  if (gate === null) {
    lead(state, request, client, head, context, null)
    return
  }
  const goOn = (decision: Decision): void => {
    if (client.destroyed) return
    if (!decision.pass) {
      noteRefusal(state, request, context, decision, client)
      void refuseAtGate(state, request, client, decision.answer)
      return
    }
    for (const one of [share, decision.by])
      if (one !== null)
        client.once(
          'close',
          state.shareEnds.add(one, () => client.destroy()),
        )
    const changes = decision.request
    const changed = changes === null ? context : { ...context, headers: changedRequest(context.headers, changes) }
    lead(state, request, client, head, changed, decision.response)
  }
  const { routes } = state
  const decision = checkRequest(state, gate, request, context, true)
  if (decision instanceof Promise) {
    decision
      .then((late) => {
        if (late.pass && state.routes !== routes) begin(state, request, client, head)
        else goOn(late)
      })
      .catch(() => client.destroy())
  } else goOn(decision)
}

async function refuseAtGate(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  answer: GateAnswer,
): Promise<void> {
  const text = await rawRefusal(request.headers.accept ?? 'application/problem+json', answer)
  endConnection(client, state.limits, text)
}

function lead(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
  context: RequestContext,
  changes: ResponseChanges | null,
): void {
  const { target } = context.route.spec
  if (target.kind === 'page') wait(state, request, client, head, context, target)
  else new Shake(state, request, client, head, context, changes).start()
}

function wait(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
  context: RequestContext,
  target: PageTarget,
): void {
  const note = new OpenNote(state, request, context)
  const gone = new AbortController()
  const leave = () => {
    gone.abort()
    note.close()
  }
  client.once('close', leave)
  void waitForTable(state, context.route.project, request, target, gone.signal).then((again) => {
    if (client.destroyed) return
    if (again) {
      // A request that begins anew has a note of its own.
      client.off('close', leave)
      begin(state, request, client, head)
      return
    }
    const error = pageError({ ...context.route.spec, target })
    note.status = error.status
    note.by = 'page'
    void refuse(state, request, client, error)
  })
}

/** One offer of another protocol and what the project says to it. */
class Shake implements HandshakeSink {
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #client: Socket
  readonly #early: Buffer
  readonly #context: RequestContext
  readonly #changes: ResponseChanges | null
  readonly #note: OpenNote
  /** The table that it was let in by. */
  readonly #routes: ProxyState['routes']
  #landed: () => void = () => {}
  #handshake: Handshake | undefined
  #isChunked = false
  #hasHead = false
  #attempts = 0

  constructor(
    state: ProxyState,
    request: IncomingMessage,
    client: Socket,
    early: Buffer,
    context: RequestContext,
    changes: ResponseChanges | null,
  ) {
    this.#state = state
    this.#request = request
    this.#client = client
    this.#early = early
    this.#context = context
    this.#changes = changes
    this.#note = new OpenNote(state, request, context)
    this.#routes = state.routes
    client.once('close', this.#onClientClose)
  }

  /** The route must lead to a project, not to a page. */
  start(): void {
    const { path, headers, route } = this.#context
    this.#attempts += 1
    route.use.touch()
    this.#landed = this.#state.upstreams.to(route)!.addTunnel()
    const head = upgradeHead(path, headers, this.#request.headers.upgrade ?? '')
    this.#handshake = shakeHands(route.target!, head, this.#state.limits, this)
  }

  onInformation(): void {
    // Nothing that a client that wants another protocol could use.
  }

  onUpgrade(head: AnswerHead, early: Buffer, upstream: Socket): void {
    const { tunnels } = this.#state
    const client = this.#client
    client.off('close', this.#onClientClose)
    this.#note.status = head.status
    this.#write(head, ['connection', 'Upgrade', 'upgrade', head.upgrade ?? ''])
    tunnels.add(client)
    // What is open and silent is no use: a page that was left open somewhere would keep its project awake for ever.
    const { use } = this.#context.route
    use.touch()
    const onClose = ({ bytes }: Tunnel) => {
      this.#note.bytes = bytes + early.length
      this.#note.close()
      this.#landed()
    }
    openTunnel(client, upstream, { onBytes: () => use.touch(), onClose })
    client.once('close', () => tunnels.delete(client))
    if (early.length > 0) client.write(early)
    if (this.#early.length > 0) upstream.write(this.#early)
  }

  onHead(head: AnswerHead, framing: Framing): void {
    this.#hasHead = true
    this.#note.status = head.status
    // Chunks stay chunks: without a length only they distinguish a whole answer from one that broke off.
    this.#isChunked = framing === 'chunked'
    const coding = this.#isChunked ? ['transfer-encoding', 'chunked'] : []
    this.#write(head, [...coding, 'connection', 'close'])
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    const client = this.#client
    this.#note.bytes += end - start
    const chunk = bytes.subarray(start, end)
    if (this.#isChunked) client.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
    const isReady = client.write(chunk)
    if (this.#isChunked) client.write('\r\n', 'latin1')
    if (isReady) return
    const upstream = this.#handshake?.socket
    upstream?.pause()
    client.setTimeout(this.#state.limits.readerIdle)
    client.once('timeout', this.#onReaderIdle)
    client.once('drain', () => {
      client.setTimeout(0)
      client.off('timeout', this.#onReaderIdle)
      upstream?.resume()
    })
  }

  onEnd(): void {
    this.#handshake = undefined
    this.#landed()
    const client = this.#client
    endConnection(client, this.#state.limits, this.#isChunked ? '0\r\n\r\n' : '')
  }

  onFailure(failure: UpstreamFailure): void {
    this.#handshake = undefined
    this.#landed()
    if (this.#client.destroyed) return
    if (this.#hasHead) {
      // Without a length the end of the connection is the end of the answer: a broken one must not end the same way.
      // Over TLS it is enough to leave without a word: a real end is announced there.
      if (isEncrypted(this.#client)) this.#client.destroy()
      else this.#client.resetAndDestroy()
      return
    }
    if (failure === 'refused' && this.#attempts === 1) void this.#retrySoon()
    else this.#say(this.#errorOf(failure))
  }

  /** Nothing was sent, and the project may just be replaced. */
  async #retrySoon(): Promise<void> {
    const gone = new AbortController()
    const leave = () => gone.abort()
    this.#client.once('close', leave)
    await this.#state.holds.wait({ holdUntil: Date.now() + this.#state.limits.refusedWait }, gone.signal)
    this.#client.off('close', leave)
    if (this.#client.destroyed) return
    if (this.#state.routes === this.#routes) {
      this.start()
      return
    }
    // Another table may lead elsewhere, and have other rules.
    this.#client.off('close', this.#onClientClose)
    begin(this.#state, this.#request, this.#client, this.#early)
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
    this.#note.status = error.status
    this.#note.by = 'page'
    void refuse(this.#state, this.#request, this.#client, error)
  }

  #write({ status, reason, headers: raw }: AnswerHead, more: readonly string[]): void {
    const own = responseHeaders(raw, status)
    const headers = this.#changes === null ? own : changedResponse(own, this.#changes)
    let text = `HTTP/1.1 ${status} ${reason}\r\n`
    for (const list of [headers, more]) {
      for (let index = 0; index < list.length; index += 2) text += `${list[index]}: ${list[index + 1]}\r\n`
    }
    this.#client.write(`${text}\r\n`, 'latin1')
  }

  readonly #onReaderIdle = (): void => {
    this.#client.destroy()
  }

  readonly #onClientClose = (): void => {
    this.#handshake?.abort()
    this.#handshake = undefined
    this.#landed()
    this.#note.close()
  }
}

async function refuse(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  error: ErrorResponse,
): Promise<void> {
  endConnection(client, state.limits, await rawAnswer(request.headers.accept ?? 'application/problem+json', error))
}
