import type { BackupSchedule } from '@stackquay/domain'

export interface BackupScheduleReader {
  /** Of each that has one: by the project's id, that of the instance itself by null. */
  all(): Promise<ReadonlyMap<string | null, BackupSchedule>>
  of(project: string | null): Promise<BackupSchedule | null>
}

export interface BackupScheduleWriter {
  /** In place of the one before. It goes with its project. */
  put(project: string | null, schedule: BackupSchedule): Promise<void>
  delete(project: string | null): Promise<void>
}
