import type { AnswerSink } from './answer-parser.ts'
import type { UpstreamConnection } from './connection.ts'

/** One request to a project and whoever hears its answer. */
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
  onConnection(connection: UpstreamConnection): void
  /** The project takes bytes again. */
  onDrain(): void
  /** All that has arrived of the answer so far was handed over. */
  onPause(): void
  /** Nothing more comes. `onEnd` was not called and will not be. */
  onFailure(failure: UpstreamFailure): void
}

/** Refused: nothing was sent. Broken: the project may have got the request. */
export type UpstreamFailure = 'refused' | 'broken' | 'timeout'
