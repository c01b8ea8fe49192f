import type { OperationRecord, ProjectStatus, WorkloadStatus } from '@stackquay/contract'
import { failingOf, hasCron, projectStatus, type Resolved, runningOf } from '@stackquay/domain'
import type { Workload } from '@stackquay/engine-api'
import type { Observations, Watches } from '@stackquay/orchestrator'
import type { PortLease, ProjectRow } from '@stackquay/store'
import type { CronMemory } from './cron-memory.ts'
import type { LateArchives } from './late-archives.ts'
import { workDone } from './work-done.ts'

export type Status = ProjectStatus & { workloads: WorkloadStatus[] }

export interface Known {
  readonly row: ProjectRow
  readonly resolved: Resolved
  readonly leases: readonly PortLease[]
}

/** What is known of a project, and what was made and told of it. */
export interface Entry extends Known {
  /** Derived, until something changes that it is derived from. */
  status: Status | null
  /** Those that run and wait, in their order. */
  operations: readonly OperationRecord[]
  since: string
  told: string
  json: { readonly revision: number; readonly text: string } | null
  /** Grows with whatever changes that the status is derived from. */
  changes: number
}

export interface StatusEvent {
  readonly type: 'project.status'
  readonly project: string
  readonly data: Record<string, unknown>
}

/** All projects that are known. */
export interface Entries {
  find(id: string): Entry | null
  all(): readonly Entry[]
  put(row: ProjectRow, resolved: Resolved, leases: readonly PortLease[]): Entry
  /** In the place of what is known of the project. */
  set(entry: Entry): void
  delete(id: string): void
  /** Derived when it is asked for. Throws for a project that is not known. */
  status(id: string): Status
  /** As the entry would be derived now; nothing is kept. */
  derive(entry: Entry): Status
  /** Something changed that the status is derived from. */
  outdate(entry: Entry): void
  /** A summary is another one now. */
  grow(entry: Entry): void
  /** Another number after anything changed that a summary is made from. */
  version(): number
}

/** What a status is derived from beside what is stored. */
export interface Seen {
  readonly observations: Pick<Observations, 'of' | 'unknown'>
  readonly watches: Pick<Watches, 'of'>
  readonly late: Pick<LateArchives, 'warnings'>
  readonly cron: Pick<CronMemory, 'warnings'>
}

export function createEntries(seen: Seen): Entries {
  const entries = new Map<string, Entry>()
  let version = 0
  const grow = (entry: Entry) => {
    entry.json = null
    version += 1
  }
  const derive = (entry: Entry) => statusOf(entry, seen)
  return {
    find: (id) => entries.get(id) ?? null,
    all: () => [...entries.values()],
    put: (row, resolved, leases) => {
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
    },
    set: (entry) => {
      entries.set(entry.row.id, entry)
      version += 1
    },
    delete: (id) => {
      entries.delete(id)
      version += 1
    },
    status: (id) => {
      const entry = entries.get(id)
      if (entry === undefined) throw new Error(`project ${id} is not known`)
      entry.status ??= derive(entry)
      return entry.status
    },
    derive,
    outdate: (entry) => {
      entry.status = null
      entry.changes += 1
      grow(entry)
    },
    grow,
    version: () => version,
  }
}

function statusOf(entry: Entry, { observations, watches, late, cron }: Seen): Status {
  const { row, resolved, operations, since } = entry
  workDone.derived.publish(row.id)
  const status = projectStatus({
    phase: row.phase,
    desired: row.desired,
    asleep: row.asleep,
    sleep: row.spec.sleep,
    operation: operations[0] ?? null,
    notApplied: isNotApplied(entry),
    hasCron: hasCron(row.spec),
    wanted: resolved.workloads.map((workload) => ({ ...workload, ports: leasedPorts(workload, entry) })),
    kinds: resolved.kinds,
    observed: observations.of(row.id),
    unknown: observations.unknown(row.id),
    supervision: watches.of(row.id),
    blockers: [...blockersOf(entry), ...late.warnings(row.id)],
    since,
  })
  // What failed at its time keeps nothing from running.
  return { ...status, warnings: [...status.warnings, ...cron.warnings(row)] }
}

/** What is to be told of a status, and how the entry is then; null when nothing is new. */
export function tellingOf(
  entry: Entry,
  derived: Status,
  now: () => Date,
): { readonly event: StatusEvent; readonly after: Pick<Entry, 'since' | 'status' | 'told'> } | null {
  const { since: _since, ...compared } = derived
  const told = JSON.stringify(compared)
  if (told === entry.told) return null
  const { state, desired, health } = derived
  const since = entry.told.startsWith(`{"state":"${state}"`) ? entry.since : now().toISOString()
  const { id, slug } = entry.row
  const failing = failingOf(derived)
  const more = failing.length === 0 ? {} : { failing, running: runningOf(derived) }
  return {
    event: { type: 'project.status', project: id, data: { id, slug, state, desired, health, ...more } },
    after: { since, status: { ...derived, since }, told },
  }
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

function blockersOf(entry: Entry) {
  if (entry.row.phase !== 'ready') return []
  return entry.resolved.errors.map((error) => ({
    code: error.code,
    detail: error.detail,
    hint: 'Change the setting, or install what is missing.',
  }))
}
