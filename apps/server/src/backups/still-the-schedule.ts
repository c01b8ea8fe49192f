import { isDeepStrictEqual } from 'node:util'
import type { BackupSchedule } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Subject } from './scheduled-subject.ts'

/** Who asks for what a schedule asks for. */
export const asker = { actor: 'system', requestId: '' } as const

/** Inside the transaction that acts on it: whether the schedule is still what was looked at. */
export async function isStill(
  subject: Subject,
  schedule: BackupSchedule,
  { backupSchedules }: Pick<Store, 'backupSchedules'>,
): Promise<boolean> {
  return isDeepStrictEqual(await backupSchedules.of(subject?.id ?? null), schedule)
}
