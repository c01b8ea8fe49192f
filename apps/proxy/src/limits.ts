/** Times in milliseconds, sizes in bytes. Everything a client or a project can hold on to has an end here. */
export interface Limits {
  /** All headers of a request must have arrived (slow clients). */
  readonly headersWithin: number
  /** A request's body may take hours, but not stand still for longer than this. */
  readonly bodyIdle: number
  /** A client that takes nothing of an answer that is there for it. */
  readonly readerIdle: number
  /** What a client goes on sending after its answer is complete is read and thrown away this long. */
  readonly linger: number
  readonly keepAlive: number
  readonly headerBytes: number
  readonly connections: number
  readonly connectWithin: number
  /** A project's first byte. */
  readonly answerWithin: number
  /** What runs when a shutdown is asked for may still take this long. */
  readonly drainWithin: number
}

export const defaultLimits: Limits = {
  headersWithin: 20_000,
  bodyIdle: 60_000,
  readerIdle: 120_000,
  linger: 30_000,
  keepAlive: 65_000,
  headerBytes: 32 * 1024,
  connections: 10_000,
  connectWithin: 5_000,
  answerWithin: 300_000,
  drainWithin: 30_000,
}
