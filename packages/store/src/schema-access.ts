/* Tables of people, and of what they log in with. */

export interface UsersTable {
  id: string
  username: string
  /** `none` for no role but on projects. */
  role: string
  /** Ids as JSON. */
  projects: string
  /** `[{ project, role }]` as JSON. */
  project_roles: string
  disabled: number
  /** Empty for whoever has none yet. */
  password_hash: string
  created_at: string
}

export interface InvitesTable {
  hash: string
  user: string
  created_at: string
  expires_at: string
}

export interface SessionsTable {
  id: string
  cookie_hash: string
  key_hash: string
  user: string
  ip: string | null
  user_agent: string | null
  created_at: string
  last_seen_at: string
  expires_at: string
}

export interface DevicesTable {
  id: string
  hash: string
  user: string
  ip: string | null
  user_agent: string | null
  created_at: string
  last_used_at: string
}

export interface SshKeysTable {
  id: string
  user: string
  name: string
  type: string
  public_key: string
  fingerprint: string
  created_at: string
  last_used_at: string | null
}

export interface PagePassesTable {
  hash: string
  session: string
  project: string
  service: string
  created_at: string
  expires_at: string
}

export interface OidcIdentitiesTable {
  issuer: string
  subject: string
  user: string
  managed: number
  name: string | null
  created_at: string
  last_sign_in_at: string | null
}

export interface OidcSessionsTable {
  session: string
  issuer: string
  subject: string
  refresh_at: string | null
  failing_since: string | null
}

export interface SessionTicketsTable {
  hash: string
  session: string
  /** Path and query of the one address that it opens. */
  target: string
  created_at: string
  /** When it began its answer; null until then. */
  begun_at: string | null
}

export interface TokensTable {
  id: string
  hash: string
  prefix: string
  name: string
  owner: string
  scope: string
  projects: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

export interface TotpTable {
  user: string
  key_id: string
  sealed: string
  /** Of the last code that was accepted. */
  last_step: number
  failures: number
  created_at: string
}

/** One that was used is gone. */
export interface RecoveryCodesTable {
  hash: string
  user: string
}

export interface PasskeysTable {
  id: string
  user: string
  name: string
  credential: string
  public_key: string
  counter: number
  transports: string
  rp_id: string
  created_at: string
  last_used_at: string | null
}
