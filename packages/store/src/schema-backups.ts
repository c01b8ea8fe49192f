/* Tables of backups and snapshots. Backups themselves are folders, snapshots kept data. */

export interface BackupChecksTable {
  backup: string
  checked_at: string
  outcome: string
  seconds: number
  checks: string
}

export interface BackupSchedulesTable {
  project: string
  cron: string
  timezone: string
  keep: string
  verify: string
  times_set_at: string
  keep_set_at: string
  counts_from: string
  late: number
  last_operation: string | null
  last_verified: string | null
  targets: string
  keep_on_targets: string | null
}

export interface BackupTargetsTable {
  id: string
  name: string
  kind: string
  settings: string
  created_at: string
  checked_at: string
}

export interface SnapshotsTable {
  id: string
  project: string
  database: string
  data: string
  part: string
  type: string
  version: string | null
  name: string
  source: string
  method: string
  bytes: number
  milliseconds: number
  created_at: string
  /** Of the base of an archive: which one, and the first piece of its log that it needs. */
  archive: string | null
  piece: string | null
}

export interface ArchivesTable {
  id: string
  project: string
  database: string
  data: string
  keep_days: number
  begun_at: string
  ended_at: string | null
}

export interface CheckpointsTable {
  id: string
  project: string
  name: string
  source: string
  engine: string
  parts: string
  warnings: string
  milliseconds: number
  created_at: string
}

export interface DatabaseSeedsTable {
  project: string
  data: string
  state: string
  at: string
}

export interface BackupCopiesTable {
  target: string
  backup: string
  state: string
  at: string
}

export interface BackupCopyPiecesTable {
  target: string
  backup: string
  number: number
  bytes: number
  sha256: string
  content_sha256: string
}

export interface BackupCopyLeftoversTable {
  target: string
  backup: string
}
