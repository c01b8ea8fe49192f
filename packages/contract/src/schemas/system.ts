import { z } from 'zod'
import { Time } from './common.ts'

export const isolationLevels = ['shared', 'user', 'sandbox'] as const
export const isolationFeatures = ['user', 'cgroup', 'ports', 'sandbox'] as const

export const IsolationState = z
  .object({
    level: z
      .enum(isolationLevels)
      .describe(
        'shared: one user for all projects. user: a system user for each. sandbox: namespaces for each program.',
      ),
    features: z
      .array(z.enum(isolationFeatures))
      .describe('Guarantees of this machine: user, cgroup (limits, reliable ends), ports (loopback), sandbox.'),
    broken: z
      .string()
      .nullable()
      .describe('Why the level does not hold any more, so that no project starts; null when it holds.'),
    notPrevented: z
      .array(z.string())
      .describe('What the code of one project can do to another on the native engine, a sentence each.'),
  })
  .meta({ id: 'IsolationState' })
export type IsolationState = z.infer<typeof IsolationState>

const EngineReadiness = z.object({ id: z.string(), ready: z.boolean() }).meta({ id: 'EngineReadiness' })
const PartHealth = z.object({ ok: z.boolean() }).meta({ id: 'PartHealth' })

export const Health = z
  .object({
    status: z.enum(['ok', 'degraded', 'unavailable']),
    version: z.string(),
    uptimeSeconds: z.number(),
    engine: EngineReadiness.describe('The engine of new projects.'),
    engines: z.array(EngineReadiness).describe('Those that projects are on, and the one of new projects first.'),
    database: PartHealth,
    proxy: PartHealth,
    isolation: IsolationState.optional().describe(
      'How projects are isolated from each other. For callers with credentials.',
    ),
  })
  .meta({ id: 'Health' })

export const DiagnosticCheck = z
  .object({
    id: z.string(),
    category: z.enum(['engine', 'toolchains', 'network', 'storage', 'system']),
    title: z.string(),
    status: z.enum(['ok', 'info', 'warning', 'error']),
    detail: z.string(),
    hint: z.string().nullable(),
    fix: z.string().nullable().describe('A command that fixes it, when there is one.'),
  })
  .meta({ id: 'DiagnosticCheck' })
export type DiagnosticCheck = z.infer<typeof DiagnosticCheck>
export const EngineState = z
  .object({
    id: z.string(),
    usual: z.boolean().describe('New projects use it by default.'),
    projects: z.int().describe('How many projects are on it.'),
    ready: z.boolean(),
    detail: z.string().describe('Its version, or why it cannot be used.'),
    hint: z.string().nullable(),
    usage: z
      .array(
        z
          .object({
            what: z.enum(['containers', 'images', 'volumes', 'networks']),
            count: z.int(),
            sizeBytes: z.int().nullable(),
          })
          .meta({ id: 'EngineUsage' }),
      )
      .describe('Objects of this instance on it, besides logs.'),
  })
  .meta({ id: 'EngineState' })
export type EngineState = z.infer<typeof EngineState>

export const Orphan = z
  .object({
    id: z.string().describe('Name that the engine has for the missing project.'),
    workloads: z.array(z.object({ name: z.string(), running: z.boolean() }).meta({ id: 'OrphanWorkload' })),
    data: z.array(z.string()).describe('Names of its kept data.'),
    asides: z.array(z.string()).describe('Names of data that was set aside and that the trash does not know.'),
  })
  .meta({ id: 'Orphan' })
export type Orphan = z.infer<typeof Orphan>

export const Diagnostics = z
  .object({
    status: z.enum(['ok', 'info', 'warning', 'error']),
    version: z.string(),
    checks: z.array(DiagnosticCheck),
    isolation: IsolationState,
    engines: z.array(EngineState),
    orphans: z.array(Orphan).describe('Objects on engines that belong to no known project.'),
  })
  .meta({ id: 'Diagnostics' })

export const OfferedVersion = z
  .object({
    version: z.string(),
    fullVersion: z.string().nullable(),
    default: z.boolean(),
    available: z.boolean(),
    reason: z.string().nullable(),
    install: z.string().nullable(),
    endOfLife: z.string().nullable(),
  })
  .meta({ id: 'OfferedVersion' })
export const OfferedRuntime = z
  .object({
    name: z.string(),
    label: z.string(),
    summary: z.string(),
    available: z.boolean(),
    reason: z.string().nullable(),
    install: z.string().nullable(),
    versions: z.array(OfferedVersion),
    presets: z.array(
      z
        .object({ name: z.string(), label: z.string(), port: z.int(), summary: z.string() })
        .meta({ id: 'OfferedPreset' }),
    ),
    modes: z.array(z.string()),
    settingsSchema: z.record(z.string(), z.unknown()).describe('JSON Schema of what PATCH accepts.'),
  })
  .meta({ id: 'OfferedRuntime' })
export type OfferedRuntime = z.infer<typeof OfferedRuntime>
export const OfferedTemplate = z
  .object({
    name: z.string(),
    label: z.string(),
    summary: z.string(),
    runtime: z.string(),
    databases: z.array(z.string()),
    example: z.boolean(),
    available: z.boolean(),
    reason: z.string().nullable(),
    install: z.string().nullable(),
  })
  .meta({ id: 'OfferedTemplate' })
export type OfferedTemplate = z.infer<typeof OfferedTemplate>
export const RuntimesView = z
  .object({ engine: z.string(), runtimes: z.array(OfferedRuntime), templates: z.array(OfferedTemplate) })
  .meta({ id: 'Runtimes' })
export const OfferedService = z
  .object({
    name: z.string(),
    kind: z.enum(['service', 'database']),
    label: z.string(),
    summary: z.string(),
    aliases: z.array(z.string()),
    available: z.boolean(),
    reason: z.string().nullable(),
    install: z.string().nullable(),
    versions: z.array(OfferedVersion),
    alwaysPublished: z.boolean(),
    under: z.string().optional().describe('The key that its settings stand below; absent: its own name.'),
    keepsData: z.boolean(),
    hasCredentials: z.boolean(),
    hasKeys: z.boolean().describe('Its keys are at /projects/{id}/{service}/keys.'),
    hasInbox: z.boolean().describe('It catches mail; its inbox is at /projects/{id}/mail.'),
    ports: z.array(z.object({ name: z.string(), port: z.int(), published: z.boolean() }).meta({ id: 'OfferedPort' })),
    injects: z.array(z.string()).describe('Variables that runtimes receive.'),
    settingsSchema: z.record(z.string(), z.unknown()).describe('JSON Schema of what PATCH accepts.'),
  })
  .meta({ id: 'OfferedService' })
export const ServicesView = z.object({ engine: z.string(), items: z.array(OfferedService) }).meta({ id: 'Services' })

export const AuditEntry = z
  .object({
    seq: z.int(),
    id: z.string(),
    time: Time,
    actor: z.string(),
    action: z.string(),
    target: z.string().nullable(),
    project: z.string().nullable(),
    outcome: z.enum(['success', 'failure', 'denied']),
    changes: z.unknown().nullable(),
    requestId: z.string().nullable(),
    operationId: z.string().nullable(),
    source: z.enum(['ui', 'api', 'cli', 'mcp', 'ssh', 'system']),
    ip: z.string().nullable(),
    userAgent: z.string().nullable(),
    prevHash: z.string(),
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>

export const AuditState = z
  .object({
    ok: z.boolean(),
    entries: z.int(),
    firstBroken: z.int().nullable().describe('The first entry that was changed or is missing.'),
    reason: z.string().nullable().describe('The fault, in a sentence; null without one.'),
    checkpoint: z
      .object({ seq: z.int(), time: Time })
      .meta({ id: 'AuditCheckpoint' })
      .nullable()
      .describe('Up to where the signed checkpoint beside the database vouches for the log.'),
    checkedAt: Time,
  })
  .meta({ id: 'AuditState' })
export type AuditState = z.infer<typeof AuditState>

export const eventTypes = [
  'project.created',
  'project.changed',
  'project.status',
  'project.deleted',
  'operation.changed',
  'operation.output',
  'run.changed',
  'branch.changed',
  'cron.changed',
  'cron.failed',
  'terminal.changed',
  'webhook.changed',
  'notification.changed',
  'device.added',
  'second-factor.changed',
  'certificate.changed',
  'backup.created',
  'backup.deleted',
  'backup.verified',
  'backup.restored',
  'backup.scheduled',
  'backup.late',
  'backup.copied',
  'backup-target.changed',
  'trash.changed',
] as const

/** What happened, for pages and scripts that follow along. `data` is an explicit projection, never a secret. */
export const EventRecord = z
  .object({
    seq: z.int(),
    time: Time,
    type: z.enum(eventTypes),
    project: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' })
export type EventRecord = z.infer<typeof EventRecord>
