import type { BackupSchedule } from '@stackquay/domain'

export interface BackupScheduleReader {
  /** Of each project that has one, by the project's id. */
  all(): Promise<ReadonlyMap<string, BackupSchedule>>
  of(project: string): Promise<BackupSchedule | null>
}

export interface BackupScheduleWriter {
  /** In place of the one before. It goes with its project. */
  put(project: string, schedule: BackupSchedule): Promise<void>
  delete(project: string): Promise<void>
}
