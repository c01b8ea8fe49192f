import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuditEntry } from '@stackquay/contract'
import { visibleTokenName } from '@stackquay/contract'
import type { NewAuditEntry } from '@stackquay/store'
import type { ClientReader } from './client.ts'
import type { Principal, RequestContext } from './handler.ts'
import { normalizedIfMatch } from './preconditions.ts'

export interface ContextParts {
  readonly principal: Principal
  readonly requestId: string
  readonly message: IncomingMessage
  readonly client: ClientReader
  /** Of a stream: aborts when it ends. A plain request has its response instead. */
  readonly gone: AbortSignal | ServerResponse
}

/** Most handlers read two or three of these fields; the others cost nothing until somebody asks. */
export function createRequestContext(parts: ContextParts): RequestContext {
  return new LazyContext(parts)
}

/** Of a stream that goes on: what its caller may do now. */
export function renewPrincipal(context: RequestContext, principal: Principal): void {
  if (context instanceof LazyContext) context.principal = principal
}

class LazyContext implements RequestContext {
  principal: Principal
  readonly requestId: string
  readonly #parts: ContextParts
  #signal: AbortSignal | undefined

  constructor(parts: ContextParts) {
    this.#parts = parts
    this.principal = parts.principal
    this.requestId = parts.requestId
  }

  get ip(): string {
    return this.#parts.client.addressOf(this.#parts.message)
  }

  get userAgent(): string | null {
    return this.#parts.message.headers['user-agent']?.slice(0, 300) ?? null
  }

  get source(): AuditEntry['source'] {
    return sourceOf(this.principal, this.userAgent)
  }

  get actor(): string {
    return actorOf(this.principal)
  }

  get ifMatch(): string | null {
    return normalizedIfMatch(this.#parts.message.headers['if-match'])
  }

  header(name: string): string | null {
    const value = this.#parts.message.headers[name.toLowerCase()]
    return typeof value === 'string' ? value : null
  }

  get contentLength(): number | null {
    const length = this.#parts.message.headers['content-length']
    return length === undefined ? null : Number(length)
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#parts.gone)
    return this.#signal
  }

  audit(entry: Parameters<RequestContext['audit']>[0]): NewAuditEntry {
    const { actor, requestId, source, ip, userAgent } = this
    const empty = { target: null, project: null, outcome: 'success', changes: null, operationId: null } as const
    return { ...empty, ...entry, actor, requestId, source, ip, userAgent }
  }
}

export function actorOf(principal: Principal): string {
  switch (principal.kind) {
    case 'anonymous':
      return 'anonymous'
    case 'session':
      return principal.user.name
    case 'token':
      return `${principal.user.name} (token: ${visibleTokenName(principal.token.name)})`
    case 'key':
      return `${principal.user.name} (ssh key: ${visibleTokenName(principal.key.name)})`
    default:
      return principal satisfies never
  }
}

/** Our own clients name themselves in their User-Agent: `stq/0.1.0`, `stq-mcp/0.1.0`. */
function sourceOf({ kind }: Principal, userAgent: string | null): AuditEntry['source'] {
  if (userAgent?.startsWith('stq-mcp/')) return 'mcp'
  if (userAgent?.startsWith('stq/')) return 'cli'
  return kind === 'session' || userAgent?.startsWith('Mozilla/') ? 'ui' : 'api'
}

function signalOf(gone: AbortSignal | ServerResponse): AbortSignal {
  if (gone instanceof AbortSignal) return gone
  const controller = new AbortController()
  const end = () => {
    if (!gone.writableFinished) controller.abort()
  }
  if (gone.destroyed) end()
  else gone.once('close', end)
  return controller.signal
}
