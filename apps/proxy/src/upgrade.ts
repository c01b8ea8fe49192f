import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { OpenNote } from './access/open-note.ts'
import { rawAnswer } from './answer.ts'
import { type Arrival, readArrival } from './arrival.ts'
import { changedRequest, changedResponse, checkArrival, rawVerdict } from './gate/approach.ts'
import type { ResponseChanges, Verdict } from './gate/gate.ts'
import type { GateAnswer } from './gate/rule.ts'
import { responseHeaders } from './headers.ts'
import { endConnection } from './linger.ts'
import { brokenNotice, type Notice, pageNotice, timeoutNotice, unreachableNotice } from './notices.ts'
import type { PageTarget } from './route-table.ts'
import type { ProxyState } from './state.ts'
import { openTunnel } from './tunnel.ts'
import { owesAnswers } from './turns.ts'
import type { AnswerHead, Framing } from './upstream/answer-head.ts'
import type { UpstreamFailure } from './upstream/exchange.ts'
import { type Handshake, type HandshakeSink, shakeHands } from './upstream/handshake.ts'
import { upgradeHead } from './upstream/request-head.ts'

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
  const arrival = readArrival(state, request)
  if (!('way' in arrival)) return void refuse(state, request, client, arrival)
  const { gate, share } = arrival.way
  if (gate === null) {
    lead(state, request, client, head, arrival, null)
    return
  }
  const goOn = (verdict: Verdict): void => {
    if (client.destroyed) return
    if (!verdict.pass) {
      const note = new OpenNote(state, request, arrival)
      note.status = verdict.answer.status
      note.by = verdict.by
      client.once('close', () => note.close())
      void refuseAtGate(state, request, client, verdict.answer)
      return
    }
    if (share !== null)
      client.once(
        'close',
        state.shareEnds.add(share, () => client.destroy()),
      )
    const changes = verdict.request
    const changed = changes === null ? arrival : { ...arrival, headers: changedRequest(arrival.headers, changes) }
    lead(state, request, client, head, changed, verdict.response)
  }
  const { routes } = state
  const verdict = checkArrival(gate, request, arrival, true)
  if (verdict instanceof Promise) {
    verdict
      .then((late) => {
        if (late.pass && state.routes !== routes) begin(state, request, client, head)
        else goOn(late)
      })
      .catch(() => client.destroy())
  } else goOn(verdict)
}

async function refuseAtGate(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  answer: GateAnswer,
): Promise<void> {
  const text = await rawVerdict(request.headers.accept ?? 'application/problem+json', answer)
  endConnection(client, state.limits, text)
}

function lead(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
  arrival: Arrival,
  changes: ResponseChanges | null,
): void {
  const { target } = arrival.way.route
  if (target.kind === 'page') wait(state, request, client, head, arrival, target)
  else new Shake(state, request, client, head, arrival, changes).start()
}

function wait(
  state: ProxyState,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
  arrival: Arrival,
  target: PageTarget,
): void {
  const note = new OpenNote(state, request, arrival)
  const gone = new AbortController()
  const leave = () => {
    gone.abort()
    note.close()
  }
  client.once('close', leave)
  void state.holds.wait(target, gone.signal).then((again) => {
    if (client.destroyed) return
    if (again) {
      // What begins anew has a note of its own.
      client.off('close', leave)
      begin(state, request, client, head)
      return
    }
    const notice = pageNotice({ ...arrival.way.route, target })
    note.status = notice.status
    note.by = 'page'
    void refuse(state, request, client, notice)
  })
}

/** One offer of another protocol and what the project says to it. */
class Shake implements HandshakeSink {
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #client: Socket
  readonly #early: Buffer
  readonly #arrival: Arrival
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
    arrival: Arrival,
    changes: ResponseChanges | null,
  ) {
    this.#state = state
    this.#request = request
    this.#client = client
    this.#early = early
    this.#arrival = arrival
    this.#changes = changes
    this.#note = new OpenNote(state, request, arrival)
    this.#routes = state.routes
    client.once('close', this.#onClientClose)
  }

  /** The way must lead to a project, not to a page. */
  start(): void {
    const { path, headers, way } = this.#arrival
    this.#attempts += 1
    this.#landed = this.#state.upstreams.to(way)!.addTunnel()
    const head = upgradeHead(path, headers, this.#request.headers.upgrade ?? '')
    this.#handshake = shakeHands(way.target!, head, this.#state.limits, this)
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
    openTunnel(client, upstream, ({ bytes }) => {
      this.#note.bytes = bytes + early.length
      this.#note.close()
      this.#landed()
    })
    client.once('close', () => tunnels.delete(client))
    if (early.length > 0) client.write(early)
    if (this.#early.length > 0) upstream.write(this.#early)
  }

  onHead(head: AnswerHead, framing: Framing): void {
    this.#hasHead = true
    this.#note.status = head.status
    // Chunks stay chunks: without a length only they tell a whole answer from one that broke off.
    this.#isChunked = framing === 'chunked'
    const coding = this.#isChunked ? ['transfer-encoding', 'chunked'] : []
    this.#write(head, [...coding, 'connection', 'close'])
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    const client = this.#client
    this.#note.bytes += end - start
    const piece = bytes.subarray(start, end)
    if (this.#isChunked) client.write(`${piece.length.toString(16)}\r\n`, 'latin1')
    const isReady = client.write(piece)
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
      this.#client.resetAndDestroy()
      return
    }
    if (failure === 'refused' && this.#attempts === 1) void this.#retrySoon()
    else this.#say(this.#noticeOf(failure))
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

  #noticeOf(failure: UpstreamFailure): Notice {
    const { route, target } = this.#arrival.way
    const { project } = route
    switch (failure) {
      case 'refused':
        return unreachableNotice(project, target!)
      case 'timeout':
        return timeoutNotice(project, Math.round(this.#state.limits.answerWithin / 1000))
      case 'broken':
        return brokenNotice(project)
      default:
        return failure satisfies never
    }
  }

  #say(notice: Notice): void {
    this.#note.status = notice.status
    this.#note.by = 'page'
    void refuse(this.#state, this.#request, this.#client, notice)
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

async function refuse(state: ProxyState, request: IncomingMessage, client: Socket, notice: Notice): Promise<void> {
  endConnection(client, state.limits, await rawAnswer(request.headers.accept ?? 'application/problem+json', notice))
}
