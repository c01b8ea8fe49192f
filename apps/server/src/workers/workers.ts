import type { TaskInput, TaskName, TaskOutput } from './tasks/index.ts'
import { createThreadPool, type TaskLimits, type ThreadPool } from './thread-pool.ts'

/**
 * What costs more than a few milliseconds because of what somebody sent, or what a project’s programs wrote, is done in
 * threads: the service answers meanwhile, and a thread that takes too long or too much memory is ended.
 */
export interface Workers {
  /** Throws `TaskLimitError` when a limit ends it, and what `signal` aborts with. What the task throws is a task’s own answer. */
  run<Name extends TaskName>(task: Name, input: TaskInput<Name>, limits: TaskLimits): Promise<TaskOutput<Name>>
  close(): Promise<void>
}

export function createWorkers(): Workers {
  const pools: Record<TaskName, ThreadPool> = {
    // Two, so that a bad pattern of one person does not keep the search of another waiting.
    match: createThreadPool({ threads: 2, memoryMb: 128, maxWaiting: 200 }),
    addon: createThreadPool({ threads: 1, memoryMb: 128, maxWaiting: 20 }),
    json: createThreadPool({ threads: 1, memoryMb: 256, maxWaiting: 50 }),
    logCounts: createThreadPool({ threads: 1, memoryMb: 192, maxWaiting: 50 }),
    manifest: createThreadPool({ threads: 2, memoryMb: 128, maxWaiting: 50 }),
    // Reports may have 64 MB.
    results: createThreadPool({ threads: 2, memoryMb: 512, maxWaiting: 500 }),
  }
  return {
    run: async (task, input, limits) => (await pools[task].run({ task, input }, limits)) as never,
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.close()))
    },
  }
}
