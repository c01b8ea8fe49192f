import { ProblemError, type WorkerView } from '@stackquay/contract'
import { type FoundPreset, nextCronTimes, runtimeOf, scheduleBlocker, workerInstances } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { CronMemory } from '../projects/cron-memory.ts'
import type { Resolver } from '../projects/resolver.ts'
import { cronView, workerView } from '../projects/work-view.ts'
import { isOver, shownRun } from '../runs/run-view.ts'
import type { Runs } from '../runs/runs.ts'
import { wantedCron } from './carry-out-cron.ts'

export interface CronHandlersDeps {
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'presets' | 'commands'>
  readonly runs: Runs
  readonly memory: CronMemory
  readonly now: () => Date
}

type WorkerHandlers = Pick<Handlers, 'listWorkers' | 'getWorker' | 'putWorker' | 'deleteWorker'>
type CronHandlers = Pick<
  Handlers,
  'listCronJobs' | 'getCronJob' | 'putCronJob' | 'deleteCronJob' | 'runCronJob' | 'previewCron'
>

const namesShown = 5

export function workAndCronHandlers(deps: CronHandlersDeps, answers: ProjectAnswers): WorkerHandlers & CronHandlers {
  return { ...workerHandlers(deps, answers), ...cronHandlers(deps, answers), ...runHandlers(deps, answers) }
}

function workerHandlers({ resolver }: CronHandlersDeps, { find, holds, change }: ProjectAnswers): WorkerHandlers {
  return {
    listWorkers: async ({ params }) => {
      const row = await find(params.id)
      const found = (await resolver.presets(row)).filter(({ schedule }) => schedule === null)
      const items = Object.keys(row.spec.workers ?? {}).map((name) => namedWorker(row, name))
      return { status: 200, body: { items, presets: found.map((preset) => ({ ...presetOf(preset), count: 1 })) } }
    },
    getWorker: async ({ params }) => ({ status: 200, body: namedWorker(await find(params.id), params.name) }),
    putWorker: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      return change(row, { workers: { [params.name]: body } }, context, 'worker.update', query)
    },
    deleteWorker: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      namedWorker(row, params.name)
      return change(row, { workers: { [params.name]: null } }, context, 'worker.delete', query)
    },
  }
}

function cronHandlers(
  { resolver, memory, now }: CronHandlersDeps,
  { find, holds, change }: ProjectAnswers,
): Omit<CronHandlers, 'runCronJob' | 'previewCron'> {
  const named = (row: ProjectRow, name: string) => {
    const job = cronOf(row, name)
    const times = nextCronTimes(job, now(), namesShown).map((time) => time.toISOString())
    return { name, ...cronView(job, memory.seen(row, name)), nextTimes: times }
  }
  return {
    listCronJobs: async ({ params }) => {
      const row = await find(params.id)
      const presets = (await resolver.presets(row)).flatMap((preset) =>
        preset.schedule === null ? [] : [{ ...presetOf(preset), schedule: preset.schedule }],
      )
      return { status: 200, body: { items: Object.keys(row.spec.cron ?? {}).map((name) => named(row, name)), presets } }
    },
    getCronJob: async ({ params }) => ({ status: 200, body: named(await find(params.id), params.name) }),
    putCronJob: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      return change(row, { cron: { [params.name]: body } }, context, 'cron.update', query)
    },
    deleteCronJob: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      cronOf(row, params.name)
      return change(row, { cron: { [params.name]: null } }, context, 'cron.delete', query)
    },
  }
}

function runHandlers(
  { store, engine, resolver, runs, now }: CronHandlersDeps,
  { find }: ProjectAnswers,
): Pick<CronHandlers, 'runCronJob' | 'previewCron'> {
  return {
    runCronJob: async ({ params, query }, context) => {
      const row = await find(params.id)
      const job = cronOf(row, params.name)
      const found = (await resolver.commands(row)).cron.find(({ id }) => id === params.name)
      if (found?.reason != null) throw new ProblemError('unavailable_here', found.reason)
      const run = await runs.start(row, wantedCron(row, params.name, job, null), context)
      if (query.wait !== undefined && query.wait > 0)
        await runs.ended(run.id, AbortSignal.any([context.signal, AbortSignal.timeout(query.wait * 1000)]))
      const ended = (await store.runs.find(run.id)) ?? run
      return { status: isOver(ended) ? 200 : 202, body: await shownRun(ended, engine.commands) }
    },
    previewCron: async ({ body }) => {
      const blocker = scheduleBlocker({ cron: body.schedule, timezone: body.timezone }, now())
      if (blocker !== null) {
        const pointer = blocker.field === 'cron' ? '/schedule' : '/timezone'
        const errors = [{ pointer, code: 'invalid', detail: blocker.detail }]
        throw new ProblemError('validation_failed', blocker.detail, { errors })
      }
      const times = nextCronTimes(body, now(), body.count)
      return { status: 200, body: { times: times.map((time) => time.toISOString()) } }
    },
  }
}

function presetOf({ name, runtime, label, command, because }: FoundPreset) {
  return { name, runtime, label, command: [...command], because }
}

function namedWorker(row: ProjectRow, name: string): WorkerView & { name: string; workloads: string[] } {
  const workers = row.spec.workers ?? {}
  const worker = Object.hasOwn(workers, name) ? workers[name] : undefined
  if (worker === undefined) throw new ProblemError('not_found', `The project has no worker "${name}".`)
  const isPlaced = runtimeOf(row.spec, worker.runtime) !== null
  return { name, ...workerView(worker), workloads: isPlaced ? workerInstances(name, worker) : [] }
}

function cronOf(row: ProjectRow, name: string) {
  const jobs = row.spec.cron ?? {}
  const job = Object.hasOwn(jobs, name) ? jobs[name] : undefined
  if (job === undefined) throw new ProblemError('not_found', `The project has no cron job "${name}".`)
  return job
}
