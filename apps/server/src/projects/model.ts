import type { OperationRecord } from '@stackquay/contract'
import type { Resolved } from '@stackquay/domain'
import type { Workload, WorkloadRef } from '@stackquay/engine-api'
import type { Observations, Watches } from '@stackquay/orchestrator'
import type { ProjectRow, Store } from '@stackquay/store'
import type { CronMemory } from './cron-memory.ts'
import { createKnownOperations, type KnownOperations } from './known-operations.ts'
import type { Entries, Entry, Known, Status } from './model-entry.ts'
import { rememberWriters } from './remember-writers.ts'
import type { Resolver } from './resolver.ts'
import type { SourceRead } from './source-readings.ts'
import type { Telling, TellingOptions } from './telling.ts'
import { type ProjectParts, projectSummary } from './view.ts'

export type { Foreseen } from './known-operations.ts'
export type { Known } from './model-entry.ts'

/**
 * What is known of every project right now: the stored row, what it resolves to, and the status derived from what the
 * engine shows. Rows are read again after each write; statuses are computed when somebody asks or something happened.
 */
export interface Model extends KnownOperations, Telling {
  load(): Promise<void>
  /** After a write of the row, its leases or its source: reads and resolves again. */
  renew(id: string, source?: SourceRead): Promise<Known>
  /** A project that was just written, with the operation that makes it. */
  created(id: string, operation: OperationRecord): Promise<Known>
  /** After a write of the row alone, by who knows already what it resolves to. */
  changed(row: ProjectRow, resolved: Resolved): void
  forget(id: string): void
  find(id: string): Known | null
  all(): readonly Known[]
  status(id: string): Status
  parts(id: string): ProjectParts | null
  /** The list item as JSON text, made again only when something in it changed. Null when the row is newer than what is known. */
  summaryJson(id: string, revision: number): string | null
  /** Another number after anything changed that a summary is made from. */
  version(): number
  /** The workload as it is to be started again; null when it is not to run, or lacks something. */
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** Ends when the proxy has the project's routes as they are now. */
  published(id: string): Promise<void>
}

export interface ModelOptions extends Pick<TellingOptions, 'publish' | 'now'> {
  readonly store: Store
  readonly resolver: Resolver
  readonly entries: Entries
  readonly telling: Telling
  readonly observations: Observations
  readonly watches: Watches
  readonly cron: Pick<CronMemory, 'seen'>
  /** Why an engine sets no limits, and what to do; null when it does. */
  limitsUnavailable(engine: ProjectRow['engine']): string | null
}

export function createModel(options: ModelOptions): Model {
  const { store, resolver } = options
  const { entries, telling, observations, watches } = options
  const { touched } = telling
  observations.onChange(touched)
  watches.onChange(touched)
  let forgotten = 0

  const parts = (id: string): ProjectParts | null => {
    const entry = entries.find(id)
    if (entry === null) return null
    return {
      row: entry.row,
      engine: entry.row.engine,
      limitsUnavailable: options.limitsUnavailable(entry.row.engine),
      urls: urlsOf(entry, resolver),
      status: entries.status(id),
      operation: entry.operations[0] ?? null,
      leases: entry.leases,
      cron: (name) => options.cron.seen(entry.row, name),
    }
  }

  const look = async (id: string, source: SourceRead, operation?: OperationRecord): Promise<Known> => {
    const row = await store.projects.find(id)
    if (row === null) throw new Error(`project ${id} is not stored`)
    const before = forgotten
    const [resolved, leases] = await Promise.all([resolver.resolveKnown({ ...row }, source), store.ports.of(id)])
    // A project that was deleted meanwhile must not come back.
    if (forgotten !== before && (await store.projects.find(id)) === null)
      throw new Error(`project ${id} was deleted meanwhile`)
    const entry = entries.put(row, resolved, leases)
    if (operation !== undefined) entry.operations = [operation]
    touched(id)
    return entry
  }
  const renew: Model['renew'] = (id, source = 'now') => look(id, source)

  return {
    renew,
    created: (id, operation) => look(id, 'now', operation),
    changed: (row, resolved) => {
      const before = entries.find(row.id)
      if (before === null) return
      entries.put(row, resolved, before.leases)
      touched(row.id)
    },
    published: (id) => options.publish([id]),
    status: entries.status,
    parts,
    ...telling,
    ...createKnownOperations(entries, telling, options.now),
    load: async () => {
      for (const row of await store.projects.all()) {
        const [resolved, leases] = await Promise.all([
          resolver.resolveKnown({ ...row }, 'remembered'),
          store.ports.of(row.id),
        ])
        const entry = entries.put(row, resolved, leases)
        entry.operations = await store.operations.unfinishedOf(row.id)
        entries.outdate(entry)
      }
    },
    forget: (id) => {
      forgotten += 1
      entries.delete(id)
      observations.forget(id)
      watches.forget(id)
    },
    find: entries.find,
    all: entries.all,
    summaryJson: (id, revision) => summaryOf(entries.find(id), revision, parts),
    version: entries.version,
    wanted: (ref) => wantedNow(ref, renew, store),
  }
}

async function wantedNow(ref: WorkloadRef, renew: Model['renew'], store: Store): Promise<Workload | null> {
  const row = await store.projects.find(ref.project)
  if (row === null || row.phase !== 'ready' || row.desired !== 'running') return null
  const known = await renew(ref.project)
  const { workloads, missingLeases, missingSecrets } = known.resolved
  if (missingLeases.length > 0 || missingSecrets.length > 0) return null
  const workload = workloads.find((one) => one.ref.workload === ref.workload)
  if (workload === undefined) return null
  await rememberWriters(known, [workload], store)
  return workload
}

function summaryOf(entry: Entry | null, revision: number, parts: Model['parts']): string | null {
  if (entry === null || entry.row.revision !== revision) return null
  if (entry.json === null || entry.json.revision !== revision) {
    const made = parts(entry.row.id)
    if (made === null) return null
    entry.json = { revision, text: JSON.stringify(projectSummary(made)) }
  }
  return entry.json.text
}

function urlsOf(entry: Entry, resolver: Resolver): readonly string[] {
  const { slug } = entry.row
  // What a service answers is no page of the project.
  const pages = entry.resolved.extraHosts.filter(({ prefix }) => prefix === '')
  return [resolver.url(slug), ...pages.map(({ suffix }) => resolver.url(slug, suffix))]
}
