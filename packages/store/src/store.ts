import type { EngineName, EventRecord, OperationRecord, Secret } from '@stackquay/contract'
import type { Desired, ProjectSpec } from '@stackquay/domain'
import type { StoreCopy } from './copy-store.ts'
import type { AcmeReader, AcmeWriter } from './model/acme.ts'
import type { AddonReader, AddonWriter } from './model/addons.ts'
import type { ArchiveReader, ArchiveWriter } from './model/archives.ts'
import type { AuditReader, AuditWriter } from './model/audit.ts'
import type { BackupCheckReader, BackupCheckWriter } from './model/backup-checks.ts'
import type { BackupScheduleReader, BackupScheduleWriter } from './model/backup-schedules.ts'
import type { BackupTargetReader, BackupTargetWriter } from './model/backup-targets.ts'
import type { BranchReader, BranchWriter } from './model/branches.ts'
import type { CertificateReader, CertificateWriter } from './model/certificates.ts'
import type { CheckpointReader, CheckpointWriter } from './model/checkpoints.ts'
import type { CronReader, CronWriter } from './model/cron.ts'
import type { DeployReader, DeployWriter } from './model/deploys.ts'
import type { DeviceReader, DeviceWriter } from './model/devices.ts'
import type { EventReader, EventWriter } from './model/events.ts'
import type { IdempotencyReader, IdempotencyWriter } from './model/idempotency.ts'
import type { ImageReader, ImageWriter } from './model/images.ts'
import type { InstanceReader, InstanceWriter } from './model/instance.ts'
import type { InviteReader, InviteWriter } from './model/invites.ts'
import type { KeptDataReader, KeptDataWriter } from './model/kept-data.ts'
import type { NetworkReader, NetworkWriter } from './model/network.ts'
import type { NotificationReader, NotificationWriter } from './model/notifications.ts'
import type { OidcReader, OidcWriter } from './model/oidc.ts'
import type { PagePassReader, PagePassWriter } from './model/page-passes.ts'
import type { PortReader, PortWriter } from './model/ports.ts'
import type { ProjectUserReader, ProjectUserWriter } from './model/project-users.ts'
import type { RestoredWriter } from './model/restored.ts'
import type { RunReader, RunWriter } from './model/runs.ts'
import type { SavedQueryReader, SavedQueryWriter } from './model/saved-queries.ts'
import type { SecondFactorReader, SecondFactorWriter } from './model/second-factors.ts'
import type { SecretReader, SecretWriter } from './model/secrets.ts'
import type { SeedReader, SeedWriter } from './model/seeds.ts'
import type { SessionReader, SessionWriter } from './model/sessions.ts'
import type { SettingReader, SettingWriter } from './model/settings.ts'
import type { SnapshotReader, SnapshotWriter } from './model/snapshots.ts'
import type { SshKeyReader, SshKeyWriter } from './model/ssh-keys.ts'
import type { TerminalReader, TerminalWriter } from './model/terminals.ts'
import type { TicketReader, TicketWriter } from './model/tickets.ts'
import type { TokenReader, TokenWriter } from './model/tokens.ts'
import type { TrashReader, TrashWriter } from './model/trash.ts'
import type { UserReader, UserWriter } from './model/users.ts'
import type { WebhookReader, WebhookWriter } from './model/webhooks.ts'
import type { SealingKey } from './sealing.ts'

/**
 * All that the service remembers. Reads see the last committed state. Writes happen inside `transaction` alone, so that
 * state, audit entry and event stand or fall together; `onCommit` listeners get the events after the commit, in order.
 */
export interface Store {
  readonly projects: ProjectReader
  readonly operations: OperationReader
  readonly secrets: SecretReader
  readonly ports: PortReader
  readonly keptData: KeptDataReader
  readonly projectUsers: ProjectUserReader
  readonly images: ImageReader
  readonly users: UserReader
  readonly sessions: SessionReader
  readonly devices: DeviceReader
  readonly invites: InviteReader
  readonly sshKeys: SshKeyReader
  readonly secondFactors: SecondFactorReader
  readonly certificates: CertificateReader
  readonly acme: AcmeReader
  readonly tickets: TicketReader
  readonly pagePasses: PagePassReader
  readonly oidc: OidcReader
  readonly instance: InstanceReader
  readonly tokens: TokenReader
  readonly audit: AuditReader
  readonly events: EventReader
  readonly idempotency: IdempotencyReader
  readonly settings: SettingReader
  readonly runs: RunReader
  readonly terminals: TerminalReader
  readonly webhooks: WebhookReader
  readonly notifications: NotificationReader
  readonly network: NetworkReader
  readonly backupChecks: BackupCheckReader
  readonly backupSchedules: BackupScheduleReader
  readonly backupTargets: BackupTargetReader
  readonly snapshots: SnapshotReader
  readonly checkpoints: CheckpointReader
  readonly addons: AddonReader
  readonly savedQueries: SavedQueryReader
  readonly archives: ArchiveReader
  readonly seeds: SeedReader
  readonly branches: BranchReader
  readonly deploys: DeployReader
  readonly cron: CronReader
  readonly trash: TrashReader
  /**
   * One transaction at a time; waits for the one before. Rolls back when `work` throws. Throws `StoreFullError` or
   * `StoreBusyError` when the disk or another process is in the way; nothing is written then.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  readonly sealing: SealingReader
  /**
   * Seals everything anew in one transaction, in which `work` runs too. The keeper of the key stores it safely
   * before, may forget the old one after `settled`, and gives both to the next opening (`nextKey`) if this was interrupted.
   */
  replaceKey(
    next: SealingKey,
    work: (tx: Transaction, counts: ResealCounts) => Promise<void>,
  ): Promise<ResealCounts & { readonly settled: boolean }>
  /** Called after each commit that appended events. Answers the function that ends it. */
  onCommit(listener: (events: readonly EventRecord[]) => void): () => void
  /** Called after each commit that may have changed port leases, before `transaction` resolves. */
  onLeases(listener: () => void): () => void
  /** Called after each commit in which a session ended, or a user was changed or deleted. Answers the function that ends it. */
  onRights(listener: () => void): () => void
  /** Changes with every transaction: a value read at the same version is still current. Costs nothing. */
  version(): number
  /** See `copyStore`: the last committed state as one new file, without who is logged in. */
  copyTo(file: string, signal?: AbortSignal): Promise<StoreCopy>
  /** `PRAGMA quick_check` and foreign keys: problems found, empty when sound. */
  checkIntegrity(): Promise<readonly string[]>
  close(): Promise<void>
}

/** The writing half. Times come from the store's clock, one instant per transaction; ids from the caller. */
export interface Transaction {
  readonly projects: {
    /** Throws `TakenError` when the slug is held. */
    insert(project: NewProject): Promise<ProjectRow>
    /** Throws `ChangedError` unless the generation is still `expected`. Adds one to the generation when `spec` differs. */
    update(id: string, expected: number, change: ProjectChange): Promise<ProjectRow>
    /**
     * This generation was carried out, with this specification. What was changed since and changes no program counts as carried out too.
     * The texts of secrets that nothing needs any more are forgotten.
     */
    carriedOut(id: string, generation: number, spec: ProjectSpec): Promise<ProjectRow>
    /** Changes that are not a person's wish: no generation is checked or counted. */
    setLifecycle(
      id: string,
      change: {
        desired?: Desired
        /** With `desired: 'sleeping'`; any other state forgets it. */
        asleep?: ProjectRow['asleep']
        phase?: ProjectPhase
        source?: ProjectSource | null
        path?: string
        stateSince?: string
      },
    ): Promise<ProjectRow>
    /** When they were used last. No write of theirs: nothing that is remembered of them becomes outdated by it. */
    used(uses: readonly { readonly id: string; readonly at: string }[]): Promise<void>
    /**
     * Another slug. The one that it had stays its own until `until`, at most five of them; null frees it at once. Throws `TakenError` with the
     * holder when another project has or had it, and `ChangedError` unless the slug is still `expected`.
     */
    rename(id: string, expected: string, slug: string, until: string | null): Promise<ProjectRow>
    /** Removes the project with its secrets and leases; its operations, audit entries and events stay. */
    delete(id: string): Promise<void>
  }
  readonly operations: {
    insert(operation: NewOperation): Promise<OperationRow>
    /** One more request for an operation that waits. Throws `ChangedError` when it waits no longer. */
    merge(id: string, request: Pick<OperationRow, 'kind' | 'input' | 'actor' | 'requestId'>): Promise<OperationRow>
    /** It begins, or begins again after a crash. Null when it has ended meanwhile: cancelled, it does not begin. */
    begin(id: string): Promise<OperationRow | null>
    /** Of one that waits: it never begins. Throws `ChangedError` when it waits no longer. */
    cancel(id: string): Promise<OperationRow>
    update(
      id: string,
      change: Partial<
        Pick<
          OperationRow,
          'state' | 'steps' | 'progress' | 'error' | 'startedAt' | 'finishedAt' | 'attempts' | 'input' | 'generation'
        >
      >,
    ): Promise<OperationRow>
  }
  readonly secrets: SecretWriter
  readonly ports: PortWriter
  readonly keptData: KeptDataWriter
  readonly projectUsers: ProjectUserWriter
  readonly images: ImageWriter
  readonly users: UserWriter
  readonly sessions: SessionWriter
  readonly tickets: TicketWriter
  readonly pagePasses: PagePassWriter
  readonly oidc: OidcWriter
  readonly instance: InstanceWriter
  readonly devices: DeviceWriter
  readonly invites: InviteWriter
  readonly sshKeys: SshKeyWriter
  readonly secondFactors: SecondFactorWriter
  readonly certificates: CertificateWriter
  readonly acme: AcmeWriter
  readonly tokens: TokenWriter
  readonly audit: AuditWriter
  readonly events: EventWriter
  readonly idempotency: IdempotencyWriter
  readonly settings: SettingWriter
  readonly runs: RunWriter
  readonly terminals: TerminalWriter
  readonly webhooks: WebhookWriter
  readonly notifications: NotificationWriter
  readonly network: NetworkWriter
  readonly backupChecks: BackupCheckWriter
  readonly backupSchedules: BackupScheduleWriter
  readonly restored: RestoredWriter
  readonly backupTargets: BackupTargetWriter
  readonly snapshots: SnapshotWriter
  readonly checkpoints: CheckpointWriter
  readonly addons: AddonWriter
  readonly savedQueries: SavedQueryWriter
  readonly archives: ArchiveWriter
  readonly seeds: SeedWriter
  readonly branches: BranchWriter
  readonly deploys: DeployWriter
  readonly cron: CronWriter
  readonly trash: TrashWriter
}

/** In base64url, and the id of the key that seals it. */
export interface Sealed {
  readonly keyId: string
  readonly sealed: string
}

export interface Signature {
  readonly keyId: string
  /** HMAC-SHA-256 in hexadecimal digits. */
  readonly mac: string
}

export interface SealingReader {
  /** Id of the key in use. */
  keyId(): string
  /** Since when it is. */
  since(): Promise<string>
  /** For what is kept outside the store, such as the key of a backup. `about` is bound to it, and is needed to open it. */
  seal(text: string, about: readonly unknown[]): Sealed
  /** Null when it was sealed with another key, is about something else, or was changed. */
  open(sealed: Sealed, about: readonly unknown[]): Secret | null
  /** A keyed checksum that only the key makes; one for another purpose is none. */
  sign(text: string, purpose: string): Signature
  /** False also for one that another key made. */
  isSigned(signature: Signature, text: string, purpose: string): boolean
}

export interface ResealCounts {
  readonly resealed: number
  /** Secrets that could not be opened before either, and stay as they are. */
  readonly unreadable: number
}

export type { Desired }

/** `creating`: its files are not there yet. `deleting`: it is going. `ready`: everything else. */
export type ProjectPhase = 'creating' | 'ready' | 'deleting'

/** Where the files came from, and whether they are ours to delete on a failed creation. */
export type ProjectSource =
  | { readonly kind: 'template'; readonly template: string }
  | { readonly kind: 'git'; readonly url: string; readonly branch: string | null }
  | { readonly kind: 'folder' }
  | { readonly kind: 'copy'; readonly of: string }
  | BranchSource
  | { readonly kind: 'empty' }

/** The environment of a branch of another project. */
export interface BranchSource {
  readonly kind: 'branch'
  readonly of: string
  readonly branch: string
  /** The branch is made for it, from what the other project has checked out. */
  readonly create: boolean
  /** Its data begins as that of the other project. */
  readonly clones: boolean
  /** It has the secrets of the other project, and may push with its credentials. */
  readonly inherits: boolean
  /** Where the commits of a pull request from a fork are; which of them is approved stands with the branch. */
  readonly ref: string | null
}

export interface ProjectRow {
  readonly id: string
  readonly slug: string
  readonly spec: ProjectSpec
  /** Chosen when it was created. */
  readonly engine: EngineName
  readonly generation: number
  /** The generation that was carried out last. */
  readonly observedGeneration: number
  /** The specification of that one; null while it is `spec`, or differs from it in nothing that programs notice. */
  readonly heldSpec: ProjectSpec | null
  readonly desired: Desired
  /** Since when it sleeps, and why: nobody used it, or somebody asked for it. */
  readonly asleep: { readonly since: string; readonly because: 'unused' | 'asked' } | null
  /** As far as that is followed: of projects that sleep by themselves. */
  readonly lastUsedAt: string | null
  readonly phase: ProjectPhase
  readonly path: string
  readonly source: ProjectSource | null
  /** Since when its state is what it is, as the last `setLifecycle` said. */
  readonly stateSince: string
  /** Grows with every write of the row, whatever changed: for caches. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

export type NewProject = Pick<ProjectRow, 'id' | 'slug' | 'spec' | 'engine' | 'desired' | 'phase' | 'path' | 'source'>

export interface ProjectChange {
  readonly spec?: ProjectSpec
  readonly desired?: Desired
  /** With all that came before: nothing is to be done for it. Else `carriedOut` says so when it is. */
  readonly isCarriedOut?: boolean
}

export interface ProjectReader {
  /** Also by a slug that it had and that is still kept for it. */
  find(idOrSlug: string): Promise<ProjectRow | null>
  /** By creation; `cursor` is the id of the last one seen. `ids` restricts. */
  list(options: { limit: number; cursor?: string; q?: string; ids?: readonly string[] }): Promise<readonly ProjectRow[]>
  all(): Promise<readonly ProjectRow[]>
  /** Cheap: what is needed to tell whether a cached representation is still right. */
  revisions(options: { limit: number; cursor?: string }): Promise<readonly { id: string; revision: number }[]>
}

export interface OperationRow extends OperationRecord {
  /** Everything needed to run it again after a crash; never a secret. */
  readonly input: Readonly<Record<string, unknown>>
  readonly attempts: number
  readonly requestId: string | null
}

export type NewOperation = Pick<OperationRow, 'id' | 'kind' | 'project' | 'actor' | 'input' | 'requestId'> & {
  /** Nothing is before it: it runs from now on. Default: false, it waits. */
  readonly begins?: boolean
}

/** One that takes its turn among those of a project. */
export type ProjectOperation = OperationRow & { readonly project: string }

export interface OperationReader {
  find(id: string): Promise<OperationRow | null>
  /** Newest first. */
  list(options: {
    limit: number
    cursor?: string
    project?: string
    projects?: readonly string[]
    state?: string
    active?: boolean
  }): Promise<readonly OperationRow[]>
  active(project: string): Promise<ProjectOperation | null>
  /** What runs and waits for the project, in this order. */
  unfinishedOf(project: string): Promise<readonly ProjectOperation[]>
  unfinished(): Promise<readonly OperationRow[]>
}
