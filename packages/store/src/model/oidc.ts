/** Who somebody is at a provider. Issuer and subject alone say it: names and e-mail addresses change hands. */
export interface OidcIdentityRow {
  readonly issuer: string
  readonly subject: string
  readonly user: string
  /** The account was made by the first sign-in: its role follows the provider. */
  readonly managed: boolean
  /** What the provider calls the person, to be shown. */
  readonly name: string | null
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

/** A session that began at a provider. Its tokens are sealed apart. */
export interface OidcSessionRow {
  readonly session: string
  readonly issuer: string
  readonly subject: string
  /** When the provider is asked again; null where it gave nothing to ask with. */
  readonly refreshAt: string | null
  /** Since when it does not answer. */
  readonly failingSince: string | null
}

export interface OidcReader {
  identity(issuer: string, subject: string): Promise<OidcIdentityRow | null>
  ofUser(user: string): Promise<readonly OidcIdentityRow[]>
  session(id: string): Promise<OidcSessionRow | null>
  sessions(): Promise<readonly OidcSessionRow[]>
}

export interface OidcWriter {
  /** In place of what the user had there. Throws `TakenError` with the user who is that person already. */
  link(identity: Omit<OidcIdentityRow, 'createdAt' | 'lastSignInAt'>): Promise<void>
  unlink(user: string): Promise<void>
  signedIn(issuer: string, subject: string, name: string | null): Promise<void>
  openSession(session: Omit<OidcSessionRow, 'failingSince'>): Promise<void>
  updateSession(id: string, change: Pick<OidcSessionRow, 'refreshAt' | 'failingSince'>): Promise<void>
}
