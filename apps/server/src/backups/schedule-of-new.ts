import { BackupScheduleBody } from '@stackquay/contract'
import { type BackupSchedule, withSettings } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'

/**
 * The schedule that a new project begins with, by the settings of the instance; null when it is to have none. Targets that are gone are left
 * out. Projects that are copies of others, and environments of branches, get none.
 */
export async function scheduleOfNew(
  { newBackups: { cron, timezone, targets } }: Pick<Config, 'newBackups'>,
  { backupTargets }: Pick<Store, 'backupTargets'>,
  now: Date,
): Promise<BackupSchedule | null> {
  if (cron === null) return null
  const there = new Set((await backupTargets.all()).map(({ id }) => id))
  const settings = BackupScheduleBody.parse({ cron, timezone, targets: targets.filter((id) => there.has(id)) })
  return withSettings(null, settings, now)
}
