import type { AddonDefinition, ServiceFields, Settings } from '@stackquay/catalog'
import type { Hooks, OverlapPolicy, PullSource } from '@stackquay/contract'
import type { BranchesSpec } from './branches.ts'
import type { HealthCheckSpec } from './health-check.ts'
import type { SleepSpec } from './sleep.ts'

/** What a person wants of a project: the only thing PATCH changes. Complete: defaults are settled when they are written. */
export interface ProjectSpec {
  readonly name: string
  readonly runtimes: Readonly<Record<string, Settings>>
  /** Once configured a service stays here when it is switched off: enabled again it is what it was. */
  readonly services: Readonly<Record<string, ServiceFields>>
  /** What the addons among the services are here, as it was when they were last named or started. Absent: there are none. */
  readonly addons?: Readonly<Record<string, AddonDefinition>>
  readonly databases: Readonly<Record<string, DatabaseSpec>>
  readonly env: Readonly<Record<string, EnvVariable>>
  readonly healthCheck: HealthCheckSpec | null
  readonly limits: LimitsSpec | null
  /** When it sleeps. Absent: never by itself. */
  readonly sleep?: SleepSpec
  /** How environments of its branches are made. Absent: by the defaults. */
  readonly branches?: BranchesSpec
  /** Where its databases and files can be fetched from, by name. Absent: nowhere. */
  readonly pull?: Readonly<Record<string, PullSource>>
  /** Commands of its own at moments of its life. Absent: none. */
  readonly hooks?: Hooks
  /** Programs that run beside the server of a runtime, by name. Absent: none. */
  readonly workers?: Readonly<Record<string, WorkerSpec>>
  /** Commands that are run at times, by name. Absent: none. */
  readonly cron?: Readonly<Record<string, CronSpec>>
}

export interface WorkerSpec {
  /** Words; the first is found in the PATH of its runtime. */
  readonly command: readonly string[]
  readonly count: number
  /** Null: the first runtime of the project. */
  readonly runtime: string | null
  readonly enabled: boolean
  /** It is off because the project is a copy, and nobody said otherwise since. */
  readonly copied?: true
}

export interface CronSpec extends Omit<WorkerSpec, 'count'> {
  /** Five fields: `0 3 * * *`. */
  readonly schedule: string
  /** Of the IANA database. */
  readonly timezone: string
  /** `10m`. */
  readonly timeLimit: string
  readonly overlap: OverlapPolicy
}

/** What each workload may use at most; null or absent: no limit. */
export interface LimitsSpec {
  readonly cpus: number | null
  readonly memoryBytes: number | null
  readonly pids?: number | null
  /** Of single workloads, by their names; what they do not say is the project's. */
  readonly workloads?: Readonly<Record<string, Partial<Pick<LimitsSpec, 'cpus' | 'memoryBytes' | 'pids'>>>>
}

export interface DatabaseSpec {
  /** Never an alias. */
  readonly type: string
  readonly version: string
  readonly exposePort: boolean
  /** Dumps in the source, in their order, that fill it when it is new. Absent: none. */
  readonly seed?: readonly string[]
  /** Of a clone: what database and user are called in its data, which was copied. Absent: like the entry. */
  readonly inside?: string
  /** Its changes are kept so long, so that it can be made again as it was at a moment. Absent: they are not. */
  readonly pointInTime?: PointInTimeSpec
  /** It was made as another one was at a moment. */
  readonly recovered?: RecoveredSpec
  /**
   * Its variables have no prefix: it is DATABASE_URL, for as long as it exists. Absent in all databases of a project that was
   * written before there was this mark: it is the first one then.
   */
  readonly primary?: boolean
}

export interface PointInTimeSpec {
  /** `7d`. */
  readonly keep: string
}

export interface RecoveredSpec {
  readonly database: string
  /** The moment that was asked for. */
  readonly to: string
  /** When the last transaction in it was committed; null: none since its base. */
  readonly lastTransactionAt: string | null
}

/** The text of a secret variable stands in the store, sealed; the specification names it. */
export type EnvVariable = (
  | { readonly secret: false; readonly value: string }
  | { readonly secret: true; readonly ref: SecretHandle }
) & {
  /** Keys of the runtimes that receive it; all of them when absent. */
  readonly runtimes?: readonly string[]
}

/** Names a sealed text; the version counts its changes. */
export interface SecretHandle {
  readonly secret: string
  readonly version: number
}

export const emptySpec = (name: string): ProjectSpec => ({
  name,
  runtimes: {},
  services: {},
  databases: {},
  env: {},
  healthCheck: null,
  limits: null,
})

/** Name of the database whose variables have no prefix. None when it was dropped: another must never take its place unasked. */
export function primaryDatabase(databases: ProjectSpec['databases']): string | undefined {
  const entries = Object.entries(databases)
  const marked = entries.find(([, database]) => database.primary === true)
  if (marked !== undefined) return marked[0]
  return entries.every(([, database]) => database.primary === undefined) ? entries[0]?.[0] : undefined
}

/** The same with the mark on every database, so that it outlives those that come and go. */
export function withPrimaryMarked(databases: ProjectSpec['databases']): ProjectSpec['databases'] {
  const primary = primaryDatabase(databases)
  return Object.fromEntries(
    Object.entries(databases).map(([name, database]) => [name, { ...database, primary: name === primary }]),
  )
}
