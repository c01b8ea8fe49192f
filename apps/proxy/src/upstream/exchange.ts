import type { AnswerSink } from './answer-parser.ts'

/** One request to a project, and the reader of its answer. */
export interface UpstreamExchange extends AnswerSink {
  readonly method: string
  /** Request line and headers with the empty line, in latin1: see `requestHead`. */
  readonly head: string
  readonly hasBody: boolean
  readonly isChunked: boolean
  /**
   * The connection is there and the head on its way. Only now may a body be taken from the client: up to here nothing was
   * sent, and the request can go elsewhere.
   */
  onConnection(connection: RequestConnection): void
  /** The project takes bytes again. */
  onDrain(): void
  /** All that has arrived of the answer so far was handed over. */
  onPause(): void
  /** Nothing more comes. `onEnd` was not called and will not be. */
  onFailure(failure: UpstreamFailure): void
}

/** The connection that carries an exchange, as far as who sends the request may use it. */
export interface RequestConnection {
  /** False: the project is behind; `onDrain` follows. */
  writeBody(chunk: Buffer): boolean
  endBody(): void
  pause(): void
  resume(): void
  /** Ends the connection; the exchange hears nothing more. */
  abort(): void
}

/** Refused: nothing was sent. Broken: the project may have got the request. */
export type UpstreamFailure = 'refused' | 'broken' | 'timeout'
