import { type CrashHistory, noCrashes, type Supervision } from '@stackquay/domain'
import type { WorkloadRef } from '@stackquay/engine-api'

/** Replaced at every change, never changed: whoever holds the one that is there knows that nothing happened since. */
export interface Watch {
  readonly history: CrashHistory
  readonly supervision: Supervision
  readonly timer: NodeJS.Timeout | null
}

/** What is known of workloads that ended by themselves. */
export interface Watches {
  find(ref: WorkloadRef): Watch | undefined
  set(ref: WorkloadRef, watch: Watch): void
  of(project: string): Readonly<Record<string, Supervision>>
  /** It is not started again by itself, for this reason. */
  giveUp(ref: WorkloadRef, reason: string, logTail: readonly string[]): void
  /** Of one workload, or of all of the project. */
  forget(project: string, workload?: string): void
  /** No start that was planned happens any more. */
  stop(): void
}

export function createWatches(onChange: (project: string) => void): Watches {
  const watches = new Map<string, Map<string, Watch>>()
  const find = (ref: WorkloadRef) => watches.get(ref.project)?.get(ref.workload)
  const set = (ref: WorkloadRef, watch: Watch) => {
    const ofProject = watches.get(ref.project) ?? new Map<string, Watch>()
    ofProject.set(ref.workload, watch)
    watches.set(ref.project, ofProject)
    onChange(ref.project)
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
    forget: (project, workload) => {
      const ofProject = watches.get(project)
      if (ofProject === undefined) return
      for (const [name, watch] of ofProject) {
        if (workload !== undefined && name !== workload) continue
        if (watch.timer !== null) clearTimeout(watch.timer)
        ofProject.delete(name)
      }
      if (ofProject.size === 0) watches.delete(project)
      onChange(project)
    },
    stop: () => {
      for (const ofProject of watches.values())
        for (const { timer } of ofProject.values()) if (timer !== null) clearTimeout(timer)
    },
  }
}
