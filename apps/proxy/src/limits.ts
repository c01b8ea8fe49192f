/** Times in milliseconds, sizes in bytes. Everything a client or a project can hold on to has an end here. */
export interface Limits {
  /** All headers of a request must have arrived (slow clients). */
  readonly headersWithin: number
  /** A request's body may take hours, but not stand still for longer than this. */
  readonly bodyIdle: number
  /** A client that takes nothing of an answer that is there for it. */
  readonly readerIdle: number
  /** After its answer is complete, the rest of a request is read and thrown away this long. */
  readonly linger: number
  readonly keepAlive: number
  readonly headerBytes: number
  readonly connections: number
  /** A TLS handshake, from the first byte of the connection on. */
  readonly handshakeWithin: number
  /** Handshakes under way in one process; from a quarter of it on, one client has at most `handshakesOfOne` of them. */
  readonly handshakes: number
  readonly handshakesOfOne: number
  /** Requests of one HTTP/2 connection at the same time. */
  readonly streams: number
  /** Requests of one connection that are sent ahead, before the answers to earlier ones; more end it. */
  readonly pipelined: number
  /** Bytes of an answer that wait for a client; with more, its project has to wait. */
  readonly answerAhead: number
  readonly connectWithin: number
  /** A refused request waits so long for the next table before it is tried again. */
  readonly refusedWait: number
  /** A project's first byte. */
  readonly answerWithin: number
  /** Connections to one address of a project; further requests wait, at most for `answerWithin`. */
  readonly upstreamConnections: number
  /** Below the 5 s after which Node programs close idle connections. */
  readonly upstreamIdle: number
  /** The head of a project's answer, and its trailers. */
  readonly answerHeadBytes: number
  /** Interim answers (1xx) before the answer. */
  readonly interimAnswers: number
  /** Chunk extensions of one answer, all together. */
  readonly chunkExtensionBytes: number
  /** Requests that wait while their projects restart, all together. */
  readonly held: number
  /** Requests that run at a shutdown may still take this long. */
  readonly drainWithin: number
  /** A connection without a request is left open so long after a shutdown was asked for: one may be on its way. */
  readonly drainIdle: number
  /** Of each project’s access log. */
  readonly accessBytes: number
  readonly accessDays: number
  /** A worker process that does not use a new table by then is replaced. */
  readonly tableWithin: number
}

export const defaultLimits: Limits = {
  headersWithin: 20_000,
  bodyIdle: 60_000,
  readerIdle: 120_000,
  linger: 30_000,
  keepAlive: 65_000,
  headerBytes: 32 * 1024,
  connections: 10_000,
  handshakeWithin: 10_000,
  handshakes: 4_000,
  handshakesOfOne: 100,
  streams: 128,
  pipelined: 100,
  answerAhead: 256 * 1024,
  connectWithin: 5_000,
  refusedWait: 50,
  answerWithin: 300_000,
  upstreamConnections: 1_024,
  upstreamIdle: 4_000,
  answerHeadBytes: 64 * 1024,
  interimAnswers: 32,
  chunkExtensionBytes: 16 * 1024,
  held: 8_000,
  drainWithin: 30_000,
  drainIdle: 3_000,
  accessBytes: 32 * 1024 * 1024,
  accessDays: 14,
  tableWithin: 5_000,
}
