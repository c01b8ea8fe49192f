import type { IncomingMessage } from 'node:http'

/** Where a body goes. */
export interface BodySink {
  /** False: enough for now; `resume` is called when there is room again. */
  writeBody(chunk: Buffer): boolean
  endBody(): void
}

/**
 * The client's body on its way to a project: taken chunk by chunk, so that a slow project slows the client down. Ending it
 * does not end the client's connection: when a project answers early, or breaks off, the client still gets its answer.
 */
export class RequestBody {
  readonly #request: IncomingMessage
  readonly #sink: BodySink
  readonly #idle: NodeJS.Timeout
  #isWaiting = true

  /** `onIdle` is called when the client owes bytes and sends none for `idleTimeout` ms. */
  constructor(request: IncomingMessage, sink: BodySink, idleTimeout: number, onIdle: () => void) {
    this.#request = request
    this.#sink = sink
    this.#idle = setTimeout(() => (this.#isWaiting ? onIdle() : this.#idle.refresh()), idleTimeout)
    this.#idle.unref()
    request.on('data', this.#onData).on('end', this.#onEnd)
  }

  /** There is room again. */
  resume(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#idle.refresh()
    this.#request.resume()
  }

  /** Reads the rest and throws it away. */
  stop(): void {
    clearTimeout(this.#idle)
    const request = this.#request
    request.off('data', this.#onData).off('end', this.#onEnd)
    request.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#idle.refresh()
    if (this.#sink.writeBody(chunk)) return
    this.#isWaiting = false
    this.#request.pause()
  }

  readonly #onEnd = (): void => {
    clearTimeout(this.#idle)
    this.#sink.endBody()
  }
}
