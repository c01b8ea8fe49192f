import type { IncomingMessage } from 'node:http'
import type { Arrival } from '../arrival.ts'
import type { ProxyState } from '../state.ts'
import type { ExchangeNote } from './exchange-note.ts'

/** The client left before there was an answer; the number that nginx uses for it. */
export const clientLeft = 499

/** A note on an exchange that is under way: what is learnt is put in, `close` hands it over. */
export class OpenNote {
  status = clientLeft
  bytes = 0
  by: ExchangeNote['by'] = null
  #isOpen = true
  readonly #state: ProxyState
  readonly #request: IncomingMessage
  readonly #arrival: Arrival
  readonly #startedAt = performance.now()

  constructor(state: ProxyState, request: IncomingMessage, arrival: Arrival) {
    this.#state = state
    this.#request = request
    this.#arrival = arrival
  }

  /** Once; more often does no harm. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { host, way, client, path } = this.#arrival
    const query = path.indexOf('?')
    this.#state.note({
      project: way.project,
      host,
      method: this.#request.method!,
      path: query === -1 ? path : path.slice(0, query),
      status: this.status,
      seconds: (performance.now() - this.#startedAt) / 1_000,
      bytes: this.bytes,
      client: client.address ?? 'unknown',
      userAgent: this.#request.headers['user-agent'] ?? null,
      via: way.share === null ? 'domain' : 'share',
      share: way.share?.id ?? null,
      by: this.by,
    })
  }
}
