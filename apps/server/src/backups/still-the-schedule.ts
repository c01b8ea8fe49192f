import { isDeepStrictEqual } from 'node:util'
import type { BackupSchedule } from '@stackquay/domain'
import type { ProjectRow, Store } from '@stackquay/store'

/** Who asks for what a schedule asks for. */
export const asker = { actor: 'system', requestId: '' } as const

/** Inside the transaction that acts on it: whether the schedule is still what was looked at. */
export async function isStill(
  { id }: Pick<ProjectRow, 'id'>,
  schedule: BackupSchedule,
  { backupSchedules }: Pick<Store, 'backupSchedules'>,
): Promise<boolean> {
  return isDeepStrictEqual(await backupSchedules.of(id), schedule)
}
