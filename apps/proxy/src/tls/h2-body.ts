import type { ServerHttp2Stream } from 'node:http2'
import type { BodySink } from '../request-body.ts'

/**
 * The client's body on its way to a project. A stream that is reset ends like one that is complete, and half a body must never reach
 * a project as a whole one: so it is asked how it ended.
 */
export class H2Body {
  readonly #stream: ServerHttp2Stream
  readonly #sink: BodySink
  readonly #idle: NodeJS.Timeout
  readonly #onBroken: () => void
  #isWaiting = true

  /** `onIdle` is called when the client owes bytes and sends none for `within` ms. */
  constructor(
    stream: ServerHttp2Stream,
    sink: BodySink,
    within: number,
    { onIdle, onBroken }: { onIdle(): void; onBroken(): void },
  ) {
    this.#stream = stream
    this.#sink = sink
    this.#onBroken = onBroken
    this.#idle = setTimeout(() => (this.#isWaiting ? onIdle() : this.#idle.refresh()), within)
    this.#idle.unref()
    stream.on('data', this.#onData).on('end', this.#onEnd)
  }

  /** There is room again. */
  resume(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#idle.refresh()
    this.#stream.resume()
  }

  /** Reads the rest and throws it away. */
  stop(): void {
    clearTimeout(this.#idle)
    this.#stream.off('data', this.#onData).off('end', this.#onEnd)
    this.#stream.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#idle.refresh()
    if (this.#sink.writeBody(chunk)) return
    this.#isWaiting = false
    this.#stream.pause()
  }

  readonly #onEnd = (): void => {
    clearTimeout(this.#idle)
    if (this.#stream.aborted || this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#onBroken()
    else this.#sink.endBody()
  }
}

const { constants } = process.getBuiltinModule('node:http2')
