import { type ConnectionOwner, UpstreamConnection } from './connection.ts'
import type { UpstreamExchange } from './exchange.ts'
import type { UpstreamLimits } from './limits.ts'

/** What is under way to one address. */
export interface Flights {
  /** Also those that wait for a connection. */
  readonly requests: number
  readonly tunnels: number
}

/** The connections to one address. The one that was used last is used first, so that the others may go. */
export class UpstreamPool implements ConnectionOwner {
  readonly #host: string
  readonly #port: number
  readonly #limits: UpstreamLimits
  readonly #onEmpty: () => void
  readonly #all = new Set<UpstreamConnection>()
  readonly #idle: UpstreamConnection[] = []
  /** With the time until when. */
  readonly #waiting = new Map<UpstreamExchange, number>()
  #timer: NodeJS.Timeout | undefined
  #tunnels = 0
  #isRetired = false
  #isGone = false

  /** `onEmpty` is called when nothing is under way on a pool that was retired. */
  constructor(host: string, port: number, limits: UpstreamLimits, onEmpty: () => void) {
    this.#host = host
    this.#port = port
    this.#limits = limits
    this.#onEmpty = onEmpty
  }

  /** It was retired, and nothing was under way: another one serves its address, if any. */
  get isGone(): boolean {
    return this.#isGone
  }

  get flights(): Flights {
    let busy = 0
    for (const connection of this.#all) if (connection.isBusy) busy += 1
    return { requests: busy + this.#waiting.size, tunnels: this.#tunnels }
  }

  /** `fresh`: not on a connection that was idle, because one of those has just failed. */
  send(exchange: UpstreamExchange, fresh = false): void {
    if (!fresh) {
      const idle = this.#takeIdle()
      if (idle !== undefined) {
        idle.take(exchange)
        return
      }
    }
    if (this.#all.size < this.#limits.upstreamConnections) this.#open(exchange)
    else this.#waiting.set(exchange, performance.now() + this.#limits.answerWithin)
  }

  /** An exchange that still waits for its connection. */
  cancel(exchange: UpstreamExchange): void {
    this.#waiting.delete(exchange)
  }

  takeBack(connection: UpstreamConnection): boolean {
    for (const next of this.#waiting.keys()) {
      this.#waiting.delete(next)
      connection.take(next)
      return true
    }
    if (this.#isRetired) return false
    this.#idle.push(connection)
    return true
  }

  forget(connection: UpstreamConnection): void {
    this.#all.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
    for (const next of this.#waiting.keys()) {
      this.#waiting.delete(next)
      this.#open(next)
      break
    }
    this.#settle()
  }

  /** Answers the function that ends it. */
  addTunnel(): () => void {
    this.#tunnels += 1
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#tunnels -= 1
      this.#settle()
    }
  }

  /** No route leads here any more: what is under way ends by itself. */
  retire(): void {
    this.#isRetired = true
    for (const connection of this.#idle.splice(0)) connection.close()
    this.#settle()
  }

  /** A route leads here again. */
  recall(): void {
    this.#isRetired = false
  }

  destroy(): void {
    this.#isRetired = true
    this.#waiting.clear()
    for (const connection of [...this.#all]) connection.abort()
    this.#settle()
  }

  #takeIdle(): UpstreamConnection | undefined {
    if (this.#idle.length === 0) return undefined
    const now = performance.now()
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (!last.isStale(now)) return last
      last.close()
    }
    return undefined
  }

  #open(exchange: UpstreamExchange): void {
    this.#all.add(new UpstreamConnection(this, this.#host, this.#port, this.#limits, exchange))
    this.#timer ??= setInterval(() => this.#check(), tick(this.#limits)).unref()
  }

  #check(): void {
    const now = performance.now()
    for (const connection of [...this.#all]) connection.check(now)
    for (const [exchange, until] of this.#waiting) {
      if (now < until) break
      this.#waiting.delete(exchange)
      exchange.onFailure('timeout')
    }
  }

  #settle(): void {
    if (this.#all.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    if (!this.#isRetired || this.#tunnels > 0) return
    this.#isGone = true
    this.#onEmpty()
  }
}

/** One timer for all connections of an address, exact to a tenth of the shortest time and to a second at worst. */
function tick({ answerWithin, connectWithin, upstreamIdle }: UpstreamLimits): number {
  return Math.max(10, Math.min(1_000, answerWithin / 10, connectWithin / 10, upstreamIdle / 10))
}
