import type { SeedState } from '@stackquay/domain'

/** Whether the seeds of databases were read, by the names of their data. A database that was never looked at has no row. */
export interface SeedReader {
  find(project: string, data: string): Promise<SeedState | null>
}

export interface SeedWriter {
  set(project: string, data: string, state: SeedState): Promise<void>
  forget(project: string, data: string): Promise<void>
}
