import { type CrashHistory, noCrashes, type Supervision } from '@stackquay/domain'
import type { WorkloadRef } from '@stackquay/engine-api'

/** Replaced at every change, never changed: whoever holds the one that is there knows that nothing happened since. */
export interface Watch {
  readonly history: CrashHistory
  readonly supervision: Supervision
  readonly timer: NodeJS.Timeout | null
}

/** What is known of workloads that ended by themselves, and since when runs go on. */
export interface Watches {
  find(ref: WorkloadRef): Watch | undefined
  set(ref: WorkloadRef, watch: Watch): void
  of(project: string): Readonly<Record<string, Supervision>>
  /** It is not started again by itself, for this reason. */
  giveUp(ref: WorkloadRef, reason: string, logTail: readonly string[]): void
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
  const starts = new Map<string, number>()
  const listeners: ((project: string) => void)[] = []
  const changed = (project: string) => {
    for (const listener of listeners) listener(project)
  }
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
    of: (project) =>
      Object.fromEntries([...(watches.get(project) ?? [])].map(([name, watch]) => [name, watch.supervision])),
    giveUp: (ref, reason, logTail) => {
      const watch = find(ref)
      if (watch?.timer != null) clearTimeout(watch.timer)
      set(ref, {
        history: noCrashes,
        timer: null,
        supervision: { restarts: watch?.supervision.restarts ?? 0, nextRestartAt: null, gaveUp: true, reason, logTail },
      })
    },
    startedAt: (ref) => starts.get(keyOf(ref)),
    started: (ref, at) => void starts.set(keyOf(ref), at),
    forget: (project, workload) => {
      for (const key of starts.keys())
        if (workload === undefined ? key.startsWith(`${project}/`) : key === `${project}/${workload}`)
          starts.delete(key)
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

const keyOf = (ref: WorkloadRef) => `${ref.project}/${ref.workload}`
