import { databaseTypeOf, runtimeTypes, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { OperationRecord, ProjectStatus, ProjectSummary, ProjectView, WorkloadStatus } from '@stackquay/contract'
import { visibleText } from '@stackquay/contract'
import {
  databaseWorkload,
  type EnvVariable,
  type LimitsSpec,
  type ProjectSpec,
  primaryDatabase,
  serviceTypesOf,
} from '@stackquay/domain'
import type { OperationRow, PortLease, ProjectRow } from '@stackquay/store'
import type { SeenCron } from './cron-memory.ts'
import { cronView, workerView } from './work-view.ts'

export interface ProjectParts {
  readonly row: ProjectRow
  readonly engine: string
  /** Null where the engine can limit. */
  readonly limitsUnavailable: string | null
  readonly urls: readonly string[]
  readonly status: ProjectStatus & { workloads: WorkloadStatus[] }
  readonly operation: OperationRecord | null
  readonly leases: readonly PortLease[]
  /** What was seen of a cron job, by its name. */
  cron(name: string): SeenCron
}

/** The project record: an allow-list. A field that nobody listed here cannot leave. */
export function projectView(parts: ProjectParts): ProjectView {
  const { row, status } = parts
  return {
    ...fields(parts),
    status: { ...statusView(status), workloads: status.workloads },
    env: envView(row.spec),
    ...pullView(row.spec),
    ...(row.spec.branches === undefined ? {} : { branches: { ...row.spec.branches } }),
    ...hooksView(row.spec),
    ...workView(parts),
  }
}

/** Secrets are names of variables in it. */
function pullView({ pull }: ProjectSpec): Pick<ProjectView, 'pull'> {
  return pull === undefined ? {} : { pull: structuredClone(pull) }
}

function hooksView({ hooks }: ProjectSpec): Pick<ProjectView, 'hooks'> {
  return hooks === undefined ? {} : { hooks: structuredClone(hooks) }
}

/** Workers and cron jobs, where there are any. */
function workView({ row: { spec }, cron }: ProjectParts): Pick<ProjectView, 'workers' | 'cron'> {
  const workers = Object.entries(spec.workers ?? {}).map(([name, worker]) => [name, workerView(worker)])
  const jobs = Object.entries(spec.cron ?? {}).map(([name, job]) => [name, cronView(job, cron(name))])
  return {
    ...(workers.length === 0 ? {} : { workers: Object.fromEntries(workers) }),
    ...(jobs.length === 0 ? {} : { cron: Object.fromEntries(jobs) }),
  }
}

/** A list item: a project without its workloads and variables. */
export function projectSummary(parts: ProjectParts): ProjectSummary {
  return { ...fields(parts), status: statusView(parts.status) }
}

function fields({ row, engine, limitsUnavailable, urls, operation, leases }: ProjectParts) {
  const { spec, source } = row
  const hostPort = (workload: string, port: string) =>
    leases.find((lease) => lease.workload === workload && lease.port === port)?.hostPort ?? null
  return {
    id: row.id,
    slug: row.slug,
    name: visibleText(spec.name),
    url: urls[0] ?? '',
    urls: [...urls],
    path: row.path,
    engine,
    operation: operation === null ? null : operationView(operation),
    ...runtimeViews(spec, hostPort),
    ...serviceViews(serviceTypes, spec, hostPort),
    ...addonViews(spec, hostPort),
    databases: Object.fromEntries(
      Object.entries(spec.databases).map(([name, database]) => [
        name,
        {
          type: database.type,
          version: database.version,
          exposePort: database.exposePort,
          ...(database.seed === undefined ? {} : { seed: [...database.seed] }),
          primary: name === primaryDatabase(spec.databases),
          ...(database.pointInTime === undefined ? {} : { pointInTime: database.pointInTime }),
          ...(database.recovered === undefined ? {} : { recovered: database.recovered }),
          hostPort: hostPort(
            databaseWorkload(database.type, name),
            databaseTypeOf(database.type)?.name ?? database.type,
          ),
        },
      ]),
    ),
    domains: [],
    limits: limitsView(spec.limits),
    limitsUnavailable,
    healthCheck: spec.healthCheck === null ? null : { ...spec.healthCheck },
    sleep: spec.sleep === undefined ? null : { ...spec.sleep },
    template: source?.kind === 'template' ? source.template : null,
    git: source?.kind === 'git' ? { url: source.url, branch: source.branch } : null,
    generation: row.generation,
    observedGeneration: row.observedGeneration,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

function limitsView(limits: LimitsSpec | null): ProjectSummary['limits'] {
  if (limits === null) return null
  const { cpus, memoryBytes, pids = null, workloads = {} } = limits
  const own = Object.entries(workloads).map(([name, limit]) => [
    name,
    Object.fromEntries(
      (['cpus', 'memoryBytes', 'pids'] as const).flatMap((field) =>
        limit[field] == null ? [] : [[field, limit[field]]],
      ),
    ),
  ])
  return { cpus, memoryBytes, pids, workloads: Object.fromEntries(own) }
}

/** Runtimes that were ever configured, with the ports of this machine beside the stored settings. */
function runtimeViews(
  spec: ProjectSpec,
  hostPort: (workload: string, port: string) => number | null,
): Record<string, unknown> {
  const views: Record<string, unknown> = {}
  for (const kind of runtimeTypes) {
    const settings = spec.runtimes[kind.name]
    if (settings === undefined) continue
    const shown: Record<string, unknown> = {}
    for (const [field, value] of Object.entries(settings)) {
      if (!(field in kind.settings.stored.shape)) continue
      shown[field] = isNestedServer(value) ? { ...value, hostPort: hostPort(`${kind.name}-dev`, 'http') } : value
    }
    views[kind.name] = { ...shown, hostPort: hostPort(kind.name, 'http'), debugHostPort: hostPort(kind.name, 'debug') }
  }
  return views
}

/** Services that were ever configured. What is secret in their settings is only said to be there. */
function serviceViews(
  types: readonly ServiceType[],
  spec: Pick<ProjectSpec, 'services'>,
  hostPort: (workload: string, port: string) => number | null,
): Record<string, unknown> {
  return Object.fromEntries(
    types.flatMap((kind) => {
      const settings = spec.services[kind.name]
      if (settings === undefined) return []
      const shown = Object.fromEntries(
        Object.entries(settings)
          .filter(([field]) => field in kind.settings.stored.shape)
          .map(([field, value]) => [field, withoutSecrets(kind, [field], value)]),
      )
      return [[kind.name, { ...shown, hostPort: hostPort(kind.name, publishedPort(kind)) }]]
    }),
  )
}

/** Services that stand below a key of their own. */
function addonViews(
  spec: ProjectSpec,
  hostPort: (workload: string, port: string) => number | null,
): Pick<ProjectSummary, 'addons'> {
  const types = serviceTypesOf(spec).filter(({ under }) => under !== undefined)
  return types.length === 0 ? {} : { addons: serviceViews(types, spec, hostPort) as ProjectSummary['addons'] }
}

/** The port that a person connects to. */
function publishedPort(kind: ServiceType): string {
  return (kind.ports.find((port) => port.published) ?? kind.ports[0])?.name ?? ''
}

/** `password` becomes `hasPassword`. */
function withoutSecrets(kind: ServiceType, path: readonly string[], value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const here = [...path, field]
      const isSecret = kind.settings.secretFields.some((secret) => secret.join('.') === here.join('.'))
      return isSecret
        ? [`has${field.charAt(0).toUpperCase()}${field.slice(1)}`, inner !== null]
        : [field, withoutSecrets(kind, here, inner)]
    }),
  )
}

function isNestedServer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'port' in value
}

function statusView(status: ProjectStatus): ProjectStatus {
  return {
    state: status.state,
    desired: status.desired,
    since: status.since,
    health: status.health,
    asleep: status.asleep,
    warnings: status.warnings,
  }
}

/** Without the texts of secrets. */
export function envView(spec: ProjectSpec): ProjectView['env'] {
  return Object.fromEntries(
    Object.entries(spec.env).map(([name, variable]) => [
      name,
      { value: variable.secret ? null : variable.value, secret: variable.secret, runtimes: receiversOf(variable) },
    ]),
  )
}

/** Null: all runtimes. */
export function receiversOf(variable: EnvVariable): string[] | null {
  return variable.runtimes === undefined ? null : [...variable.runtimes]
}

export function operationView(row: OperationRecord | OperationRow): OperationRecord {
  return {
    id: row.id,
    kind: row.kind,
    project: row.project,
    state: row.state,
    steps: row.steps,
    progress: row.progress,
    error: row.error,
    actor: row.actor,
    requestedBy: row.requestedBy,
    generation: row.generation,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
  }
}

export function isEnded(operation: Pick<OperationRecord, 'state'>): boolean {
  return operation.state !== 'queued' && operation.state !== 'running'
}
