import type { BackupSchedule, ScheduledTarget } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import { instanceReader, instanceWriter } from './instance.ts'
import type { BackupScheduleReader, BackupScheduleWriter } from './model/backup-schedules.ts'
import type { BackupSchedulesTable } from './schema-backups.ts'

/** Those of projects are rows that go with their project; that of the instance is a value of the instance. */
export function backupScheduleReader(reading: Reading): BackupScheduleReader {
  const from = reading.db.selectFrom('backup_schedules').selectAll()
  const ofInstance = async () => {
    const text = (await instanceReader(reading).get('backup_schedule')) ?? ''
    return text === '' ? null : (JSON.parse(text) as BackupSchedule)
  }
  return {
    all: async () => {
      const found = new Map<string | null, BackupSchedule>()
      const own = await ofInstance()
      if (own !== null) found.set(null, own)
      for (const row of await from.execute()) found.set(row.project, scheduleOf(row))
      return found
    },
    of: async (project) => {
      if (project === null) return ofInstance()
      const row = await from.where('project', '=', project).executeTakeFirst()
      return row === undefined ? null : scheduleOf(row)
    },
  }
}

export function backupScheduleWriter(writing: Writing): BackupScheduleWriter {
  const { db } = writing
  return {
    put: async (project, schedule) => {
      if (project === null) return instanceWriter(writing).set('backup_schedule', JSON.stringify(schedule))
      const values = columnsOf(schedule)
      await db
        .insertInto('backup_schedules')
        .values({ project, ...values })
        .onConflict((conflict) => conflict.column('project').doUpdateSet(values))
        .execute()
    },
    delete: async (project) => {
      if (project === null) return instanceWriter(writing).set('backup_schedule', '')
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
    keep_on_targets: schedule.keepOnTargets === null ? null : JSON.stringify(schedule.keepOnTargets),
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
    targets: (JSON.parse(row.targets) as ScheduledTarget[]).map(targetOf),
    keepOnTargets:
      row.keep_on_targets === null ? null : (JSON.parse(row.keep_on_targets) as BackupSchedule['keepOnTargets']),
  }
}

/** Rows of before old copies were deleted say nothing of that. */
function targetOf(target: ScheduledTarget): ScheduledTarget {
  return { ...target, lastWhole: target.lastWhole ?? null, keepProblem: target.keepProblem ?? null }
}
