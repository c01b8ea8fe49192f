import type { Generated } from 'kysely'

/**
 * The tables as they are stored: times as RFC 3339 text in UTC with milliseconds (so that they sort), structures as JSON
 * text, yes and no as 1 and 0.
 */
export interface Schema {
  projects: ProjectsTable
  operations: OperationsTable
  secrets: SecretsTable
  port_leases: PortLeasesTable
  kept_data: KeptDataTable
  users: UsersTable
  sessions: SessionsTable
  tokens: TokensTable
  audit: AuditTable
  events: EventsTable
  idempotency: IdempotencyTable
  settings: NamedValueTable
  /** About the database itself: key check, head of the audit chain. */
  instance: NamedValueTable
  migrations: MigrationsTable
}

export interface ProjectsTable {
  id: string
  slug: string
  desired: string
  phase: string
  path: string
  source: string | null
  generation: number
  revision: number
  state_since: string
  created_at: string
  updated_at: string
  /** Slug and name in lower case, for `?q=`. */
  search: string
  spec: string
}

export interface OperationsTable {
  id: string
  kind: string
  project: string
  actor: string
  state: string
  progress: number
  attempts: number
  request_id: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  error: string | null
  input: string
  steps: string
}

export interface SecretsTable {
  id: string
  /** Null: the instance's. */
  project: string | null
  name: string
  version: number
  key_id: string
  sealed: string
  created_at: string
  updated_at: string
}

export interface PortLeasesTable {
  project: string
  workload: string
  port: string
  host_port: number
}

export interface KeptDataTable {
  project: string
  name: string
  version: string
  kept_at: string | null
}

export interface UsersTable {
  id: string
  username: string
  role: string
  disabled: number
  password_hash: string
  created_at: string
}

export interface SessionsTable {
  id: string
  hash: string
  csrf_token: string
  user: string
  ip: string | null
  user_agent: string | null
  created_at: string
  last_seen_at: string
  expires_at: string
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

export interface AuditTable {
  seq: number
  id: string
  time: string
  actor: string
  action: string
  target: string | null
  project: string | null
  outcome: string
  changes: string
  request_id: string | null
  operation_id: string | null
  source: string
  ip: string | null
  user_agent: string | null
  prev_hash: string
  hash: string
  /** What `?q=` looks at, in lower case. Derived, so not part of the hash. */
  search: string
}

export interface EventsTable {
  seq: Generated<number>
  time: string
  type: string
  project: string | null
  data: string
}

export interface IdempotencyTable {
  caller: string
  key: string
  fingerprint: string
  /** Null while the request runs. */
  status: number | null
  headers: string | null
  body: string | null
  created_at: string
}

export interface MigrationsTable {
  version: number
  name: string
  applied_at: string
}

export interface NamedValueTable {
  name: string
  value: string
}
