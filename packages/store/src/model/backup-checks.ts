import type { BackupVerification } from '@stackquay/contract'

export interface BackupCheckReader {
  /** The last of each backup, by its id. */
  all(): Promise<ReadonlyMap<string, BackupVerification>>
}

export interface BackupCheckWriter {
  /** In place of the one before. */
  put(backup: string, found: Omit<BackupVerification, 'at'>): Promise<BackupVerification>
  delete(backup: string): Promise<void>
}
