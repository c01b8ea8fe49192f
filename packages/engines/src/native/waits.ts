import type { RequiredFile, WorkloadRef } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { type WaitMonitor, watchRequired } from './waiting.ts'

/** Workloads that wait for files. */
export interface Waits {
  /** Calls back once, when no file is missing any more; nothing for one that is watched already. */
  watch(ref: WorkloadRef, account: Account | null, requires: readonly RequiredFile[], complete: () => void): void
  stop(ref: WorkloadRef): void
  close(): void
}

export function createWaits(): Waits {
  const waits = new Map<string, WaitMonitor>()
  let closed = false
  return {
    watch(ref, account, requires, complete) {
      const key = keyOf(ref)
      if (waits.has(key) || closed) return
      const done = () => {
        waits.delete(key)
        complete()
      }
      waits.set(key, watchRequired(account, requires, done))
    },
    stop(ref) {
      waits.get(keyOf(ref))?.close()
      waits.delete(keyOf(ref))
    },
    close() {
      closed = true
      for (const wait of waits.values()) wait.close()
    },
  }
}

export function keyOf(ref: WorkloadRef): string {
  return `${ref.project}/${ref.workload}`
}
