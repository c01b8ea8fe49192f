import { type CrashHistory, noCrashes, type Supervision } from '@stackquay/domain'
import type { WorkloadRef } from '@stackquay/engine-api'

/** Replaced at every change, never changed: whoever holds the one that is there knows that nothing happened since. */
export interface Watch {
  /** Another one after each decision. */
  readonly history: CrashHistory
  readonly supervision: Supervision
  readonly timer: NodeJS.Timeout | null
}

/** A planned start whose time has come. */
export interface Attempt {
  /** Nothing else was decided about the workload since. */
  isCurrent(): boolean
  /** It is planned no longer. */
  end(): void
}

/** What is known of workloads that ended by themselves, and since when runs go on. */
export interface Watches {
  find(ref: WorkloadRef): Watch | undefined
  set(ref: WorkloadRef, watch: Watch): void
  of(project: string): Readonly<Record<string, Supervision>>
  /** Null when none was planned. Until it ends, it is shown as planned. */
  attempt(ref: WorkloadRef): Attempt | null
  /** Until the work ends, the workload counts as starting, whatever was seen of it before. */
  whileStarting(ref: WorkloadRef, work: () => Promise<void>): Promise<void>
  /** It is not started again by itself, for this reason. */
  giveUp(ref: WorkloadRef, reason: string, logTail: readonly string[]): void
  /** It runs and answers: why it did not does not matter any more, unless its next start is still to come. */
  healthy(ref: WorkloadRef): void
  /** When its run began, as far as that was heard of: milliseconds since 1970. */
  startedAt(ref: WorkloadRef): number | undefined
  started(ref: WorkloadRef, at: number): void
  /** A person started, stopped or changed it, or it is gone: what was counted before does not matter any more. Of one workload, or of all of the project. */
  forget(project: string, workload?: string): void
  /** Called when something about a project's workloads changed. */
  onChange(listener: (project: string) => void): void
  /** No start that was planned happens any more. */
  stop(): void
}

export function createWatches(): Watches {
  const watches = new Map<string, Map<string, Watch>>()
  const listeners: ((project: string) => void)[] = []
  const changed = (project: string) => {
    for (const listener of listeners) listener(project)
  }
  const runs = createRunStarts()
  const starting = createStarting(changed)
  const find = (ref: WorkloadRef) => watches.get(ref.project)?.get(ref.workload)
  const set = (ref: WorkloadRef, watch: Watch) => {
    const ofProject = watches.get(ref.project) ?? new Map<string, Watch>()
    ofProject.set(ref.workload, watch)
    watches.set(ref.project, ofProject)
    changed(ref.project)
  }
  return {
    find,
    set,
    of: (project) => supervisionOf(watches.get(project) ?? new Map(), starting.of(project)),
    whileStarting: starting.whileStarting,
    startedAt: runs.startedAt,
    started: runs.started,
    attempt: (ref) => {
      const planned = find(ref)
      if (planned === undefined) return null
      set(ref, { ...planned, timer: null })
      const current = () => (find(ref)?.history === planned.history ? find(ref) : undefined)
      return {
        isCurrent: () => current() !== undefined,
        end: () => {
          const watch = current()
          if (watch !== undefined) set(ref, withSupervision(watch, { nextRestartAt: null }))
        },
      }
    },
    giveUp: (ref, reason, logTail) => {
      const watch = find(ref)
      if (watch?.timer != null) clearTimeout(watch.timer)
      set(ref, {
        history: noCrashes,
        timer: null,
        supervision: { restarts: watch?.supervision.restarts ?? 0, nextRestartAt: null, gaveUp: true, reason, logTail },
      })
    },
    healthy: (ref) => {
      const watch = find(ref)
      if (watch === undefined || watch.timer !== null || watch.supervision.reason === null) return
      set(ref, withSupervision(watch, { gaveUp: false, reason: null, logTail: [] }))
    },
    forget: (project, workload) => {
      runs.forget(project, workload)
      const ofProject = watches.get(project)
      if (ofProject === undefined) return
      for (const [name, watch] of ofProject) {
        if (workload !== undefined && name !== workload) continue
        if (watch.timer !== null) clearTimeout(watch.timer)
        ofProject.delete(name)
      }
      if (ofProject.size === 0) watches.delete(project)
      changed(project)
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
    stop: () => {
      for (const ofProject of watches.values())
        for (const { timer } of ofProject.values()) if (timer !== null) clearTimeout(timer)
    },
  }
}

function withSupervision(watch: Watch, change: Partial<Supervision>): Watch {
  return { ...watch, supervision: { ...watch.supervision, ...change } }
}

function supervisionOf(
  watches: ReadonlyMap<string, Watch>,
  starting: readonly string[],
): Readonly<Record<string, Supervision>> {
  const known = Object.fromEntries([...watches].map(([name, { supervision }]) => [name, supervision]))
  const ofStarting = starting.map((name) => [name, { ...(known[name] ?? nothingKnown), starting: true }])
  return { ...known, ...Object.fromEntries(ofStarting) }
}

const nothingKnown: Supervision = { restarts: 0, nextRestartAt: null, gaveUp: false, reason: null, logTail: [] }

/** What is being started by itself right now. */
function createStarting(changed: (project: string) => void) {
  const starting = new Set<WorkloadRef>()
  return {
    of: (project: string) => [...starting].filter((ref) => ref.project === project).map((ref) => ref.workload),
    whileStarting: async ({ project, workload }: WorkloadRef, work: () => Promise<void>): Promise<void> => {
      // An object of its own: two starts of one workload may overlap, and each ends for itself.
      const start = { project, workload }
      starting.add(start)
      changed(project)
      try {
        await work()
      } finally {
        starting.delete(start)
        changed(project)
      }
    },
  }
}

function createRunStarts() {
  const starts = new Map<string, number>()
  const keyOf = (project: string, workload: string) => `${project}/${workload}`
  return {
    startedAt: ({ project, workload }: WorkloadRef) => starts.get(keyOf(project, workload)),
    started: ({ project, workload }: WorkloadRef, at: number) => void starts.set(keyOf(project, workload), at),
    forget: (project: string, workload?: string) => {
      for (const key of starts.keys())
        if (workload === undefined ? key.startsWith(keyOf(project, '')) : key === keyOf(project, workload))
          starts.delete(key)
    },
  }
}
