import type { ImageBuild, Job, Workload, WorkloadRef } from './workload.ts'

/** A difference to make, decided by `domain/plan`; removals are first. Plain data, free of secrets. */
export type Change =
  /** `title` is the workload's, for the titles of steps. */
  | { readonly type: 'stop'; readonly ref: WorkloadRef; readonly title: string; readonly stop: Workload['stop'] }
  /** Stop if it runs, and forget it: run files go, kept data and logs stay. */
  | { readonly type: 'remove'; readonly ref: WorkloadRef; readonly title: string; readonly stop: Workload['stop'] }
  /** `newerImage`: takes what the registry calls so now. Without it a workload keeps the build of its image that it has. */
  | { readonly type: 'start'; readonly workload: Workload; readonly newerImage?: boolean }
  /** Stop gracefully, then start in the new form. An engine may start the new form first where nothing forbids two. */
  | {
      readonly type: 'replace'
      readonly workload: Workload
      readonly because: readonly string[]
      readonly newerImage?: boolean
    }
  /** Run one job by itself (dependency installation, an action). */
  | { readonly type: 'job'; readonly ref: WorkloadRef; readonly job: Job; readonly force: boolean }
  /** `title`: what people call the data, where that is not its name. */
  | { readonly type: 'deleteData'; readonly project: string; readonly data: string; readonly title?: string }
  /** End every other process of a project. `commands`: what people run in it too. */
  | { readonly type: 'strays'; readonly project: string; readonly commands: boolean }

/** One thing an engine does. Doing a step twice is the same as doing it once. Plain JSON, free of secrets. */
export type Step =
  | {
      readonly id: string
      readonly title: string
      readonly do: 'stop'
      readonly ref: WorkloadRef
      readonly stop: Workload['stop']
    }
  | { readonly id: string; readonly title: string; readonly do: 'remove'; readonly ref: WorkloadRef }
  | {
      readonly id: string
      readonly title: string
      readonly do: 'job'
      readonly ref: WorkloadRef
      readonly job: Job
      readonly force: boolean
    }
  /** Makes an image be there. One that is there is not asked for, unless `newer`. */
  | {
      readonly id: string
      readonly title: string
      readonly do: 'pull'
      readonly ref: WorkloadRef
      readonly image: string
      readonly build: ImageBuild | null
      readonly newer: boolean
    }
  | {
      readonly id: string
      readonly title: string
      readonly do: 'start'
      readonly workload: Workload
      readonly newerImage?: boolean
    }
  | { readonly id: string; readonly title: string; readonly do: 'ready'; readonly workload: Workload }
  | {
      readonly id: string
      readonly title: string
      readonly do: 'deleteData'
      readonly project: string
      readonly data: string
    }
  | {
      readonly id: string
      readonly title: string
      readonly do: 'strays'
      readonly project: string
      readonly commands: boolean
    }
