import type { UserRow } from './users.ts'

export interface SessionRow {
  readonly id: string
  readonly cookieHash: string
  readonly user: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly expiresAt: string
  readonly ip: string | null
  readonly userAgent: string | null
}

export interface KnownSession {
  readonly session: SessionRow
  readonly user: UserRow
}

export interface SessionReader {
  /**
   * The session of a key's hash with its user; expired, idle or disabled ones are not found. The caller compares the
   * hash of the cookie: the key alone is half a session.
   */
  byKey(keyHash: string): Promise<KnownSession | null>
  /** The same by its id, for a ticket and for streams that are open. */
  byId(id: string): Promise<KnownSession | null>
  of(user: string): Promise<readonly SessionRow[]>
}

export interface SessionWriter {
  insert(session: {
    id: string
    /** SHA-256 of what the browser keeps as a cookie. */
    cookieHash: string
    /** SHA-256 of what the page keeps for its origin. */
    keyHash: string
    user: string
    ip: string | null
    userAgent: string | null
    expiresAt: string
  }): Promise<SessionRow>
  touch(id: string): Promise<void>
  delete(id: string): Promise<void>
  deleteOfUser(user: string, except?: string): Promise<void>
  /** Ends all of them and answers how many there were. */
  deleteAll(): Promise<number>
}
