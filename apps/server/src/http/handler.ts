import type { AuditEntry, CallResult, OperationId, ParsedInput, Scope } from '@stackquay/contract'
import type { PersonRights } from '@stackquay/domain/access'
import type { NewAuditEntry } from '@stackquay/store'

/** Who calls. Made once a request, before the body is read; policies and audit read it. */
export type Principal =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'session'
      readonly sessionId: string
      readonly user: { readonly id: string; readonly name: string }
      /** The user's role, on the project that the request is about; else the highest that they have anywhere. */
      readonly scope: Scope
      /** A second factor is required, and is not there. */
      readonly mustEnrol?: boolean
      /** Of a user who is not the same everywhere. */
      readonly rights?: PersonRights
    }
  | {
      readonly kind: 'token'
      readonly token: { readonly id: string; readonly name: string; readonly scope: Scope }
      readonly user: { readonly id: string; readonly name: string }
      /** What holds now: the weaker of the token's scope and its owner's role. */
      readonly scope: Scope
      /** Ids of the projects it is restricted to; empty for no restriction. */
      readonly projects: readonly string[]
      /** Of an owner who is not the same everywhere. */
      readonly rights?: PersonRights
    }
  | {
      /** Over SSH. */
      readonly kind: 'key'
      readonly key: { readonly id: string; readonly name: string }
      readonly user: { readonly id: string; readonly name: string }
      /** As of a session. */
      readonly scope: Scope
      readonly rights?: PersonRights
    }

export interface RequestContext {
  readonly principal: Principal
  readonly requestId: string
  readonly source: AuditEntry['source']
  readonly ip: string
  readonly userAgent: string | null
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal
  /** The `If-Match` header as sent, unquoted; null when absent. */
  readonly ifMatch: string | null
  /** A header as sent; null when absent. */
  header(name: string): string | null
  /** How long the body is said to be; null when nothing is said. */
  readonly contentLength: number | null
  /** `ada` or `ada (token: ci)`. */
  readonly actor: string
  /** An audit entry with who, whence and which request filled in; append it inside the transaction of the change. */
  audit(
    entry: Pick<NewAuditEntry, 'action'> &
      Partial<Pick<NewAuditEntry, 'target' | 'project' | 'outcome' | 'changes' | 'operationId'>>,
  ): NewAuditEntry
}

/** An answer. `body` is an explicit projection; `json` is the same already serialised, for hot lists; bytes are sent as they are. */
export interface Reply<Body> {
  readonly status: number
  readonly body?: Body
  readonly json?: string | Buffer
  /** Sent chunk by chunk, as the reader takes them; `headers` then name the content type. */
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** Bytes `from` to `to`, both included, for a stream whose beginning need not be read for them. */
  part?(range: { readonly from: number; readonly to: number }): AsyncIterable<string | Uint8Array>
  /** How many bytes the stream has. With an `etag` it may be asked for in parts, so that a download can go on. */
  readonly length?: number
  /** Unquoted; becomes a strong ETag. */
  readonly etag?: string
  /** The body changes without the ETag, which guards writes: a read is never answered with 304. */
  readonly isLive?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** Full `Set-Cookie` lines; over TLS the binder adds `Secure` and the prefix `__Host-`. */
  readonly cookies?: readonly string[]
}

export type Handler<Id extends OperationId> = (
  input: ParsedInput<Id>,
  context: RequestContext,
) => Promise<Reply<CallResult<Id> | { plan: unknown }>>

/** One WebSocket of a stream. Every kind of `send` waits while the reader is slow, and throws when it is gone. */
export interface FrameSocket {
  /** Gives the frame a `seq` when it has none. */
  send(frame: { readonly type: string } & Readonly<Record<string, unknown>>): Promise<void>
  /** A text frame that is made already, its `seq` inside: shared between readers. */
  sendText(text: string | Buffer): Promise<void>
  /**
   * A text frame of which all but `type` and `seq` is made and shared: `fields` is its JSON from the first further field on,
   * up to the closing brace. The `seq` is this socket's own.
   */
  sendNumbered(type: string, fields: Buffer): Promise<void>
  sendBinary(bytes: Uint8Array): Promise<void>
  /** Ends when everything that was sent before has left this process: only then may its bytes be used again. Throws when the reader is gone. */
  flushed(): Promise<void>
  /**
   * Hands over what the peer sends, in order and one at a time: while a message is handled, the peer is held. What came
   * before this call is handed over too. What `handle` throws ends the stream as a problem.
   */
  receive(handle: (message: PeerMessage) => void | Promise<void>): void
  /** Aborts when the socket closes, the right to it ends, or the service stops. */
  readonly signal: AbortSignal
}
export type PeerMessage =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'binary'; readonly bytes: Buffer }

export type StreamHandler<Id extends OperationId> = (
  input: ParsedInput<Id>,
  context: RequestContext,
  socket: FrameSocket,
) => Promise<void>

/** Operations whose answer is a WebSocket. */
export type StreamId =
  | 'watchEvents'
  | 'watchProjectLogs'
  | 'watchProjectStats'
  | 'watchAction'
  | 'watchTests'
  | 'watchRun'
  | 'watchTerminal'
  | 'openTerminal'
  | 'watchExec'
/** Answered by the app itself. */
export type OwnOperationId = 'getOpenapi' | 'streamEvents'

export type Handlers = { readonly [Id in Exclude<OperationId, StreamId | OwnOperationId>]: Handler<Id> }
export type StreamHandlers = { readonly [Id in StreamId]: StreamHandler<Id> }
