import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { IncomingHttpHeaders as Http2Headers, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * A request that came by HTTP/2, as much like one by HTTP/1.1 as the gate, the routes and the access log look at: the same rules
 * hold for both. `host` is what `:authority` says (RFC 9113, 8.3.1).
 */
export class H2Request {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly httpVersionMinor = 1
  readonly #stream: ServerHttp2Stream
  readonly #socket: Socket

  constructor(stream: ServerHttp2Stream, socket: Socket, headers: Http2Headers, raw: readonly string[]) {
    this.#stream = stream
    this.#socket = socket
    this.method = headers[':method'] ?? ''
    this.url = headers[':path'] ?? ''
    const authority = headers[':authority'] ?? headers.host
    this.headers = headers as IncomingHttpHeaders
    if (authority !== undefined) this.headers.host = authority
    this.rawHeaders = authority === undefined ? [] : ['host', authority]
    for (let index = 0; index < raw.length; index += 2) {
      const name = raw[index]!
      // Cut into pieces to be compressed well (RFC 9113, 8.2.3); `headers` has it in one piece.
      if (name.charCodeAt(0) === colon || name === 'host' || name === 'cookie') continue
      this.rawHeaders.push(name, raw[index + 1]!)
    }
    if (headers.cookie !== undefined) this.rawHeaders.push('cookie', headers.cookie)
  }

  /** The connection that all requests of a client share. */
  get socket(): Socket {
    return this.#socket
  }

  get complete(): boolean {
    return this.#stream.endAfterHeaders || this.#stream.readableEnded
  }

  /** For functions that were written for Node's own kind of request, and look at what is here alone. */
  get message(): IncomingMessage {
    return this as unknown as IncomingMessage
  }

  on(event: string, listener: (...values: unknown[]) => void): this {
    this.#stream.on(event, listener)
    return this
  }

  once(event: string, listener: (...values: unknown[]) => void): this {
    this.#stream.once(event, listener)
    return this
  }

  off(event: string, listener: (...values: unknown[]) => void): this {
    this.#stream.off(event, listener)
    return this
  }

  pause(): this {
    this.#stream.pause()
    return this
  }

  resume(): this {
    this.#stream.resume()
    return this
  }
}

const colon = 0x3a
