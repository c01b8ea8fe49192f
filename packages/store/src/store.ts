import type {
  AuditEntry,
  EngineName,
  EventRecord,
  OperationRecord,
  ProxyRules,
  Run,
  Scope,
  Secret,
  Share,
  Terminal,
  WebhookDelivery,
} from '@stackquay/contract'
import type { ProjectSpec } from '@stackquay/domain'
import type { SealingKey } from './sealing.ts'

/**
 * All that the service remembers. Reads see the last committed state. Writes happen inside `transaction` alone, so that
 * state, audit entry and event stand or fall together; `onCommit` listeners hear of events after the commit, in order.
 */
export interface Store {
  readonly projects: ProjectQuestions
  readonly operations: OperationQuestions
  readonly secrets: SecretQuestions
  readonly ports: PortQuestions
  readonly keptData: KeptDataQuestions
  readonly projectUsers: ProjectUserReader
  readonly images: ImageQuestions
  readonly users: UserQuestions
  readonly sessions: SessionQuestions
  readonly devices: DeviceReader
  readonly tickets: TicketReader
  readonly instance: InstanceReader
  readonly tokens: TokenQuestions
  readonly audit: AuditQuestions
  readonly events: EventQuestions
  readonly idempotency: IdempotencyQuestions
  readonly settings: SettingQuestions
  readonly runs: RunQuestions
  readonly terminals: TerminalQuestions
  readonly webhooks: WebhookQuestions
  readonly network: NetworkQuestions
  /**
   * One transaction at a time; waits for the one before. Rolls back when `work` throws. Throws `StoreFullError` or
   * `StoreBusyError` when the disk or another process is in the way; nothing is written then.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  readonly sealing: SealingQuestions
  /**
   * Seals everything anew in one transaction, in which `work` runs too. Whoever keeps the key must have it in a safe place
   * before, may forget the old one after `settled`, and needs both at the next opening (`nextKey`) if this was cut off.
   */
  replaceKey(
    next: SealingKey,
    work: (tx: Transaction, counts: ResealCounts) => Promise<void>,
  ): Promise<ResealCounts & { readonly settled: boolean }>
  /** Called after each commit that appended events. Answers the function that ends it. */
  onCommit(listener: (events: readonly EventRecord[]) => void): () => void
  /** Called after each commit that may have changed leases of ports, before its transaction ends for who asked. */
  onLeases(listener: () => void): () => void
  /** Another number after every transaction: what was read at this one is still what is stored. Costs nothing to ask. */
  version(): number
  /** `PRAGMA quick_check` and foreign keys: problems found, empty when sound. */
  checkIntegrity(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface SealingQuestions {
  /** Id of the key in use. */
  keyId(): string
  /** Since when it is. */
  since(): Promise<string>
}

export interface ResealCounts {
  readonly resealed: number
  /** Secrets that could not be opened before either, and stay as they are. */
  readonly unreadable: number
}

/** The writing half. Times come from the store's clock, one instant per transaction; ids from the caller. */
export interface Transaction {
  readonly projects: {
    /** Throws `TakenError` when the slug is held. */
    insert(project: NewProject): Promise<ProjectRow>
    /** Throws `ChangedError` unless the generation is still `expected`. Adds one to the generation when `spec` differs. */
    update(id: string, expected: number, change: ProjectChange): Promise<ProjectRow>
    /** Changes that are not a person's wish: no generation is checked or counted. */
    setLifecycle(
      id: string,
      change: {
        desired?: Desired
        phase?: ProjectPhase
        source?: ProjectSource | null
        path?: string
        stateSince?: string
      },
    ): Promise<ProjectRow>
    /** Removes the project with its secrets and leases; its operations, audit entries and events stay. */
    delete(id: string): Promise<void>
  }
  readonly operations: {
    insert(operation: NewOperation): Promise<OperationRow>
    update(
      id: string,
      change: Partial<
        Pick<OperationRow, 'state' | 'steps' | 'progress' | 'error' | 'startedAt' | 'finishedAt' | 'attempts'>
      >,
    ): Promise<OperationRow>
  }
  readonly secrets: {
    /** Seals `text` under (project, name); a second call with another text adds one to the version, with the same text nothing. `project` null: the instance's. */
    put(project: string | null, name: string, text: string): Promise<SecretHandle>
    delete(project: string | null, name: string): Promise<void>
  }
  readonly ports: {
    /** The lease of (project, workload, port); makes one on a port of `candidates` nobody else holds. Throws `NoPortError`. */
    lease(project: string, workload: string, port: string, candidates: Iterable<number>): Promise<number>
    /** Gives a lease another port, because a foreign program took it while the project was stopped. */
    move(project: string, workload: string, port: string, candidates: Iterable<number>): Promise<number>
    release(project: string, workload?: string): Promise<void>
  }
  readonly keptData: {
    /** This version is about to run over the data. */
    writtenBy(project: string, name: string, version: string): Promise<void>
    /** From now on nothing uses the data, or something does again. No change for data that nothing has written. */
    setKept(project: string, name: string, isKept: boolean): Promise<void>
    delete(project: string, name: string): Promise<void>
  }
  readonly projectUsers: {
    /** A number that was never given before. `name` makes the user's name of it. */
    add(user: {
      readonly project: string
      readonly name: (number: number) => string
      readonly uid: number
      readonly gid: number
      readonly before: UserIds | null
      /** Default: false. */
      readonly isOwner?: boolean
    }): Promise<ProjectUser>
    /** Somebody else on the machine had that uid. */
    setIds(number: number, ids: UserIds): Promise<void>
    /** All files of the project are its own user's now. */
    setMoved(number: number): Promise<void>
    /** The project is gone; its number and uid stay taken. */
    retire(project: string): Promise<void>
  }
  readonly images: {
    /** A workload runs from this build now. The builds of one image that it had last are remembered. */
    used(project: string, image: WorkloadImage): Promise<void>
    /** From now on the workload stays with this build, whatever its reference comes to mean. */
    pin(project: string, image: WorkloadImage): Promise<void>
    unpin(project: string, workload: string, reference: string): Promise<void>
  }
  readonly users: {
    insert(user: { id: string; username: string; role: Scope; passwordHash: string }): Promise<UserRow>
    update(id: string, change: Partial<Pick<UserRow, 'role' | 'disabled' | 'passwordHash'>>): Promise<UserRow>
    delete(id: string): Promise<void>
  }
  readonly sessions: {
    insert(session: {
      id: string
      /** SHA-256 of what the browser keeps as a cookie. */
      cookieHash: string
      /** SHA-256 of what the page keeps for its origin. */
      keyHash: string
      user: string
      ip: string | null
      userAgent: string | null
      expiresAt: string
    }): Promise<SessionRow>
    touch(id: string): Promise<void>
    delete(id: string): Promise<void>
    deleteOfUser(user: string, except?: string): Promise<void>
    /** Ends all of them and answers how many there were. */
    deleteAll(): Promise<number>
  }
  readonly tickets: {
    /** Deletes those that can open nothing any more on its way. */
    insert(ticket: { hash: string; session: string; target: string }): Promise<void>
    /** True for one caller alone, and only while it may begin: of two at once, one is too late. */
    begin(hash: string): Promise<boolean>
  }
  readonly instance: {
    set(name: InstanceValue, value: string): Promise<void>
  }
  readonly devices: {
    /** Beyond a number of them, those of the user that were not used for the longest go. */
    insert(device: {
      id: string
      hash: string
      user: string
      ip: string | null
      userAgent: string | null
    }): Promise<DeviceRow>
    touch(id: string): Promise<void>
    delete(id: string): Promise<void>
    /** Answers how many there were. */
    deleteOfUser(user: string): Promise<number>
  }
  readonly tokens: {
    /** Throws `TakenError` when the owner has one of that name. */
    insert(token: {
      id: string
      hash: string
      prefix: string
      name: string
      owner: string
      scope: Scope
      projects: readonly string[]
      expiresAt: string | null
    }): Promise<TokenRow>
    delete(id: string): Promise<void>
    /** Written in batches by the caller: last use may lag a minute. */
    touch(uses: ReadonlyMap<string, string>): Promise<void>
  }
  readonly audit: {
    /** Chains the entry to the one before. */
    append(entry: NewAuditEntry): Promise<AuditEntry>
  }
  readonly events: {
    append(event: {
      type: EventRecord['type']
      project: string | null
      data: Record<string, unknown>
    }): Promise<EventRecord>
    /** Forgets events below a sequence number. */
    trim(below: number): Promise<void>
  }
  readonly idempotency: {
    /** Reserves the key for this request; answers what is stored when it is taken. */
    reserve(
      caller: string,
      key: string,
      fingerprint: string,
    ): Promise<{ reserved: true } | { reserved: false; stored: StoredAnswer }>
    complete(
      caller: string,
      key: string,
      answer: { status: number; headers: Record<string, string>; body: string },
    ): Promise<void>
    /** After a request that failed in the service (5xx) or was ended, so that it can be sent again. */
    forget(caller: string, key: string): Promise<void>
    expire(before: string): Promise<void>
    /** Once, at the start of the service: requests that were running when it ended can be sent again. */
    forgetRunning(): Promise<void>
  }
  readonly settings: { set(name: string, value: unknown): Promise<void> }
  readonly runs: {
    insert(run: NewRun): Promise<RunRow>
    /** Throws `ChangedError` when it is not there any more. */
    update(id: string, change: RunChange): Promise<RunRow>
    /** Replaces the tests of a run. */
    putCases(run: string, cases: readonly Omit<TestCaseRow, 'position'>[]): Promise<void>
    /** Forgets ended runs but the newest `count` of a name. Answers the ids of those forgotten, at most a thousand. */
    keepNewest(project: string, kind: Run['kind'], name: string, count: number): Promise<readonly string[]>
  }
  readonly terminals: {
    insert(
      terminal: Pick<TerminalRow, 'id' | 'project' | 'workload' | 'title' | 'actor' | 'owner'>,
    ): Promise<TerminalRow>
    /** Only the first call counts. */
    ended(
      id: string,
      end: { exitCode: number | null; signal: string | null; cause: Terminal['cause']; at: string },
    ): Promise<void>
    delete(id: string): Promise<void>
  }
  readonly webhooks: {
    /** Throws `TakenError` when the name is held. Its secret is sealed apart, as `webhook/<id>`. */
    insert(webhook: Pick<WebhookRow, 'id' | 'name' | 'url' | 'events' | 'projects' | 'enabled'>): Promise<WebhookRow>
    update(id: string, change: Partial<Omit<WebhookRow, 'id' | 'createdAt'>>): Promise<WebhookRow>
    delete(id: string): Promise<void>
    insertDelivery(
      delivery: Pick<DeliveryRow, 'id' | 'webhook' | 'eventSeq' | 'type' | 'project' | 'nextAttemptAt' | 'payload'>,
    ): Promise<DeliveryRow>
    /** Null when it was forgotten meanwhile. */
    updateDelivery(
      id: string,
      change: Pick<DeliveryRow, 'state' | 'attempts' | 'nextAttemptAt'>,
    ): Promise<DeliveryRow | null>
    /** Forgets those that ended and were made before. */
    forgetDeliveries(before: string): Promise<void>
  }
  readonly network: {
    /** Throws `TakenError` with the holding project when the host name is held. */
    addDomain(domain: Omit<DomainRow, 'createdAt'>): Promise<DomainRow>
    removeDomain(host: string): Promise<void>
    putRules(project: string, rules: StoredRules): Promise<RulesRow>
    /** In place of the one that the project has. */
    putShare(share: Omit<ShareRow, 'createdAt' | 'detail'>): Promise<ShareRow>
    updateShare(id: string, change: Partial<Pick<ShareRow, 'url' | 'state' | 'detail'>>): Promise<void>
    deleteShare(id: string): Promise<void>
  }
}

export type Desired = 'running' | 'stopped'
/** `creating`: its files are not there yet. `deleting`: it is going. `ready`: everything else. */
export type ProjectPhase = 'creating' | 'ready' | 'deleting'

/** Where the files came from, and whether they are ours to delete on a failed creation. */
export type ProjectSource =
  | { readonly kind: 'template'; readonly template: string }
  | { readonly kind: 'git'; readonly url: string; readonly branch: string | null }
  | { readonly kind: 'folder' }
  | { readonly kind: 'copy'; readonly of: string }
  | { readonly kind: 'empty' }

export interface ProjectRow {
  readonly id: string
  readonly slug: string
  readonly spec: ProjectSpec
  /** Chosen when it was created. */
  readonly engine: EngineName
  readonly generation: number
  readonly desired: Desired
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
}

export interface ProjectQuestions {
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
export type NewOperation = Pick<OperationRow, 'id' | 'kind' | 'project' | 'actor' | 'input' | 'requestId'>

export interface OperationQuestions {
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
  active(project: string): Promise<OperationRow | null>
  unfinished(): Promise<readonly OperationRow[]>
}

export interface SecretHandle {
  readonly secret: string
  readonly version: number
}
export interface SecretQuestions {
  /** Throws `SecretError` when it does not exist, was sealed with another key, or its bytes were changed. */
  reveal(secret: string): Promise<Secret>
  find(project: string | null, name: string): Promise<SecretHandle | null>
  of(project: string): Promise<Readonly<Record<string, SecretHandle>>>
}

export interface PortLease {
  readonly project: string
  readonly workload: string
  readonly port: string
  readonly hostPort: number
}
export interface KeptDataQuestions {
  of(project: string): Promise<readonly KeptData[]>
}

export interface KeptData {
  /** As the engine calls the data. */
  readonly name: string
  readonly version: string
  /** RFC 3339 UTC; null while something uses it. */
  readonly keptAt: string | null
}

export interface ProjectUserReader {
  /** Those of projects that are gone too. */
  all(): Promise<readonly ProjectUser[]>
}

export interface UserIds {
  readonly uid: number
  readonly gid: number
}

/** The system user of a project. It may not be made yet. */
export interface ProjectUser extends UserIds {
  readonly number: number
  /** Null when the project is gone. */
  readonly project: string | null
  readonly name: string
  /** The user that all projects shared, while files of this one may still belong to it. */
  readonly before: UserIds | null
  /** Somebody’s own user, who owns the project’s folder: never made and never removed for the project. */
  readonly isOwner: boolean
}

/** One build of an image, as the engine calls both. */
export interface WorkloadImage {
  readonly workload: string
  /** As it was asked for: `postgres:18`. */
  readonly reference: string
  /** Its id, which tells one build from another. */
  readonly image: string
}
export interface ImageUse extends WorkloadImage {
  readonly firstUsedAt: string
  /** When the workload last began to use it. */
  readonly lastUsedAt: string
}
export interface ImageQuestions {
  /** Of a workload or of all, newest first. */
  uses(project: string, workload?: string): Promise<readonly ImageUse[]>
  pins(project: string): Promise<readonly WorkloadImage[]>
}

export interface PortQuestions {
  of(project: string): Promise<readonly PortLease[]>
  all(): Promise<readonly PortLease[]>
}

export interface UserRow {
  readonly id: string
  readonly username: string
  readonly role: Scope
  readonly disabled: boolean
  readonly passwordHash: string
  readonly createdAt: string
}
export interface UserQuestions {
  find(id: string): Promise<UserRow | null>
  byName(username: string): Promise<UserRow | null>
  list(): Promise<readonly UserRow[]>
  count(): Promise<number>
}

export interface SessionRow {
  readonly id: string
  readonly cookieHash: string
  readonly user: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly expiresAt: string
  readonly ip: string | null
  readonly userAgent: string | null
}
export interface SessionQuestions {
  /**
   * The session of a key's hash with its user; expired, idle or disabled ones are not found. Whoever asks compares the
   * cookie's hash: the key alone is half a session.
   */
  byKey(keyHash: string): Promise<KnownSession | null>
  /** The same by its id, for a ticket and for streams that are open. */
  byId(id: string): Promise<KnownSession | null>
  of(user: string): Promise<readonly SessionRow[]>
}
export interface KnownSession {
  readonly session: SessionRow
  readonly user: UserRow
}

export interface TicketRow {
  readonly session: string
  readonly target: string
  readonly createdAt: string
  readonly begunAt: string | null
}
export interface TicketReader {
  /** Also one that is too old or was used: who asks says which. */
  find(hash: string): Promise<TicketRow | null>
}

/** What the instance remembers of itself: a short id, and the origin that its sessions were made under. */
export type InstanceValue = 'id' | 'session_origin'
export interface InstanceReader {
  get(name: InstanceValue): Promise<string | null>
}

/** A browser that has logged in before, known by a key that it keeps. The key proves nothing but that. */
export interface DeviceRow {
  readonly id: string
  readonly user: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly createdAt: string
  readonly lastUsedAt: string
}
export interface DeviceReader {
  byHash(hash: string): Promise<DeviceRow | null>
  of(user: string): Promise<readonly DeviceRow[]>
}

export interface TokenRow {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly owner: string
  readonly scope: Scope
  readonly projects: readonly string[]
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
}
export interface TokenQuestions {
  /**
   * One prepared look-up; on the path of every request. Synchronous on purpose. Unknown, revoked and expired tokens and
   * those of a disabled or deleted owner are not found. The scope is the token's own: the caller takes the lower of it and
   * the owner's role.
   */
  authenticate(hash: string): { readonly token: TokenRow; readonly owner: Omit<UserRow, 'passwordHash'> } | null
  of(owner: string, options: { limit: number; cursor?: string }): Promise<readonly TokenRow[]>
  find(id: string): Promise<TokenRow | null>
}

export type NewAuditEntry = Omit<AuditEntry, 'seq' | 'id' | 'time' | 'prevHash' | 'hash'>
export interface AuditQuestions {
  /** Newest first; `cursor` is the sequence number of the last one seen. */
  list(options: AuditFilters & { readonly limit: number; readonly cursor?: string }): Promise<readonly AuditEntry[]>
  /** Oldest first, up to the newest of now, a few hundred at a time: what is in memory does not grow with the log. */
  slices(filters: AuditFilters): AsyncIterable<readonly AuditEntry[]>
  /**
   * Follows the chain from the first entry to the sealed head and compares it with the checkpoint beside the database.
   * `firstBroken` is the first number that is not as it was written, `reason` a sentence about it.
   */
  verify(): Promise<{
    readonly ok: boolean
    readonly entries: number
    readonly firstBroken: number | null
    readonly reason: string | null
    readonly checkpoint: { readonly seq: number; readonly time: string } | null
  }>
}

export interface AuditFilters {
  readonly q?: string
  readonly actor?: string
  readonly action?: string
  readonly project?: string
  readonly outcome?: string
  readonly since?: string
  readonly until?: string
}

export interface EventQuestions {
  /** Oldest first. */
  after(seq: number, limit: number): Promise<readonly EventRecord[]>
  /** Lowest and highest kept sequence number; 0 when there are none. */
  range(): Promise<{ first: number; last: number }>
}

export type StoredAnswer =
  | { readonly state: 'running'; readonly fingerprint: string }
  | {
      readonly state: 'done'
      readonly fingerprint: string
      readonly status: number
      readonly headers: Record<string, string>
      readonly body: string
    }

export interface IdempotencyQuestions {
  find(caller: string, key: string): Promise<StoredAnswer | null>
}

export interface SettingQuestions {
  get<T>(name: string): Promise<T | null>
}

export interface RunRow
  extends Pick<
    Run,
    | 'id'
    | 'project'
    | 'kind'
    | 'name'
    | 'label'
    | 'runtime'
    | 'state'
    | 'phase'
    | 'filter'
    | 'exitCode'
    | 'signal'
    | 'error'
    | 'actor'
    | 'createdAt'
    | 'startedAt'
    | 'finishedAt'
  > {
  /** Names the source it ran on; null when nobody can tell. */
  readonly source: string | null
  readonly counts: Run['tests']
  readonly requestId: string | null
  /** What must be known to take it up after a crash; never a secret. */
  readonly plan: Readonly<Record<string, unknown>>
}
export type NewRun = Pick<
  RunRow,
  'id' | 'project' | 'kind' | 'name' | 'label' | 'runtime' | 'filter' | 'actor' | 'requestId' | 'plan'
>
export type RunChange = Partial<
  Pick<
    RunRow,
    'state' | 'phase' | 'source' | 'exitCode' | 'signal' | 'error' | 'counts' | 'startedAt' | 'finishedAt' | 'plan'
  >
>
export interface TestCaseRow {
  readonly position: number
  readonly name: string
  readonly group: string | null
  readonly file: string | null
  readonly line: number | null
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly seconds: number | null
  readonly message: string | null
  readonly details: string | null
  readonly flaky: boolean
}
export interface RunQuestions {
  find(id: string): Promise<RunRow | null>
  /** Newest first. */
  list(options: {
    project: string
    limit: number
    cursor?: string
    kind?: Run['kind']
    name?: string
    state?: Run['state']
  }): Promise<readonly RunRow[]>
  /** The newest run of each action or suite. */
  lastOf(project: string, kind: Run['kind']): Promise<readonly RunRow[]>
  /** Oldest first. */
  unfinished(): Promise<readonly RunRow[]>
  /** Of all that are known, for clean-up. */
  ids(): Promise<readonly string[]>
  cases(
    run: string,
    options: { limit: number; after?: number; outcome?: TestCaseRow['outcome'] | 'flaky' },
  ): Promise<readonly TestCaseRow[]>
  /** Which tests of a suite passed or failed on this very source, in whatever run; each outcome once. */
  outcomesOn(
    project: string,
    name: string,
    source: string,
  ): Promise<readonly Pick<TestCaseRow, 'name' | 'group' | 'file' | 'outcome'>[]>
}

export interface TerminalRow
  extends Pick<
    Terminal,
    'id' | 'project' | 'workload' | 'title' | 'exitCode' | 'signal' | 'cause' | 'actor' | 'createdAt' | 'endedAt'
  > {
  /** Id of the user who opened it. */
  readonly owner: string
}
export interface TerminalQuestions {
  find(id: string): Promise<TerminalRow | null>
  /** Oldest first. */
  of(project: string): Promise<readonly TerminalRow[]>
  all(): Promise<readonly TerminalRow[]>
}

export interface WebhookRow {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  /** Ids; empty for all. */
  readonly projects: readonly string[]
  readonly enabled: boolean
  readonly disabledReason: string | null
  readonly createdAt: string
  /** Since when every delivery has failed; null while they arrive. */
  readonly failingSince: string | null
}
export interface DeliveryRow extends Omit<WebhookDelivery, 'attempts'> {
  readonly attempts: readonly WebhookDelivery['attempts'][number][]
  /** Of the event it tells; null for a test. */
  readonly eventSeq: number | null
}
export interface WebhookQuestions {
  find(id: string): Promise<WebhookRow | null>
  all(): Promise<readonly WebhookRow[]>
  delivery(id: string): Promise<DeliveryRow | null>
  /** Newest first. */
  deliveries(options: {
    webhook: string
    limit: number
    cursor?: string
    state?: WebhookDelivery['state']
  }): Promise<readonly DeliveryRow[]>
  /** The pending one that is due first, at whatever time, but for those that are under way and those of certain webhooks. */
  nextPending(but: { ids: readonly string[]; webhooks: readonly string[] }): Promise<DeliveryRow | null>
}

export interface DomainRow {
  /** As it is looked up: lower case, ASCII; `*.example.org` for all names one label below. */
  readonly host: string
  readonly project: string
  /** Where it leads; null: to what owns the project's URL. */
  readonly workload: string | null
  readonly createdAt: string
}
/** The rules as they are kept: a password as its argon2 hash. */
export interface StoredRules extends Omit<ProxyRules, 'basicAuth'> {
  readonly basicAuth: { readonly username: string; readonly passwordHash: string } | null
}
export interface RulesRow {
  readonly project: string
  /** Grows with every change. */
  readonly revision: number
  readonly rules: StoredRules
}
export interface ShareRow {
  readonly id: string
  readonly project: string
  readonly provider: string
  readonly workload: string | null
  /** The host name under which the proxy knows it. */
  readonly host: string
  readonly url: string | null
  readonly state: Share['state']
  readonly detail: string | null
  readonly passwordHash: string | null
  readonly actor: string
  readonly expiresAt: string
  readonly createdAt: string
}
export interface NetworkQuestions {
  domain(host: string): Promise<DomainRow | null>
  domains(project: string): Promise<readonly DomainRow[]>
  allDomains(): Promise<readonly DomainRow[]>
  rules(project: string): Promise<RulesRow | null>
  allRules(): Promise<readonly RulesRow[]>
  share(project: string): Promise<ShareRow | null>
  allShares(): Promise<readonly ShareRow[]>
}
