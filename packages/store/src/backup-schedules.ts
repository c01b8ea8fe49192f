import type { BackupSchedule } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import type { BackupScheduleReader, BackupScheduleWriter } from './model/backup-schedules.ts'
import type { BackupSchedulesTable } from './schema-backups.ts'

export function backupScheduleReader({ db }: Reading): BackupScheduleReader {
  const from = db.selectFrom('backup_schedules').selectAll()
  return {
    all: async () => new Map((await from.execute()).map((row) => [row.project, scheduleOf(row)])),
    of: async (project) => {
      const row = await from.where('project', '=', project).executeTakeFirst()
      return row === undefined ? null : scheduleOf(row)
    },
  }
}

export function backupScheduleWriter({ db }: Writing): BackupScheduleWriter {
  return {
    put: async (project, schedule) => {
      const values = columnsOf(schedule)
      await db
        .insertInto('backup_schedules')
        .values({ project, ...values })
        .onConflict((conflict) => conflict.column('project').doUpdateSet(values))
        .execute()
    },
    delete: async (project) => {
      await db.deleteFrom('backup_schedules').where('project', '=', project).execute()
    },
  }
}

function columnsOf(schedule: BackupSchedule): Omit<BackupSchedulesTable, 'project'> {
  return {
    cron: schedule.cron,
    timezone: schedule.timezone,
    keep: JSON.stringify(schedule.keep),
    verify: schedule.verify,
    times_set_at: schedule.timesSetAt,
    keep_set_at: schedule.keepSetAt,
    counts_from: schedule.countsFrom,
    late: schedule.late ? 1 : 0,
    last_operation: schedule.lastOperation,
    last_verified: schedule.lastVerified,
    targets: JSON.stringify(schedule.targets),
  }
}

function scheduleOf(row: BackupSchedulesTable): BackupSchedule {
  return {
    cron: row.cron,
    timezone: row.timezone,
    keep: JSON.parse(row.keep) as BackupSchedule['keep'],
    verify: row.verify as BackupSchedule['verify'],
    timesSetAt: row.times_set_at,
    keepSetAt: row.keep_set_at,
    countsFrom: row.counts_from,
    late: row.late === 1,
    lastOperation: row.last_operation,
    lastVerified: row.last_verified,
    targets: JSON.parse(row.targets) as BackupSchedule['targets'],
  }
}
