/** A link that was given to a person: whoever opens it sets their password. */
export interface InviteRow {
  readonly user: string
  readonly createdAt: string
  readonly expiresAt: string
}

export interface InviteReader {
  /** By the SHA-256 of its code; null once its time is over or its person is disabled. */
  find(hash: string): Promise<InviteRow | null>
  /** Those that still hold. */
  live(): Promise<readonly InviteRow[]>
}

export interface InviteWriter {
  /** Ends the earlier one of that person. */
  put(invite: { readonly hash: string; readonly user: string; readonly expiresAt: string }): Promise<void>
  /** Takes it: of two who come at once one gets true. */
  take(hash: string): Promise<boolean>
  deleteOfUser(user: string): Promise<void>
}
