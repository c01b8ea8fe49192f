import type { Principal } from './handler.ts'

/** Tells who calls, by what is committed now: a revocation, an expiry or a demotion holds for the very next request. */
export interface Authenticator {
  /**
   * Anonymous without credentials; throws `unauthorized` for credentials that are not valid. A request with an
   * Authorization header is judged by that alone, never by its cookie. A cookie without the session's key is nobody.
   */
  authenticate(credentials: Credentials, options?: AuthenticateOptions): Principal | Promise<Principal>
  /** The session that made the ticket, when its cookie came too. Throws `ticket_invalid`. */
  authenticateTicket(credentials: Credentials, use: TicketedRequest): Promise<SessionPrincipal>
  /** For streams that are open, whatever began them: the session as it is now. Throws `unauthorized`. */
  sessionAgain(session: string): Promise<SessionPrincipal>
  /** Writes the last uses that are still in memory. */
  close(): Promise<void>
}

export interface Credentials {
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  readonly 'x-csrf-token'?: string | readonly string[] | undefined
}

export interface TicketedRequest {
  readonly ticket: string
  readonly target: string
  readonly resumes: boolean
  readonly secure: boolean
}

export interface AuthenticateOptions {
  /** Whether the request came over TLS: the cookie has another name then. */
  readonly secure?: boolean
  /** False for the watch over open streams: waiting is no use, and must not keep an idle session alive. */
  readonly use?: boolean
}

export type SessionPrincipal = Principal & { readonly kind: 'session' }

export const anonymous: Principal = Object.freeze({ kind: 'anonymous' })
