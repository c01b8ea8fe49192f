import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { RequestContext } from '../request-context.ts'
import { strangersProject } from '../route-index.ts'
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
  readonly #context: RequestContext
  readonly #startedAt = performance.now()

  constructor(state: ProxyState, request: IncomingMessage, context: RequestContext) {
    this.#state = state
    this.#request = request
    this.#context = context
  }

  /** Once; more often does no harm. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { host, route, client, path } = this.#context
    const query = path.indexOf('?')
    this.#state.note({
      project: route.project,
      host,
      method: this.#request.method!,
      path: query === -1 ? path : path.slice(0, query),
      status: this.status,
      seconds: (performance.now() - this.#startedAt) / 1_000,
      bytes: this.bytes,
      client: client.address ?? 'unknown',
      userAgent: this.#request.headers['user-agent'] ?? null,
      via: route.share === null ? 'domain' : 'share',
      share: route.share?.id ?? null,
      by: this.by,
    })
  }
}

/** A request that a rule has answered. Of names that nobody has nothing is noted: they belong to no project. */
export function noteRefusal(
  state: ProxyState,
  request: IncomingMessage,
  context: RequestContext,
  { by, answer }: Pick<ExchangeNote, 'by'> & { readonly answer: { readonly status: number } },
  until: EventEmitter,
): void {
  if (context.route.project === strangersProject) return
  const note = new OpenNote(state, request, context)
  note.status = answer.status
  note.by = by
  until.once('close', () => note.close())
}
