import { connect, type Socket } from 'node:net'
import { log } from '../log.ts'
import { AnswerError } from './answer-head.ts'
import { AnswerParser } from './answer-parser.ts'
import type { RequestConnection, UpstreamExchange, UpstreamFailure } from './exchange.ts'
import type { UpstreamLimits } from './limits.ts'
import { lastRead, received } from './received.ts'

/** Who keeps connections between requests: the pool of an address. */
export interface ConnectionOwner {
  /** False: it is not needed any more. */
  takeBack(connection: UpstreamConnection): boolean
  /** It is closed. */
  forget(connection: UpstreamConnection): void
}

/**
 * One connection to a project, for one request at a time. It goes back to its pool only when the request is sent and the
 * answer read, both completely; in every other case it ends.
 */
export class UpstreamConnection implements RequestConnection {
  readonly #owner: ConnectionOwner
  readonly #limits: UpstreamLimits
  readonly #socket: Socket
  readonly #parser: AnswerParser
  #exchange: UpstreamExchange | null
  #isConnected = false
  #isSent = false
  #isChunked = false
  #isPaused = false
  /** When the project must have done the next thing (`performance.now()`); 0: it may take its time. */
  #deadline: number
  #idleUntil = 0

  constructor(owner: ConnectionOwner, host: string, port: number, limits: UpstreamLimits, first: UpstreamExchange) {
    this.#owner = owner
    this.#limits = limits
    this.#parser = new AnswerParser(limits)
    this.#exchange = first
    this.#deadline = performance.now() + limits.connectWithin
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: { buffer: received, callback: (size) => this.#onRead(size) },
    })
    this.#socket.once('connect', () => this.#onConnect())
    this.#socket.on('drain', () => this.#onDrain())
    this.#socket.on('end', () => this.#onEnd())
    this.#socket.on('error', () => {})
    this.#socket.once('close', () => this.#onClose())
  }

  /** Idle until now. */
  take(exchange: UpstreamExchange): void {
    this.#exchange = exchange
    this.#begin(exchange)
  }

  writeBody(chunk: Buffer): boolean {
    const isReady = this.#isChunked ? this.#writeChunk(chunk) : this.#socket.write(chunk)
    if (!isReady || !this.#parser.hasHead) this.#deadline = performance.now() + this.#limits.answerWithin
    return isReady
  }

  #writeChunk(chunk: Buffer): boolean {
    this.#socket.cork()
    this.#socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
    this.#socket.write(chunk)
    const isReady = this.#socket.write('\r\n', 'latin1')
    this.#socket.uncork()
    return isReady
  }

  endBody(): void {
    if (this.#isChunked) this.#socket.write('0\r\n\r\n', 'latin1')
    if (!this.#parser.hasHead) this.#deadline = performance.now() + this.#limits.answerWithin
    this.#isSent = true
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#socket.resume()
  }

  abort(): void {
    this.#exchange = null
    this.#parser.drop()
    this.#socket.destroy()
  }

  get isBusy(): boolean {
    return this.#exchange !== null
  }

  /** Called now and then with the time. */
  check(now: number): void {
    if (this.#exchange === null) {
      if (this.isStale(now)) this.#socket.destroy()
      return
    }
    if (this.#deadline === 0 || now < this.#deadline) return
    this.#fail(this.#isConnected ? 'timeout' : 'refused')
  }

  /** Idle for longer than the project can be trusted to keep it open, or closed already. */
  isStale(now: number): boolean {
    return now >= this.#idleUntil || this.#socket.destroyed
  }

  close(): void {
    this.#socket.destroy()
  }

  #onConnect(): void {
    this.#isConnected = true
    if (this.#exchange !== null) this.#begin(this.#exchange)
  }

  #begin(exchange: UpstreamExchange): void {
    this.#isSent = !exchange.hasBody
    this.#deadline = performance.now() + this.#limits.answerWithin
    this.#parser.expect(exchange, exchange.method)
    if (this.#isSent) {
      this.#socket.write(exchange.head, 'latin1')
      exchange.onConnection(this)
      return
    }
    this.#isChunked = exchange.isChunked
    // Head and first chunk of the body leave together when both are there.
    this.#socket.cork()
    this.#socket.write(exchange.head, 'latin1')
    exchange.onConnection(this)
    process.nextTick(uncork, this.#socket)
  }

  #onRead(size: number): boolean {
    const exchange = this.#exchange
    if (exchange === null) {
      // No request is open.
      this.#socket.destroy()
      return false
    }
    try {
      this.#parser.feed(lastRead(size))
    } catch (error) {
      if (!(error instanceof AnswerError)) log('fault', { reason: (error as Error).stack ?? String(error) })
      this.#fail('broken')
      return false
    }
    // It may have been given up meanwhile.
    if (this.#exchange !== exchange) return !this.#isPaused
    if (this.#parser.isDone) this.#finish()
    else {
      if (this.#parser.hasHead) this.#deadline = 0
      try {
        exchange.onPause()
      } catch (error) {
        log('fault', { reason: (error as Error).stack ?? String(error) })
        this.#fail('broken')
        return false
      }
    }
    return !this.#isPaused
  }

  #finish(): void {
    this.#exchange = null
    this.#deadline = 0
    if (!this.#parser.isReusable || !this.#isSent || this.#socket.destroyed) {
      this.#socket.destroy()
      return
    }
    const { upstreamIdle } = this.#limits
    // A second before the project itself would close it.
    const promised = this.#parser.idleFor === -1 ? upstreamIdle : this.#parser.idleFor - 1_000
    this.#idleUntil = performance.now() + Math.min(upstreamIdle, promised)
    if (this.#isPaused) this.resume()
    if (promised <= 0 || !this.#owner.takeBack(this)) this.#socket.destroy()
  }

  #onDrain(): void {
    if (this.#exchange === null) return
    this.#deadline = this.#parser.hasHead ? 0 : performance.now() + this.#limits.answerWithin
    this.#exchange.onDrain()
  }

  /** The project has closed its side. */
  #onEnd(): void {
    if (this.#exchange === null) {
      this.#socket.destroy()
      return
    }
    try {
      this.#parser.end()
    } catch {
      this.#fail('broken')
      return
    }
    this.#finish()
  }

  #onClose(): void {
    this.#owner.forget(this)
    if (this.#exchange !== null) this.#fail(this.#isConnected ? 'broken' : 'refused')
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange
    this.abort()
    exchange?.onFailure(failure)
  }
}

function uncork(socket: Socket): void {
  socket.uncork()
}
