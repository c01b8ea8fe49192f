/* Tables of deploys. */

export interface DeploysTable {
  id: string
  project: string
  trigger_kind: string
  actor: string
  forge: string | null
  state: string
  branch: string | null
  from_commit: string | null
  commit_id: string | null
  rolled_back: number
  reason: string | null
  operation: string | null
  reported: string | null
  created_at: string
  finished_at: string | null
  /** The four are set together. The last three: JSON. */
  generation: number | null
  installed_from: string | null
  images: string | null
  runtimes: string | null
}

/** The last delivery of a project that was not signed right. */
export interface GitRefusalsTable {
  project: string
  at: string
  reason: string
}

export interface GitDeliveriesTable {
  project: string
  seq: number
  id: string
  digest: string | null
  at: string
  forge: string
  event: string
  ref: string | null
  commit_id: string | null
  outcome: string
  reason: string | null
  deploy: string | null
  /** JSON of a pull request that is not followed yet. */
  pending: string | null
}

export interface BranchesTable {
  parent: string
  branch: string
  project: string | null
  actor: string
  created_at: string
  seen_commit: string | null
  gone_at: string | null
  warning: string | null
  pull_request: string | null
}
