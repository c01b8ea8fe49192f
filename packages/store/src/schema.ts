import type { Generated } from 'kysely'
import type {
  DevicesTable,
  InvitesTable,
  OidcIdentitiesTable,
  OidcSessionsTable,
  PagePassesTable,
  PasskeysTable,
  RecoveryCodesTable,
  SessionsTable,
  SessionTicketsTable,
  SshKeysTable,
  TokensTable,
  TotpTable,
  UsersTable,
} from './schema-access.ts'
import type { AcmeAttemptsTable } from './schema-acme.ts'
import type {
  ArchivesTable,
  BackupChecksTable,
  BackupCopiesTable,
  BackupCopyLeftoversTable,
  BackupCopyPiecesTable,
  BackupSchedulesTable,
  BackupTargetsTable,
  CheckpointsTable,
  DatabaseSeedsTable,
  SnapshotsTable,
} from './schema-backups.ts'
import type { CertificatesTable } from './schema-certificates.ts'
import type { BranchesTable, DeploysTable, GitDeliveriesTable, GitRefusalsTable } from './schema-deploys.ts'
import type { DomainsTable, FormerSlugsTable, ProxyRulesTable, SharesTable } from './schema-network.ts'
import type {
  NotificationChannelsTable,
  NotificationDeliveriesTable,
  NotificationGroupsTable,
} from './schema-notifications.ts'
import type { TrashSecretsTable, TrashTable } from './schema-trash.ts'

/**
 * The tables as they are stored: times as RFC 3339 text in UTC with milliseconds (so that they sort), structures as JSON
 * text, yes and no as 1 and 0.
 */
export interface Schema {
  projects: ProjectsTable
  operations: OperationsTable
  secrets: SecretsTable
  secret_versions: SecretVersionsTable
  port_leases: PortLeasesTable
  kept_data: KeptDataTable
  users: UsersTable
  sessions: SessionsTable
  devices: DevicesTable
  invites: InvitesTable
  ssh_keys: SshKeysTable
  totp: TotpTable
  recovery_codes: RecoveryCodesTable
  passkeys: PasskeysTable
  certificates: CertificatesTable
  acme_attempts: AcmeAttemptsTable
  session_tickets: SessionTicketsTable
  page_passes: PagePassesTable
  oidc_identities: OidcIdentitiesTable
  oidc_sessions: OidcSessionsTable
  tokens: TokensTable
  audit: AuditTable
  events: EventsTable
  idempotency: IdempotencyTable
  settings: NamedValueTable
  runs: RunsTable
  test_cases: TestCasesTable
  terminals: TerminalsTable
  webhooks: WebhooksTable
  webhook_deliveries: WebhookDeliveriesTable
  notification_channels: NotificationChannelsTable
  notification_groups: NotificationGroupsTable
  notification_deliveries: NotificationDeliveriesTable
  domains: DomainsTable
  former_slugs: FormerSlugsTable
  proxy_rules: ProxyRulesTable
  shares: SharesTable
  workload_images: WorkloadImagesTable
  image_pins: ImagePinsTable
  project_users: ProjectUsersTable
  backup_checks: BackupChecksTable
  backup_schedules: BackupSchedulesTable
  backup_targets: BackupTargetsTable
  backup_copies: BackupCopiesTable
  backup_copy_leftovers: BackupCopyLeftoversTable
  backup_copy_pieces: BackupCopyPiecesTable
  snapshots: SnapshotsTable
  checkpoints: CheckpointsTable
  archives: ArchivesTable
  database_seeds: DatabaseSeedsTable
  cron_jobs: CronJobsTable
  addons: AddonsTable
  saved_queries: SavedQueriesTable
  branches: BranchesTable
  deploys: DeploysTable
  git_deliveries: GitDeliveriesTable
  git_refusals: GitRefusalsTable
  trash: TrashTable
  trash_secrets: TrashSecretsTable
  /** About the database itself: key check, head of the audit chain. */
  instance: NamedValueTable
  migrations: MigrationsTable
}

export interface AddonsTable {
  name: string
  yaml: string
  definition: string
  created_at: string
  updated_at: string
}

export interface SavedQueriesTable {
  id: string
  project: string
  name: string
  database: string | null
  sql: string
  created_at: string
  updated_at: string
}

export interface CronJobsTable {
  project: string
  name: string
  schedule: string
  timezone: string
  counts_from: string
  active: number
  skipped_at: string | null
  skipped_because: string | null
}

export interface ProjectsTable {
  id: string
  slug: string
  engine: string
  desired: string
  phase: string
  path: string
  source: string | null
  generation: number
  revision: number
  state_since: string
  created_at: string
  updated_at: string
  observed_generation: number
  /** Null while it is `spec`. */
  held_spec: string | null
  /** Slug and name in lower case, for `?q=`. */
  search: string
  spec: string
  /** JSON; only while `desired` is `sleeping`. */
  asleep: string | null
  last_used_at: string | null
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
  generation: number | null
  requested_by: string | null
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

/** Texts of secrets of projects that newer ones replaced, until those are carried out. */
export interface SecretVersionsTable {
  secret: string
  project: string
  version: number
  key_id: string
  sealed: string
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

export interface ProjectUsersTable {
  number: Generated<number>
  project: string | null
  name: string
  uid: number
  gid: number
  owner: Generated<number>
  before_uid: number | null
  before_gid: number | null
  spare: Generated<number>
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

export interface RunsTable {
  id: string
  project: string
  kind: string
  name: string
  label: string
  runtime: string | null
  state: string
  phase: string | null
  filter: string | null
  /** Names the source it ran on: a test with both outcomes on one source is flaky. Null when the source is unknown. */
  source: string | null
  exit_code: number | null
  signal: string | null
  error: string | null
  counts: string | null
  actor: string
  request_id: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** Where results are read from once it ended, and what else must be taken up after a crash. JSON, never a secret. */
  plan: string
}

export interface TestCasesTable {
  run: string
  position: number
  name: string
  /** `group` is a word of SQL. */
  case_group: string | null
  file: string | null
  line: number | null
  outcome: string
  seconds: number | null
  message: string | null
  details: string | null
  flaky: number
}

export interface TerminalsTable {
  id: string
  project: string
  workload: string | null
  title: string
  actor: string
  owner: string
  exit_code: number | null
  signal: string | null
  cause: string | null
  created_at: string
  ended_at: string | null
}

export interface WebhooksTable {
  id: string
  name: string
  url: string
  events: string
  projects: string
  enabled: number
  disabled_reason: string | null
  created_at: string
  /** Since when every delivery has failed; null while they arrive. */
  failing_since: string | null
}

export interface WebhookDeliveriesTable {
  id: string
  webhook: string
  event_seq: number | null
  type: string
  project: string | null
  state: string
  attempts: string
  next_attempt_at: string | null
  payload: string
  created_at: string
}

export interface WorkloadImagesTable {
  project: string
  workload: string
  reference: string
  /** Id of the build. */
  image: string
  first_used: string
  last_used: string
}

export interface ImagePinsTable {
  project: string
  workload: string
  reference: string
  image: string
}
