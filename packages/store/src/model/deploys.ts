import type { Deploy, Forge, GitDelivery, GitRefusedDelivery } from '@stackquay/contract'
import type { PullRequestEvent } from '@stackquay/domain'

export interface DeployRow extends Deploy {
  readonly project: string
  /** Which is told how it went; null where no forge asked. */
  readonly forge: Forge | null
}

export type NewDeploy = Pick<DeployRow, 'id' | 'project' | 'trigger' | 'actor' | 'forge' | 'branch' | 'commit'> & {
  readonly state: 'waiting' | 'running'
  readonly operation: string | null
}

/** What becomes another. */
export type DeployChange = Partial<
  Pick<
    DeployRow,
    | 'state'
    | 'branch'
    | 'from'
    | 'commit'
    | 'rolledBack'
    | 'reason'
    | 'operation'
    | 'reported'
    | 'finishedAt'
    | 'release'
  >
>

export type NewDelivery = Omit<GitDelivery, 'at'> & {
  readonly project: string
  /** Of the signed body; null where the body is not what is signed. */
  readonly digest: string | null
  /** The pull request that it tells of, until that is followed. */
  readonly pending: PullRequestEvent | null
}

/** A pull request that was told of and is not followed yet. */
export interface PendingPullRequest extends Pick<NewDelivery, 'project' | 'id' | 'forge'> {
  readonly pending: PullRequestEvent
}

export interface DeployReader {
  find(id: string): Promise<DeployRow | null>
  /** Newest first. */
  list(options: { project: string; limit: number; cursor?: string }): Promise<readonly DeployRow[]>
  /** Of all projects, oldest first. */
  inState(state: 'waiting' | 'running'): Promise<readonly DeployRow[]>
  /** Ended ones that a forge asked for and was not told of, oldest first. */
  unreported(): Promise<readonly DeployRow[]>
  /** Newest first. */
  deliveries(project: string, limit: number): Promise<readonly GitDelivery[]>
  /** When a delivery of this id, or with this signed body, came first; null when none did. */
  receivedBefore(project: string, id: string, digest: string | null): Promise<string | null>
  /** Oldest first, of all projects or one. */
  pendingPullRequests(project?: string): Promise<readonly PendingPullRequest[]>
  /** The last delivery that was not signed right, since there is the present secret. */
  refused(project: string): Promise<GitRefusedDelivery | null>
}

export interface DeployWriter {
  insert(deploy: NewDeploy): Promise<DeployRow>
  /** Null when it is gone. */
  update(id: string, change: DeployChange): Promise<DeployRow | null>
  /** What waits for the project gives way to a newer one. */
  supersede(project: string, reason: string): Promise<readonly DeployRow[]>
  insertDelivery(delivery: NewDelivery): Promise<void>
  /** What followed of a delivery; nothing of it is pending any more. */
  settleDelivery(
    delivery: Pick<NewDelivery, 'project' | 'id'>,
    followed: Pick<NewDelivery, 'outcome' | 'reason' | 'deploy'>,
  ): Promise<void>
  /** Takes the place of the one before; null: there is none any more. */
  putRefused(project: string, refused: GitRefusedDelivery | null): Promise<void>
  /** Of a project. */
  keepNewest(project: string, deploys: number, deliveries: number): Promise<void>
}
