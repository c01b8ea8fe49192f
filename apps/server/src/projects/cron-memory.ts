import type { CronRun, CronView, EventRecord, ProjectStatus, Run } from '@stackquay/contract'
import { type CronState, lastSkip, nextCronTimes, workOff } from '@stackquay/domain'
import type { ProjectRow, RunRow, Store } from '@stackquay/store'

type Row = Pick<ProjectRow, 'id' | 'spec' | 'phase' | 'desired'>
export type SeenCron = Pick<CronView, 'nextAt' | 'lastRun' | 'lastSkip'>

/** What is known of the cron jobs of all projects beside their settings: answers are made from it without asking the store. */
export interface CronMemory {
  load(): Promise<void>
  /** What is remembered of the jobs of a project, by name. */
  states(project: string): ReadonlyMap<string, CronState>
  /** After it was written. Null: the job is gone. */
  put(project: string, name: string, state: CronState | null): void
  seen(row: Row, name: string): SeenCron
  warnings(row: Row): ProjectStatus['warnings']
  close(): void
}

export function createCronMemory(store: Store, now: () => Date): CronMemory {
  const states = new Map<string, Map<string, CronState>>()
  const runs = new Map<string, Map<string, CronRun>>()

  const keepRun = (project: string, name: string, run: CronRun) => {
    const its = runs.get(project) ?? new Map<string, CronRun>()
    const before = its.get(name)
    // Ids grow with time. Of runs beside each other the newest one counts.
    if (before === undefined || before.id <= run.id) its.set(name, run)
    runs.set(project, its)
  }
  const hear = ({ type, project, data }: EventRecord) => {
    if (project === null) return
    if (type === 'project.deleted') {
      states.delete(project)
      runs.delete(project)
    } else if (type === 'run.changed') {
      const run = data as Omit<Run, 'output'>
      if (run.kind === 'cron') keepRun(project, run.name, shown(run))
    }
  }
  const stop = store.onCommit((events) => events.forEach(hear))

  return {
    close: stop,
    load: async () => {
      for (const [project, jobs] of await store.cron.all()) {
        states.set(project, new Map(jobs))
        for (const row of await store.runs.lastOf(project, 'cron'))
          keepRun(project, row.name, shown({ ...row, dueAt: dueAtOf(row) }))
      }
    },
    states: (project) => states.get(project) ?? new Map(),
    put: (project, name, state) => {
      const its = states.get(project) ?? new Map<string, CronState>()
      if (state === null) its.delete(name)
      else its.set(name, state)
      states.set(project, its)
    },
    seen: ({ id, spec, phase, desired }, name) => {
      const job = spec.cron?.[name]
      const state = states.get(id)?.get(name)
      const runsAtTimes = job?.enabled === true && phase === 'ready' && desired === 'running'
      const [next] = runsAtTimes ? nextCronTimes(job, now(), 1) : []
      return {
        nextAt: next?.toISOString() ?? null,
        lastRun: runs.get(id)?.get(name) ?? null,
        lastSkip: job === undefined || state === undefined ? null : lastSkip(job, state, now()),
      }
    },
    warnings: ({ id, spec }) => [
      ...offWarnings(spec),
      ...Object.entries(spec.cron ?? {}).flatMap(([name, { enabled }]) => {
        const last = runs.get(id)?.get(name)
        return enabled && last?.state === 'failed' ? [failedWarning(name, last)] : []
      }),
    ],
  }
}

function dueAtOf({ plan }: RunRow): string | null {
  return typeof plan.dueAt === 'string' ? plan.dueAt : null
}

function shown({ id, state, exitCode, dueAt, createdAt, finishedAt }: CronRun): CronRun {
  return { id, state, exitCode, dueAt, createdAt, finishedAt }
}

function failedWarning(name: string, { id, exitCode }: CronRun): ProjectStatus['warnings'][number] {
  const how = exitCode === null ? '' : ` with exit code ${exitCode}`
  return {
    code: 'cron_failed',
    detail: `The last run of the cron job "${name}" failed${how}.`,
    hint: `See the output of ${id}. Its next run that succeeds ends this warning.`,
  }
}

function offWarnings(spec: ProjectRow['spec']): ProjectStatus['warnings'] {
  const off = workOff(spec)
  const parts = [named('worker', off.workers), named('cron job', off.cron)].filter((part) => part !== null)
  if (parts.length === 0) return []
  return [
    {
      code: 'work_off',
      detail: `This project is a copy, so it started with ${parts.join(' and ')} off.`,
      hint: 'Switch them on when they may work beside those of the original.',
    },
  ]
}

function named(word: string, names: readonly string[]): string | null {
  if (names.length === 0) return null
  return `the ${word}${names.length === 1 ? '' : 's'} ${names.map((name) => `"${name}"`).join(', ')}`
}
