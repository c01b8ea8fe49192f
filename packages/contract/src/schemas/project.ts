import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { AddonPatch, AddonSettings, addonsOf } from './addons.ts'
import { BranchesPatch, BranchesSettings } from './branch-settings.ts'
import { Time, WorkloadName } from './common.ts'
import { DatabaseChange, DatabaseView } from './databases.ts'
import { HealthCheckPatch, HealthCheckSettings } from './health-checks.ts'
import { Hooks, HooksPatch } from './hooks.ts'
import { databaseNamePattern, envNamePattern } from './names.ts'
import { OperationRecord } from './operations.ts'
import { PullSource, pullNamePattern } from './pull.ts'
import { SleepPatch, SleepSettings } from './sleep.ts'
import { CronPatch, CronView, programNamePattern, WorkerPatch, WorkerView } from './workers.ts'

export const projectStates = [
  'stopped',
  'starting',
  'running',
  'degraded',
  'stopping',
  'sleeping',
  'failed',
  'creating',
  'deleting',
  'unknown',
] as const
export const workloadStates = [
  'stopped',
  'starting',
  'running',
  'unhealthy',
  'waiting',
  'backing-off',
  'crashed',
  'stopping',
  'unknown',
] as const

/** What a project can run on. */
export const engineNames = ['native', 'docker'] as const
export type EngineName = (typeof engineNames)[number]

export const slugPattern = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/

export const Exit = z
  .object({
    code: z.int().nullable(),
    signal: z.string().nullable(),
    at: Time,
    outOfMemory: z.literal(true).optional().describe('Set when it was killed for using more memory than it may.'),
    outOfProcesses: z
      .literal(true)
      .optional()
      .describe('Set when it failed after it wanted more processes than it may have.'),
  })
  .meta({ id: 'ProgramExit' })

export const WorkloadStatus = z
  .object({
    name: z.string(),
    title: z.string(),
    kind: z.enum(['runtime', 'service', 'database', 'worker']),
    state: z.enum(workloadStates),
    since: Time.nullable(),
    health: z.enum(['starting', 'healthy', 'unhealthy', 'none']),
    pid: z.int().nullable(),
    ports: z.array(z.object({ name: z.string(), port: z.int(), hostPort: z.int() }).meta({ id: 'PublishedPort' })),
    restarts: z.int().describe('Restarts after crashes since it was last started by hand.'),
    nextRestartAt: Time.nullable(),
    lastExit: Exit.nullable(),
    reason: z.string().nullable().describe('Why it is not simply running, and what to do.'),
    logTail: z.array(z.string()).describe('Last log lines of a workload that crashed; else empty.'),
  })
  .meta({ id: 'WorkloadStatus' })
export type WorkloadStatus = z.infer<typeof WorkloadStatus>

export const ProjectStatus = z
  .object({
    state: z.enum(projectStates),
    desired: z.enum(['running', 'stopped']),
    since: Time,
    health: z.enum(['starting', 'healthy', 'unhealthy', 'none']),
    asleep: z
      .object({
        since: Time,
        because: z.enum(['unused', 'asked']).describe('unused: nobody used it; asked: somebody put it to sleep.'),
        wakesAt: Time.nullable().describe('When its hours begin. Null: when somebody comes.'),
      })
      .meta({ id: 'ProjectSleep' })
      .nullable()
      .describe('Set while it sleeps: it is to run, and starts when somebody uses it.'),
    warnings: z.array(
      z.object({ code: z.string(), detail: z.string(), hint: z.string() }).meta({ id: 'ProjectWarning' }),
    ),
  })
  .meta({ id: 'ProjectStatus' })
export type ProjectStatus = z.infer<typeof ProjectStatus>

/** A variable as it is sent: text, or text with `secret: true`; null removes it. */
export const EnvSettings = z
  .strictObject({
    value: z.string().max(65_536).nullable().optional().describe('Absent or null: as it is.'),
    secret: z.boolean().optional(),
    runtimes: z
      .array(z.enum(runtimeTypes.map((kind) => kind.name) as [string, ...string[]]))
      .min(1)
      .max(runtimeTypes.length)
      .nullable()
      .optional()
      .describe('Which runtimes receive it; null: all.'),
  })
  .meta({ id: 'EnvSettings' })
export const EnvInput = z.union([z.string().max(65_536), EnvSettings, z.null()])

export const EnvView = z
  .object({
    value: z.string().nullable().describe('Null for a secret; GET …/env/{name}?reveal=true answers it.'),
    secret: z.boolean(),
    runtimes: z.array(z.string()).nullable().describe('Which runtimes receive it; null: all.'),
  })
  .meta({ id: 'EnvVariable' })

const bounds = {
  cpus: z.number().min(0.01).max(256).nullable().describe('Cores: 0.5 is half of one.'),
  memoryBytes: z
    .int()
    .min(6 * 1024 * 1024)
    .nullable()
    .describe('At least 6 MiB.'),
  pids: z.int().min(8).max(4_194_304).nullable().describe('Processes and threads, at least 8.'),
}
const WorkloadLimits = z.strictObject(bounds).partial()

export const Limits = z
  .strictObject({
    ...bounds,
    workloads: z
      .record(WorkloadName, WorkloadLimits)
      .describe('Of single workloads, by their names. What they do not say is the project’s.'),
  })
  .meta({ id: 'Limits' })
const LimitsPatch = Limits.extend({
  workloads: z
    .record(WorkloadName, WorkloadLimits.nullable())
    .describe('Of single workloads, by their names; null: the project’s again.'),
})
  .partial()
  .meta({ id: 'LimitsPatch' })

const runtimeViews = Object.fromEntries(
  runtimeTypes.map((kind) => [
    kind.name,
    kind.settings.view
      .meta({ id: `${schemaName(kind.name)}Runtime`, description: `Settings of the runtime ${kind.label}.` })
      .optional(),
  ]),
)
const runtimePatches = Object.fromEntries(
  runtimeTypes.map((kind) => [
    kind.name,
    kind.settings.patch
      .meta({ id: `${schemaName(kind.name)}RuntimePatch`, description: `Changes of the runtime ${kind.label}.` })
      .optional(),
  ]),
)
const serviceViews = Object.fromEntries(
  serviceTypes.map((kind) => [
    kind.name,
    kind.settings.view
      .meta({ id: `${schemaName(kind.name)}Service`, description: `Settings of the service ${kind.label}.` })
      .optional(),
  ]),
)
const servicePatches = Object.fromEntries(
  serviceTypes.map((kind) => [
    kind.name,
    kind.settings.patch
      .meta({ id: `${schemaName(kind.name)}ServicePatch`, description: `Changes of the service ${kind.label}.` })
      .optional(),
  ]),
)

/** Names of schemas are nouns in Pascal case: `NodeRuntime`. */
export function schemaName(name: string): string {
  return name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

const projectFields = {
  id: z.string().describe('prj_…'),
  slug: z.string(),
  name: z.string(),
  url: z.string().describe('Complete, with scheme, host and the proxy’s port.'),
  urls: z.array(z.string()),
  path: z.string().describe('Folder of the source code on the service’s machine.'),
  engine: z.string().describe('What it runs on: `native` or `docker`.'),
  status: ProjectStatus,
  operation: OperationRecord.nullable().describe('The operation that holds the project now, else null.'),
  databases: z.record(z.string(), DatabaseView),
  addons: z.record(z.string(), AddonSettings).optional().describe('Addons that were ever configured, by name.'),
  domains: z.array(z.string()),
  limits: Limits.nullable(),
  limitsUnavailable: z
    .string()
    .nullable()
    .describe('Why no limits can be set here, and what to do; null where they can.'),
  healthCheck: HealthCheckSettings.nullable(),
  sleep: SleepSettings.nullable().describe('When it sleeps; null: never by itself.'),
  template: z.string().nullable(),
  git: z
    .object({ url: z.string(), branch: z.string().nullable() })
    .meta({ id: 'GitOrigin' })
    .nullable()
    .describe('Where the source was cloned from, without credentials.'),
  generation: z.int().describe('Grows with every change of the specification; also the ETag.'),
  observedGeneration: z
    .int()
    .describe(
      'The generation that was carried out last. Smaller than `generation` while a change is on its way, and when its operation failed or was cancelled.',
    ),
  createdAt: Time,
  updatedAt: Time,
}

const keyed: Record<string, z.ZodOptional<z.ZodObject>> = { ...runtimeViews, ...serviceViews }

/** A project in a list: everything but its workloads and variables. */
export const ProjectSummary = z.object({ ...projectFields, ...keyed }).meta({ id: 'ProjectSummary' })
export const Project = z
  .object({
    ...projectFields,
    ...keyed,
    status: ProjectStatus.extend({ workloads: z.array(WorkloadStatus) }).meta({ id: 'ProjectStatusDetails' }),
    env: z.record(z.string(), EnvView),
    branches: BranchesSettings.optional().describe('How environments of its branches are made.'),
    pull: z.record(z.string(), PullSource).optional().describe('Where databases and files can be fetched from.'),
    hooks: Hooks.optional().describe('Commands of its own at moments of its life.'),
    workers: z.record(z.string(), WorkerView).optional().describe('Programs beside the server, by name.'),
    cron: z.record(z.string(), CronView).optional().describe('Commands that are run at times, by name.'),
  })
  .meta({ id: 'Project' })

type ProjectFields = z.infer<z.ZodObject<typeof projectFields>>
export type ProjectSummary = ProjectFields & Record<string, unknown>
export type ProjectView = Omit<ProjectFields, 'status'> & {
  status: ProjectStatus & { workloads: WorkloadStatus[] }
  env: Record<string, z.infer<typeof EnvView>>
  branches?: z.infer<typeof BranchesSettings> | undefined
  pull?: Record<string, PullSource> | undefined
  hooks?: Hooks | undefined
  workers?: Record<string, WorkerView> | undefined
  cron?: Record<string, CronView> | undefined
} & Record<string, unknown>

const programName = z.string().regex(programNamePattern, 'must match [a-z][a-z0-9-]{0,29}')

const changeable = {
  name: shownName().optional(),
  env: z.record(z.string().regex(envNamePattern, 'is not a valid variable name'), EnvInput).optional(),
  healthCheck: HealthCheckPatch.nullable().optional(),
  limits: LimitsPatch.nullable().optional(),
  sleep: SleepPatch.nullable().optional().describe('When it sleeps while nobody uses it; null: never by itself.'),
  branches: BranchesPatch.nullable()
    .optional()
    .describe('How environments of its branches are made; null: by default.'),
  pull: z
    .record(z.string().regex(pullNamePattern, 'must match [a-z][a-z0-9-]{0,29}'), PullSource.nullable())
    .nullable()
    .optional()
    .describe('Where databases and files are fetched from, by name. A source is replaced whole; null removes it.'),
  hooks: HooksPatch.nullable()
    .optional()
    .describe('Commands of its own at moments of its life. A hook is replaced whole; null removes it.'),
  databases: z
    .record(z.string().regex(databaseNamePattern, 'must match [a-z][a-z0-9_]{0,30}'), DatabaseChange.nullable())
    .optional(),
  addons: addonsOf(AddonPatch).optional().describe('Addons, by name.'),
  workers: z
    .record(programName, WorkerPatch.nullable())
    .nullable()
    .optional()
    .describe('Programs beside the server, by name; null removes one.'),
  cron: z
    .record(programName, CronPatch.nullable())
    .nullable()
    .optional()
    .describe('Commands that are run at times, by name; null removes one.'),
  ...(runtimePatches as Record<string, z.ZodOptional<z.ZodObject>>),
  ...(servicePatches as Record<string, z.ZodOptional<z.ZodObject>>),
}

/** Fields of a record that may be sent back and are ignored, so that a whole GET answer is a valid PATCH. */
export const readOnlyProjectFields = [
  'id',
  'slug',
  'url',
  'urls',
  'path',
  'engine',
  'status',
  'operation',
  'domains',
  'limitsUnavailable',
  'template',
  'git',
  'generation',
  'observedGeneration',
  'createdAt',
  'updatedAt',
] as const

export const ProjectPatch = z
  .strictObject({
    ...changeable,
    ...Object.fromEntries(readOnlyProjectFields.map((field) => [field, z.unknown().optional()])),
  })
  .meta({ id: 'ProjectPatch' })
export type ProjectPatch = {
  name?: string
  env?: Record<string, z.infer<typeof EnvInput>>
  healthCheck?: z.infer<typeof HealthCheckPatch> | null
  limits?:
    | (WorkloadLimitsPatch & { workloads?: Readonly<Record<string, WorkloadLimitsPatch | null>> | undefined })
    | null
  sleep?:
    | { after?: string | null | undefined; hours?: string | null | undefined; timezone?: string | undefined }
    | null
    | undefined
  branches?: z.infer<typeof BranchesPatch> | null | undefined
  pull?: Record<string, PullSource | null> | null | undefined
  hooks?: z.infer<typeof HooksPatch> | null | undefined
  workers?: Record<string, WorkerPatch | null> | null | undefined
  cron?: Record<string, CronPatch | null> | null | undefined
  addons?: Record<string, AddonPatch> | undefined
  databases?: Record<
    string,
    {
      type?: string
      version?: string
      exposePort?: boolean
      pointInTime?: { keep: string } | null
      seed?: string | string[]
      removeData?: boolean
    } | null
  >
} & Record<string, unknown>

export type WorkloadLimitsPatch = z.infer<typeof WorkloadLimits>

export const GitSource = z
  .strictObject({
    url: z.string().min(1).max(2000).describe('https, http, ssh or git URL, or the scp-like form.'),
    branch: z
      .string()
      .min(1)
      .max(250)
      .regex(/^[^-\s~^:?*[\\][^\s~^:?*[\\]*$/, 'is not a valid branch name')
      .optional(),
  })
  .meta({ id: 'GitSource' })

export const ProjectCreate = z
  .strictObject({
    ...changeable,
    name: shownName(),
    slug: z.string().regex(slugPattern, 'must be lower-case letters, digits and hyphens').optional(),
    template: z.string().max(60).optional(),
    git: GitSource.optional(),
    path: z.string().min(1).max(4000).optional().describe('An existing folder on the service’s machine, absolute.'),
    runAs: z
      .enum(['owner'])
      .optional()
      .describe(
        'owner: with `path`, run as the user that owns the folder, for its life. An administrator’s browser session may say so, or any caller where the sandbox hides the owner’s home. Default: a user of its own, with access to the folder.',
      ),
    engine: z.enum(engineNames).optional().describe('Its engine, for its life. Default: that of the instance.'),
    start: z.boolean().optional().describe('Start it when it is created. Default: true when it has something to run.'),
  })
  .meta({ id: 'ProjectCreate' })
export type ProjectCreate = ProjectPatch & {
  name: string
  slug?: string
  template?: string
  git?: { url: string; branch?: string }
  path?: string
  runAs?: 'owner'
  engine?: EngineName
  start?: boolean
}
