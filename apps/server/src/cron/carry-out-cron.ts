import { isDeepStrictEqual } from 'node:util'
import {
  type CronAct,
  type CronSpec,
  type CronState,
  commandText,
  cronAct,
  nextCronTimes,
  runtimeOf,
  timeLimitSeconds,
} from '@stackquay/domain'
import type { OperationRow, ProjectRow, RunRow, Store, Transaction } from '@stackquay/store'
import { isQuiet } from '../projects/accept.ts'
import type { CronMemory } from '../projects/cron-memory.ts'
import type { Model } from '../projects/model.ts'
import { insertRun, mostAtOnce, type WantedRun } from '../runs/queue-run.ts'
import type { Runs } from '../runs/runs.ts'

export interface CarryOutCronDeps {
  readonly store: Store
  readonly model: Pick<Model, 'all'>
  readonly memory: CronMemory
  readonly runs: Pick<Runs, 'begin' | 'replace'>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

/** Who asks for what a cron job asks for. */
const asker = { actor: 'system', requestId: null } as const
/** Settings that are older were looked at before, unless the service was down: then they count from now. */
const freshMs = 10_000

interface Looked {
  readonly restMs: number
  /** Something is due and waits for the end of what is under way. */
  readonly waits: boolean
}

/** Starts what is due in all projects, and remembers what was passed over. Done twice, it is the same as done once. */
export async function carryOutCron(deps: CarryOutCronDeps): Promise<Looked> {
  const { store, model, memory, onError } = deps
  const ids = model
    .all()
    .filter(({ row }) => row.spec.cron !== undefined || memory.states(row.id).size > 0)
    .map(({ row }) => row.id)
  if (ids.length === 0) return { restMs: Number.POSITIVE_INFINITY, waits: false }
  // One moment for all of a look: a time that comes meanwhile is the next one.
  const now = deps.now()
  const [runs, operations] = [await store.runs.unfinished(), await store.operations.unfinished()]
  let looked: Looked = { restMs: Number.POSITIVE_INFINITY, waits: false }
  for (const id of ids) {
    try {
      const its = await lookAt(id, { runs, operations, now }, deps)
      looked = { restMs: Math.min(looked.restMs, its.restMs), waits: looked.waits || its.waits }
    } catch (error) {
      onError(error, `the cron jobs of ${id}`)
    }
  }
  return looked
}

interface Now {
  readonly runs: readonly RunRow[]
  readonly operations: readonly OperationRow[]
  readonly now: Date
}

async function lookAt(id: string, { runs, operations, now }: Now, deps: CarryOutCronDeps): Promise<Looked> {
  const row = await deps.store.projects.find(id)
  if (row === null) return { restMs: Number.POSITIVE_INFINITY, waits: false }
  const jobs = new Map(Object.entries(row.spec.cron ?? {}).filter(([, { enabled }]) => enabled))
  for (const name of [...deps.memory.states(id).keys()]) if (!jobs.has(name)) await forget(id, name, deps)
  const running = row.phase === 'ready' && row.desired === 'running'
  const held = operations.some((operation) => operation.project === id && holds(operation))
  let atOnce = runs.filter(({ project }) => project === id).length
  let looked: Looked = { restMs: Number.POSITIVE_INFINITY, waits: false }
  for (const [name, job] of jobs) {
    const own = runs.filter((run) => run.project === id && run.kind === 'cron' && run.name === name)
    const seen = { running, held, runs: own.length, room: atOnce < mostAtOnce }
    const before = deps.memory.states(id).get(name) ?? null
    const act = cronAct(job, before, seen, writtenAt(row, now), now)
    if (act.ends) for (const run of own) await deps.runs.replace(run)
    if (await carryOut({ row, name, job, before, own }, act, deps)) atOnce += 1
    if (act.state.active) {
      const [next] = nextCronTimes(job, now, 1)
      const restMs = next === undefined ? Number.POSITIVE_INFINITY : next.getTime() - now.getTime()
      looked = { restMs: Math.min(looked.restMs, restMs), waits: looked.waits || seen.held || act.ends || !seen.room }
    }
  }
  return looked
}

/** What may stop programs or replace data: a command that is started meanwhile could meet neither what was nor what comes. */
function holds(operation: OperationRow): boolean {
  return !isQuiet(operation) && !['copy-backup', 'fetch-backup', 'delete-copy'].includes(operation.kind)
}

/** When the settings were written, where that was just now: a time that came since is one of theirs. */
function writtenAt({ updatedAt }: ProjectRow, now: Date): Date {
  const written = new Date(updatedAt)
  const age = now.getTime() - written.getTime()
  return age >= 0 && age < freshMs ? written : now
}

interface Job {
  readonly row: ProjectRow
  readonly name: string
  readonly job: CronSpec
  readonly before: CronState | null
  /** Its runs that are under way. */
  readonly own: readonly RunRow[]
}

/** What is remembered and the run are one transaction, which begins only while all is as it was looked at. Answers whether it started one. */
async function carryOut(looked: Job, act: CronAct, { store, memory, runs }: CarryOutCronDeps): Promise<boolean> {
  const { row, name, before } = looked
  if (act.start === null && isDeepStrictEqual(before, act.state)) return false
  const done = await store.transaction(async (tx) => {
    if (!(await isStill(looked, store))) return null
    await tx.cron.put(row.id, name, act.state)
    if (act.state.skippedAt !== (before?.skippedAt ?? null)) {
      const { skippedAt: at, skippedBecause: because } = act.state
      await tx.events.append({ type: 'cron.changed', project: row.id, data: { name, skipped: { at, because } } })
    }
    return { run: act.start === null ? null : await startIn(tx, looked, act.start) }
  })
  if (done === null) return false
  memory.put(row.id, name, act.state)
  if (done.run === null) return false
  runs.begin(done.run)
  return true
}

/** A person may have changed, stopped or run it since it was looked at: the next look sees that. */
async function isStill({ row, name, before, own }: Job, store: Store): Promise<boolean> {
  const [now, state, unfinished] = [
    await store.projects.find(row.id),
    await store.cron.find(row.id, name),
    await store.runs.unfinished(),
  ]
  const running = unfinished.filter((run) => run.project === row.id && run.kind === 'cron' && run.name === name)
  return now?.revision === row.revision && isDeepStrictEqual(state, before) && running.length === own.length
}

function startIn(tx: Transaction, { row, name, job }: Job, due: Date): Promise<RunRow> {
  return insertRun(tx, row, wantedCron(row, name, job, due), asker)
}

/** A run of a cron job. `due`: the time for which it is; null when a person wants it. */
export function wantedCron(
  { spec }: Pick<ProjectRow, 'spec'>,
  name: string,
  job: CronSpec,
  due: Date | null,
): WantedRun {
  return {
    kind: 'cron',
    name,
    label: commandText(job.command),
    runtime: runtimeOf(spec, job.runtime)?.name ?? job.runtime,
    filter: null,
    plan: { dueAt: due?.toISOString() ?? null, limitSeconds: timeLimitSeconds(job.timeLimit) },
    overlaps: job.overlap === 'allow',
  }
}

async function forget(project: string, name: string, { store, memory }: CarryOutCronDeps): Promise<void> {
  await store.transaction((tx) => tx.cron.delete(project, name))
  memory.put(project, name, null)
}
