import { z } from 'zod'
import { operation } from '../operation.ts'
import { ProjectRef, Wait } from '../schemas/common.ts'
import { Project } from '../schemas/project.ts'
import { Run } from '../schemas/runs.ts'
import {
  CronBody,
  CronList,
  CronPreview,
  CronPreviewBody,
  NamedCron,
  NamedWorker,
  ProgramName,
  WorkerBody,
  WorkerList,
} from '../schemas/workers.ts'
import { change, id, operate, read } from './of-project.ts'

const one = z.object({ id: ProjectRef, name: ProgramName })
const changing = ['validation_failed', 'busy', 'precondition_failed', 'unavailable_here', 'engine_cannot'] as const

export const listWorkers = operation({
  id: 'listWorkers',
  method: 'GET',
  path: '/projects/{id}/workers',
  tag: 'Workers and cron',
  summary: 'Workers of a project, and presets that its dependencies suggest',
  description: 'How its instances are is in the project: `status.workloads`.',
  access: read,
  params: id,
  results: { 200: WorkerList },
  problems: [],
})

export const getWorker = operation({
  id: 'getWorker',
  method: 'GET',
  path: '/projects/{id}/workers/{name}',
  tag: 'Workers and cron',
  summary: 'Read a worker',
  description: 'Its settings, and which workloads are its instances.',
  access: read,
  params: one,
  results: { 200: NamedWorker },
  problems: [],
})

export const putWorker = operation({
  id: 'putWorker',
  method: 'PUT',
  path: '/projects/{id}/workers/{name}',
  tag: 'Workers and cron',
  summary: 'Add a worker, or replace its settings',
  description: 'Another count starts or stops single instances; the others go on.',
  access: operate,
  params: one,
  query: change,
  body: WorkerBody,
  results: { 200: Project },
  problems: changing,
  audit: 'worker.update',
  dryRun: true,
})

export const deleteWorker = operation({
  id: 'deleteWorker',
  method: 'DELETE',
  path: '/projects/{id}/workers/{name}',
  tag: 'Workers and cron',
  summary: 'Remove a worker; its instances are stopped',
  description: 'Answers the project.',
  access: operate,
  params: one,
  query: change,
  results: { 200: Project },
  problems: changing,
  audit: 'worker.delete',
  dryRun: true,
  removes: 'record',
})

export const listCronJobs = operation({
  id: 'listCronJobs',
  method: 'GET',
  path: '/projects/{id}/cron',
  tag: 'Workers and cron',
  summary: 'Cron jobs of a project, and presets that its dependencies suggest',
  description: 'Their runs are among the runs of the project: `?kind=cron&name=…`.',
  access: read,
  params: id,
  results: { 200: CronList },
  problems: [],
})

export const getCronJob = operation({
  id: 'getCronJob',
  method: 'GET',
  path: '/projects/{id}/cron/{name}',
  tag: 'Workers and cron',
  summary: 'Read a cron job',
  description: 'With its next times, its newest run, and the last time that was passed over.',
  access: read,
  params: one,
  results: { 200: NamedCron },
  problems: [],
})

export const putCronJob = operation({
  id: 'putCronJob',
  method: 'PUT',
  path: '/projects/{id}/cron/{name}',
  tag: 'Workers and cron',
  summary: 'Add a cron job, or replace its settings',
  description: 'It runs at its next time, never at once. It runs while the project does.',
  access: operate,
  params: one,
  query: change,
  body: CronBody,
  results: { 200: Project },
  problems: changing,
  audit: 'cron.update',
  dryRun: true,
})

export const deleteCronJob = operation({
  id: 'deleteCronJob',
  method: 'DELETE',
  path: '/projects/{id}/cron/{name}',
  tag: 'Workers and cron',
  summary: 'Remove a cron job; a run that is under way goes on',
  description: 'Its runs stay in the history.',
  access: operate,
  params: one,
  query: change,
  results: { 200: Project },
  problems: changing,
  audit: 'cron.delete',
  dryRun: true,
  removes: 'record',
})

export const runCronJob = operation({
  id: 'runCronJob',
  method: 'POST',
  path: '/projects/{id}/cron/{name}/run',
  tag: 'Workers and cron',
  summary: 'Run a cron job now',
  description: 'Answers the run at once, or with ?wait= at its end. Its times stay as they are.',
  access: operate,
  params: one,
  query: z.strictObject({ wait: Wait.describe('Seconds to wait for the end of the run, at most 300.') }),
  results: { 202: Run, 200: Run },
  problems: ['busy', 'unavailable_here', 'not_running', 'engine_cannot', 'validation_failed'],
  audit: 'cron.run',
})

export const previewCron = operation({
  id: 'previewCron',
  method: 'POST',
  path: '/cron/preview',
  tag: 'Workers and cron',
  summary: 'The next times of a schedule in a time zone',
  description: 'Changes nothing.',
  access: { kind: 'scope', scope: 'read' },
  body: CronPreviewBody,
  results: { 200: CronPreview },
  problems: ['validation_failed'],
})
