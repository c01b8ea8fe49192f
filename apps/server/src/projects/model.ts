import type { OperationRecord, ProjectStatus, WorkloadStatus } from '@stackquay/contract'
import { projectStatus, type Resolved } from '@stackquay/domain'
import type { Workload, WorkloadRef } from '@stackquay/engine-api'
import type { Orchestrator } from '@stackquay/orchestrator'
import type { PortLease, ProjectRow, Store } from '@stackquay/store'
import { rememberWriters } from './remember-writers.ts'
import type { Resolver, SourceRead } from './resolver.ts'
import { type ProjectParts, projectSummary } from './view.ts'
import { workDone } from './work-done.ts'

/**
 * What is known of every project right now: the stored row, what it resolves to, and the status derived from what the
 * engine shows. Rows are read again after each write; statuses are computed when somebody asks or something happened.
 */
export interface Model {
  load(): Promise<void>
  /** After a write of the row, its leases or its source: reads and resolves again. */
  renew(id: string, source?: SourceRead): Promise<Known>
  /** After a write of the row alone, by who knows already what it resolves to. */
  changed(row: ProjectRow, resolved: Resolved): void
  forget(id: string): void
  find(id: string): Known | null
  all(): readonly Known[]
  /** An operation that runs or waits, as it goes on. */
  setOperation(operation: OperationRecord): void
  operationEnded(id: string, project: string): void
  /**
   * Before the end of an operation is written: what follows from it, to be written with it. `row` is the project's as it is then, where
   * the end changes it. Null for a project that is not known.
   */
  foreseeEnd(id: string, project: string, row: ProjectRow | null): Foreseen | null
  status(id: string): ProjectStatus & { workloads: WorkloadStatus[] }
  parts(id: string): ProjectParts | null
  /** The list item as JSON text, made again only when something in it changed. Null when the row is newer than what is known. */
  summaryJson(id: string, revision: number): string | null
  /** Another number after anything changed that a summary is made from. */
  version(): number
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** A status may have changed: it is compared, told as an event, and routes follow; while an operation goes on, a moment later. */
  touched(id: string): void
  /** Ends when the proxy has the project's routes as they are now. */
  published(id: string): Promise<void>
  /** Ends when everything that was touched has been told. */
  settled(): Promise<void>
}

export interface Foreseen {
  /** What is to be told of the project's status with the end; null when that stays as it is. */
  readonly event: StatusEvent | null
  /** It is written. */
  took(): void
}

interface StatusEvent {
  readonly type: 'project.status'
  readonly project: string
  readonly data: Record<string, unknown>
}

/** While an operation goes on, one thing happens after the other: so long they are gathered to be told at once. */
const gatherMs = 250

export interface Known {
  readonly row: ProjectRow
  readonly resolved: Resolved
  readonly leases: readonly PortLease[]
}

interface Entry extends Known {
  /** Derived, until something changes that it is derived from. */
  status: ReturnType<Model['status']> | null
  /** Those that run and wait, in their order. */
  operations: readonly OperationRecord[]
  since: string
  told: string
  json: { readonly revision: number; readonly text: string } | null
  /** Grows with whatever changes that the status is derived from. */
  changes: number
}

export interface ModelOptions {
  readonly store: Store
  readonly resolver: Resolver
  /** Made after the model, because it calls it: asked for when needed. */
  orchestrator(): Orchestrator
  /** The routes of these projects are computed anew; ends when the proxy has them. */
  publish(projects: readonly string[]): Promise<void>
  onError(error: unknown, what: string): void
  /** Why an engine sets no limits, and what to do; null when it does. */
  limitsUnavailable(engine: ProjectRow['engine']): string | null
  readonly now: () => Date
}

export function createModel(options: ModelOptions): Model {
  const { store, resolver } = options
  const entries = new Map<string, Entry>()
  const touchedIds = new Set<string>()
  let telling: Promise<void> | null = null
  let later: NodeJS.Timeout | null = null
  let version = 0
  let forgotten = 0

  const outdate = (entry: Entry) => {
    entry.json = null
    entry.status = null
    entry.changes += 1
    version += 1
  }

  const put = (row: ProjectRow, resolved: Resolved, leases: readonly PortLease[]) => {
    const before = entries.get(row.id)
    // Two renewals may overlap, and the one that read first may end last.
    if (before !== undefined && before.row.revision > row.revision) return before
    const entry: Entry = {
      row,
      resolved,
      leases,
      operations: before?.operations ?? [],
      since: before?.since ?? row.updatedAt,
      told: before?.told ?? '',
      status: null,
      json: null,
      changes: 0,
    }
    entries.set(row.id, entry)
    version += 1
    return entry
  }

  const status = (id: string) => {
    const entry = entries.get(id)
    if (entry === undefined) throw new Error(`project ${id} is not known`)
    entry.status ??= statusOf(entry, options.orchestrator())
    return entry.status
  }

  const parts = (id: string): ProjectParts | null => {
    const entry = entries.get(id)
    if (entry === undefined) return null
    return {
      row: entry.row,
      engine: entry.row.engine,
      limitsUnavailable: options.limitsUnavailable(entry.row.engine),
      urls: urlsOf(entry, resolver),
      status: status(id),
      operation: entry.operations[0] ?? null,
      leases: entry.leases,
    }
  }

  const tell = async () => {
    while (touchedIds.size > 0) {
      const ids = [...touchedIds]
      touchedIds.clear()
      const news: { readonly event: StatusEvent; readonly text: string }[] = []
      for (const id of ids) {
        const entry = entries.get(id)
        if (entry === undefined) continue
        const told = tellingOf(entry, status(id), options.now)
        if (told === null) continue
        Object.assign(entry, told.after, { json: null })
        version += 1
        news.push({ event: told.event, text: told.after.told })
      }
      await options.publish(ids)
      if (news.length === 0) continue
      await store.transaction(async (tx) => {
        for (const { event, text } of news) {
          const entry = entries.get(event.project)
          // The end of an operation was told meanwhile, and this is from before it.
          if (entry?.told !== text) continue
          // One that is being written comes before this: then it is looked at and told once more.
          entry.changes += 1
          await tx.events.append(event)
        }
      })
    }
  }

  const tellNow = () => {
    if (later !== null) clearTimeout(later)
    later = null
    telling ??= new Promise<void>((done) => setImmediate(done))
      .then(tell)
      .catch((error: unknown) => options.onError(error, 'telling a change of status'))
      .finally(() => {
        telling = null
        if (touchedIds.size > 0) tellNow()
      })
  }

  const touched = (id: string) => {
    touchedIds.add(id)
    const entry = entries.get(id)
    if (entry !== undefined) outdate(entry)
    if ((entry?.operations.length ?? 0) === 0) tellNow()
    else later ??= setTimeout(tellNow, gatherMs).unref()
  }

  const renew: Model['renew'] = async (id, source = 'now') => {
    const row = await store.projects.find(id)
    if (row === null) throw new Error(`project ${id} is not stored`)
    const before = forgotten
    const [resolved, leases] = await Promise.all([resolver.resolveKnown({ ...row }, source), store.ports.of(id)])
    // A project that was deleted meanwhile must not come back.
    if (forgotten !== before && (await store.projects.find(id)) === null)
      throw new Error(`project ${id} was deleted meanwhile`)
    const entry = put(row, resolved, leases)
    touched(id)
    return entry
  }

  const operations = operationsOf(entries, touched)

  return {
    renew,
    changed: (row, resolved) => {
      const before = entries.get(row.id)
      if (before === undefined) return
      put(row, resolved, before.leases)
      touched(row.id)
    },
    published: (id) => options.publish([id]),
    foreseeEnd: (id, project, row) => {
      const entry = entries.get(project)
      if (entry === undefined) return null
      const after: Entry = {
        ...entry,
        ...(row !== null && isSameSettings(entry, row) ? { row } : {}),
        operations: entry.operations.filter((operation) => operation.id !== id),
        json: null,
      }
      const derived = statusOf(after, options.orchestrator())
      const told = tellingOf(entry, derived, options.now)
      Object.assign(after, told?.after ?? { status: derived })
      const { changes } = entry
      return {
        event: told?.event ?? null,
        took: () => {
          if (entries.get(project) !== entry || entry.changes !== changes) {
            if (row !== null) operations.carriedOut(row)
            operations.operationEnded(id, project)
            return
          }
          entries.set(project, after)
          version += 1
          // Its routes may show another page now.
          touchedIds.add(project)
          tellNow()
        },
      }
    },
    status,
    parts,
    touched,
    load: async () => {
      for (const row of await store.projects.all()) {
        const [resolved, leases] = await Promise.all([
          resolver.resolveKnown({ ...row }, 'remembered'),
          store.ports.of(row.id),
        ])
        const entry = put(row, resolved, leases)
        entry.operations = await store.operations.unfinishedOf(row.id)
        outdate(entry)
      }
    },
    forget: (id) => {
      forgotten += 1
      entries.delete(id)
      version += 1
      const { observations, supervisor } = options.orchestrator()
      observations.forget(id)
      supervisor.reset(id)
    },
    find: (id) => entries.get(id) ?? null,
    all: () => [...entries.values()],
    setOperation: operations.setOperation,
    operationEnded: operations.operationEnded,
    summaryJson: (id, revision) => {
      const entry = entries.get(id)
      if (entry === undefined || entry.row.revision !== revision) return null
      if (entry.json === null || entry.json.revision !== revision) {
        const made = parts(id)
        if (made === null) return null
        entry.json = { revision, text: JSON.stringify(projectSummary(made)) }
      }
      return entry.json.text
    },
    version: () => version,
    wanted: async (ref) => {
      const row = await store.projects.find(ref.project)
      if (row === null || row.phase !== 'ready' || row.desired !== 'running') return null
      const known = await renew(ref.project)
      const { workloads, missingLeases, missingSecrets } = known.resolved
      if (missingLeases.length > 0 || missingSecrets.length > 0) return null
      const workload = workloads.find((one) => one.ref.workload === ref.workload)
      if (workload === undefined) return null
      await rememberWriters(known, [workload], store)
      return workload
    },
    settled: async () => {
      if (touchedIds.size > 0) tellNow()
      while (telling !== null) await telling
    },
  }
}

function statusOf(entry: Entry, { observations, supervisor }: Orchestrator): ReturnType<Model['status']> {
  const { row, resolved, operations, since } = entry
  workDone.derived.publish(row.id)
  return projectStatus({
    phase: row.phase,
    desired: row.desired,
    operation: operations[0] ?? null,
    notApplied: isNotApplied(entry),
    wanted: resolved.workloads.map((workload) => ({ ...workload, ports: leasedPorts(workload, entry) })),
    kinds: resolved.kinds,
    observed: observations.of(row.id),
    unknown: observations.unknown(row.id),
    supervision: supervisor.of(row.id),
    obstacles: obstaclesOf(entry),
    since,
  })
}

/** What is to be told of a status, and how the entry is then; null when nothing is new. */
function tellingOf(
  entry: Entry,
  derived: ReturnType<Model['status']>,
  now: () => Date,
): { readonly event: StatusEvent; readonly after: Pick<Entry, 'since' | 'status' | 'told'> } | null {
  const { since: _since, ...compared } = derived
  const told = JSON.stringify(compared)
  if (told === entry.told) return null
  const { state, desired, health } = derived
  const since = entry.told.startsWith(`{"state":"${state}"`) ? entry.since : now().toISOString()
  const { id, slug } = entry.row
  return {
    event: { type: 'project.status', project: id, data: { id, slug, state, desired, health } },
    after: { since, status: { ...derived, since }, told },
  }
}

/** A change came in between where they are not: whoever wrote it reads the row again. */
function isSameSettings(entry: Entry, row: ProjectRow): boolean {
  return entry.row.generation === row.generation && entry.row.revision <= row.revision
}

/** What is told of operations as they go on and end. */
function operationsOf(entries: Map<string, Entry>, touched: (id: string) => void) {
  return {
    setOperation: (operation: OperationRecord) => {
      const entry = entries.get(operation.project)
      if (entry === undefined) return
      const others = entry.operations.filter(({ id }) => id !== operation.id)
      entry.operations = [...others, operation].sort(inTurn)
      touched(operation.project)
    },
    operationEnded: (id: string, project: string) => {
      const entry = entries.get(project)
      if (entry === undefined) return
      entry.operations = entry.operations.filter((operation) => operation.id !== id)
      touched(project)
    },
    carriedOut: (row: ProjectRow) => {
      const entry = entries.get(row.id)
      if (entry === undefined || !isSameSettings(entry, row)) return
      entries.set(row.id, { ...entry, row })
      touched(row.id)
    },
  }
}

/** What runs before what waits, and that in the order of its ids. */
function inTurn(one: OperationRecord, other: OperationRecord): number {
  if (one.state !== other.state) return one.state === 'running' ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** Nothing is on its way that would carry the newest settings out. */
function isNotApplied({ row, operations }: Entry): boolean {
  return row.phase === 'ready' && operations.length === 0 && row.observedGeneration < row.generation
}

/** A port that was not leased yet has no number to show. */
function leasedPorts({ ref, ports }: Workload, { resolved }: Known): Workload['ports'] {
  const isMissing = (name: string) =>
    resolved.missingLeases.some((missing) => missing.workload === ref.workload && missing.port === name)
  return resolved.missingLeases.length === 0 ? ports : ports.filter(({ name }) => !isMissing(name))
}

function obstaclesOf(entry: Entry) {
  if (entry.row.phase !== 'ready') return []
  return entry.resolved.errors.map((error) => ({
    code: error.code,
    detail: error.detail,
    hint: 'Change the setting, or install what is missing.',
  }))
}

function urlsOf(entry: Entry, resolver: Resolver): readonly string[] {
  const { slug } = entry.row
  // What a service answers is no page of the project.
  const pages = entry.resolved.extraHosts.filter(({ prefix }) => prefix === '')
  return [resolver.url(slug), ...pages.map(({ suffix }) => resolver.url(slug, suffix))]
}
