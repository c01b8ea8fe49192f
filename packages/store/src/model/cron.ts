import type { CronState } from '@stackquay/domain'

/** What is remembered of the cron jobs of projects. A job that was never looked at has no row. */
export interface CronReader {
  /** By project and name. */
  all(): Promise<ReadonlyMap<string, ReadonlyMap<string, CronState>>>
  find(project: string, name: string): Promise<CronState | null>
}

export interface CronWriter {
  put(project: string, name: string, state: CronState): Promise<void>
  delete(project: string, name: string): Promise<void>
}
