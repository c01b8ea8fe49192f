import type { BranchPullRequest } from '@stackquay/contract'

/** The environment of a branch, or a pull request that waits for one. */
export interface BranchRow {
  readonly parent: string
  readonly branch: string
  /** Null: it waits to be approved. */
  readonly project: string | null
  readonly actor: string
  readonly createdAt: string
  /** What the remote had on the branch when it was last seen there; null: never. */
  readonly seenCommit: string | null
  /** Since when the remote has no such branch. */
  readonly goneAt: string | null
  readonly warning: string | null
  readonly pullRequest: BranchPullRequest | null
}

export interface BranchReader {
  /** Oldest first. */
  of(parent: string): Promise<readonly BranchRow[]>
  all(): Promise<readonly BranchRow[]>
  find(parent: string, branch: string): Promise<BranchRow | null>
  ofProject(project: string): Promise<BranchRow | null>
}

export interface BranchWriter {
  /** In place of one of the same branch. */
  put(row: Omit<BranchRow, 'createdAt'>): Promise<void>
  update(
    parent: string,
    branch: string,
    change: Partial<Pick<BranchRow, 'seenCommit' | 'goneAt' | 'warning' | 'pullRequest'>>,
  ): Promise<void>
  delete(parent: string, branch: string): Promise<void>
}
