import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/**
 * The client's body on its way to a project: pulled chunk by chunk, so that a slow project slows the client down.
 *
 * It stands between the two because destroying it must not destroy the client's connection: when a project answers
 * early, or cannot be reached, the client still gets its answer.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage
  readonly #idle: NodeJS.Timeout
  #waiting = false

  /** `onIdle` is called when the client owes bytes and sends none for `idleTimeout` ms. */
  constructor(request: IncomingMessage, idleTimeout: number, onIdle: () => void) {
    super({ highWaterMark: 64 * 1024 })
    this.#request = request
    this.#idle = setTimeout(() => (this.#waiting ? onIdle() : this.#idle.refresh()), idleTimeout)
    this.#idle.unref()
    request.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose)
    request.pause()
  }

  override _read(): void {
    this.#waiting = true
    this.#request.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#idle)
    const request = this.#request
    request.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onClose)
    // Nobody listens from here on; an unheard 'error' would end the process.
    request.on('error', () => {})
    request.resume()
    callback(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#idle.refresh()
    if (this.push(chunk)) return
    this.#waiting = false
    this.#request.pause()
  }

  readonly #onEnd = (): void => {
    clearTimeout(this.#idle)
    this.push(null)
  }

  readonly #onError = (error: Error): void => {
    this.destroy(error)
  }

  readonly #onClose = (): void => {
    if (!this.#request.complete)
      this.destroy(new Error('The client closed the connection before its body was complete.'))
  }
}
