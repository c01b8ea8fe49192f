import { runtimeTypes } from '@stackquay/catalog'
import { z } from 'zod'
import { Time, WorkloadName } from './common.ts'
import { Run } from './runs.ts'

/** No number at the end: the instances of a worker are called `queue-1`, `queue-2`. */
export const programNamePattern = /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/
/** What becomes of a time of a cron job while a run of it is under way. */
export const overlapPolicies = ['skip', 'replace', 'allow'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

const runtimeNames = runtimeTypes.map((kind) => kind.name) as [string, ...string[]]

/** As it is written: words, or a line that is split at its spaces and quotes alone. */
export const CommandLine = z
  .union([z.string().min(1).max(4096), z.array(z.string().min(1).max(4096)).min(1).max(64)])
  .describe('Words, or a line that is split at spaces and quotes. No shell reads it.')
const Words = z.array(z.string()).describe('Its words.')
const Runtime = z.enum(runtimeNames).nullable().describe('The runtime in whose place it runs; null: the first one.')
const Copied = z
  .boolean()
  .meta({ readOnly: true, description: 'Off because the project is a copy, and nobody said otherwise since.' })
const Enabled = z.boolean().describe('Off keeps the settings.')

const workerFields = {
  count: z.int().min(1).max(20).describe('How many of it run, at most 20.'),
  runtime: Runtime,
  enabled: Enabled,
}

export const ProgramName = z
  .string()
  .regex(programNamePattern, 'must match [a-z][a-z0-9-]{0,29}')
  .describe('Its name in the project.')

export const WorkerBody = z
  .strictObject({
    command: CommandLine,
    count: workerFields.count.default(1),
    runtime: Runtime.default(null),
    enabled: Enabled.default(true),
  })
  .meta({ id: 'WorkerBody' })
export const WorkerPatch = z
  .strictObject({ command: CommandLine, ...workerFields, copied: Copied })
  .partial()
  .meta({ id: 'WorkerPatch' })
export type WorkerPatch = z.infer<typeof WorkerPatch>

export const WorkerView = z.object({ command: Words, ...workerFields, copied: Copied }).meta({ id: 'Worker' })
export type WorkerView = z.infer<typeof WorkerView>

const timeLimitPattern = /^([1-9]\d{0,4})(s|m|h)$/
const cronFields = {
  schedule: z
    .string()
    .min(1)
    .max(100)
    .describe('Five fields: minute, hour, day of month, month, day of week: `0 3 * * *`.'),
  timezone: z.string().min(1).max(60).describe('Of the IANA database: `Europe/Berlin`.'),
  timeLimit: z
    .string()
    .regex(timeLimitPattern, 'must be like 30s, 10m or 2h')
    .describe('A run that takes longer is ended: `10m`; at most 24h.'),
  overlap: z
    .enum(overlapPolicies)
    .describe('While a run is under way: skip the time, replace the run, or allow both (five at most).'),
  runtime: Runtime,
  enabled: Enabled,
}

export const CronBody = z
  .strictObject({
    schedule: cronFields.schedule,
    command: CommandLine,
    timezone: cronFields.timezone.default('UTC'),
    timeLimit: cronFields.timeLimit.default('1h'),
    overlap: cronFields.overlap.default('skip'),
    runtime: Runtime.default(null),
    enabled: Enabled.default(true),
  })
  .meta({ id: 'CronJobBody' })

const CronRun = z
  .object({
    id: z.string(),
    state: Run.shape.state,
    exitCode: z.int().nullable(),
    dueAt: Time.nullable().describe('The time for which it was started; null: a person started it.'),
    createdAt: Time,
    finishedAt: Time.nullable(),
  })
  .meta({ id: 'CronRun' })
export type CronRun = z.infer<typeof CronRun>

const CronSkip = z
  .object({
    at: Time.describe('The time that was passed over.'),
    because: z
      .enum(['stopped', 'still_running', 'too_many'])
      .describe('The project was stopped, a run was under way, or too many of it were.'),
  })
  .meta({ id: 'CronSkip' })

const seenFields = {
  copied: Copied,
  nextAt: Time.nullable().meta({
    readOnly: true,
    description: 'The next time; null while it is off or the project is stopped.',
  }),
  lastRun: CronRun.nullable().meta({ readOnly: true, description: 'The newest run that is remembered.' }),
  lastSkip: CronSkip.nullable().meta({ readOnly: true, description: 'The last time that was passed over.' }),
}

export const CronPatch = z
  .strictObject({
    command: CommandLine,
    ...cronFields,
    copied: Copied,
    ...Object.fromEntries(
      ['nextAt', 'lastRun', 'lastSkip'].map((field) => [
        field,
        z.unknown().meta({ readOnly: true, description: 'Read-only: accepted and ignored.' }),
      ]),
    ),
  })
  .partial()
  .meta({ id: 'CronJobPatch' })
export type CronPatch = Partial<Omit<z.infer<typeof CronBody>, never>> & Record<string, unknown>

export const CronView = z.object({ command: Words, ...cronFields, ...seenFields }).meta({ id: 'CronJob' })
export type CronView = z.infer<typeof CronView>

const preset = { name: ProgramName, runtime: z.string(), label: z.string(), command: Words, because: z.string() }
export const WorkerPreset = z.object({ ...preset, count: z.int() }).meta({ id: 'WorkerPreset' })
export type WorkerPreset = z.infer<typeof WorkerPreset>
export const CronPreset = z
  .object({ ...preset, schedule: z.string().describe('When it usually runs.') })
  .meta({ id: 'CronPreset' })
export type CronPreset = z.infer<typeof CronPreset>

export const NamedWorker = WorkerView.extend({
  name: ProgramName,
  workloads: z.array(WorkloadName).describe('Its instances, as workloads of the project.'),
}).meta({ id: 'NamedWorker' })
export const WorkerList = z
  .object({
    items: z.array(NamedWorker),
    presets: z.array(WorkerPreset).describe('What the dependencies of the source suggest and the project has not yet.'),
  })
  .meta({ id: 'WorkerList' })

export const NamedCron = CronView.extend({
  name: ProgramName,
  nextTimes: z.array(Time).describe('The next five times, whether or not it is on.'),
}).meta({ id: 'NamedCronJob' })
export type NamedCron = z.infer<typeof NamedCron>
export const CronList = z
  .object({
    items: z.array(NamedCron),
    presets: z.array(CronPreset).describe('What the dependencies of the source suggest and the project has not yet.'),
  })
  .meta({ id: 'CronJobList' })

export const CronPreviewBody = z
  .strictObject({
    schedule: cronFields.schedule,
    timezone: cronFields.timezone.default('UTC'),
    count: z.int().min(1).max(20).default(5).describe('How many times; 5 by default.'),
  })
  .meta({ id: 'CronPreviewBody' })
export const CronPreview = z
  .object({ times: z.array(Time).describe('The next times, soonest first.') })
  .meta({ id: 'CronPreview' })
