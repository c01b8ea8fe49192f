import type { TaskName } from './tasks/index.ts'

/** From the service to a thread. */
export interface TaskRequest {
  readonly task: TaskName
  readonly input: unknown
}

/** From the thread back: `began` first, so that the time to load the task does not count. */
export type WorkerAnswer = { readonly kind: 'began' } | { readonly kind: 'done'; readonly output: unknown }
