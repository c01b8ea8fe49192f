import type { CronState } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import type { CronReader, CronWriter } from './model/cron.ts'
import type { CronJobsTable } from './schema.ts'

export function cronReader({ db }: Reading): CronReader {
  const from = db.selectFrom('cron_jobs').selectAll()
  return {
    all: async () => {
      const found = new Map<string, Map<string, CronState>>()
      for (const row of await from.execute()) {
        const jobs = found.get(row.project) ?? new Map<string, CronState>()
        found.set(row.project, jobs.set(row.name, stateOf(row)))
      }
      return found
    },
    find: async (project, name) => {
      const row = await from.where('project', '=', project).where('name', '=', name).executeTakeFirst()
      return row === undefined ? null : stateOf(row)
    },
  }
}

export function cronWriter({ db }: Writing): CronWriter {
  return {
    put: async (project, name, state) => {
      const values = columnsOf(state)
      await db
        .insertInto('cron_jobs')
        .values({ project, name, ...values })
        .onConflict((conflict) => conflict.columns(['project', 'name']).doUpdateSet(values))
        .execute()
    },
    delete: async (project, name) => {
      await db.deleteFrom('cron_jobs').where('project', '=', project).where('name', '=', name).execute()
    },
  }
}

function columnsOf(state: CronState): Omit<CronJobsTable, 'project' | 'name'> {
  return {
    schedule: state.schedule,
    timezone: state.timezone,
    counts_from: state.countsFrom,
    active: state.active ? 1 : 0,
    skipped_at: state.skippedAt,
    skipped_because: state.skippedBecause,
  }
}

function stateOf(row: CronJobsTable): CronState {
  return {
    schedule: row.schedule,
    timezone: row.timezone,
    countsFrom: row.counts_from,
    active: row.active === 1,
    skippedAt: row.skipped_at,
    skippedBecause: row.skipped_because as CronState['skippedBecause'],
  }
}
