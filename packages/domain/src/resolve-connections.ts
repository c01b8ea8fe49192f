import {
  type BesideService,
  type DatabaseConnection,
  type DatabaseType,
  databaseTypeOf,
  type SecretField,
  type ServiceConnection,
  type ServiceFields,
  type ServiceType,
  type Settings,
} from '@stackquay/catalog'
import type { Value } from '@stackquay/engine-api'
import { keepDaysOf } from './point-in-time.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { createNeeds, type Needs, type WantedArchive } from './resolve-needs.ts'
import { createRedirects, nowhere, type Redirects } from './resolve-redirects.ts'
import { serviceTypesOf } from './service-types.ts'
import { type DatabaseSpec, type EnvVariable, type PointInTimeSpec, type ProjectSpec, primaryDatabase } from './spec.ts'

/** How a project's databases and services are reached, whether or not their programs can run here. */
export interface Connections {
  /** The enabled ones. `runsHere` is false for an external service. */
  readonly services: readonly {
    readonly kind: ServiceType
    readonly settings: ServiceFields
    readonly connection: ServiceConnection
    /** The leased port of this machine for a port of the kind. */
    leased(port: string): number
    readonly runsHere: boolean
  }[]
  /** All of them; `known` is null for an unknown type. */
  readonly databases: readonly {
    readonly name: string
    readonly database: DatabaseSpec
    readonly workload: string
    readonly leased: number
    /** Where its changes go; absent: nowhere. */
    readonly archive?: string
    readonly known: { readonly kind: DatabaseType; readonly connection: DatabaseConnection } | null
  }[]
  /** Variables that databases and services give to runtimes. */
  readonly injected: Readonly<Record<string, Value>>
  /** All variables of a runtime; null is a terminal of no runtime, which gets those that are for all. */
  variablesOf(runtime: string | null): Readonly<Record<string, Value>>
  /** A person's text with the ports of the test environment in place of the project's own; unchanged outside of one. */
  ledAway(text: string): string
  /** The lease of a port; one without a lease counts as missing and gets a provisional number. */
  hostPort(workload: string, port: string): number
  /** Grow with each look-up of a port or secret. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
  readonly missingArchives: readonly WantedArchive[]
}

/** Pure, and never refuses: missing things are counted, unknown ones are left out. */
export function resolveConnections(spec: ProjectSpec, facts: ResolveFacts): Connections {
  const resolving = { facts, needs: createNeeds(facts), redirects: createRedirects(facts) }
  const { needs, redirects } = resolving
  const besideOf: BesideService = {
    workload: (name) => enabled.find(({ type }) => type.name === name)?.type.name ?? null,
    database: (name) => databaseBeside(spec, name, resolving),
  }
  const enabled = serviceTypesOf(spec).flatMap((type) => {
    const settings = spec.services[type.name]
    return settings?.enabled === true ? [{ type, settings }] : []
  })
  const absent = facts.testEnvironment === undefined ? [] : enabled.filter(({ type }) => type.forTests === 'none')
  for (const { type } of absent) for (const port of type.ports) redirects.add(type.name, port.name, nowhere)
  const services = enabled
    .filter((one) => !absent.includes(one))
    .map(({ type, settings }) => connectService(type, settings, resolving, besideOf))
  const primary = primaryDatabase(spec.databases)
  const databases = Object.entries(spec.databases).map(([name, database]) =>
    connectDatabase(name, database, name === primary ? '' : `${name.toUpperCase()}_`, resolving),
  )
  const injected: Variables = Object.assign({}, ...[...services, ...databases].map(({ variables }) => variables))
  const withheld = new Set(absent.flatMap(({ type }) => type.injects))

  return {
    services: services.map(({ service }) => service),
    databases: databases.map(({ database }) => database),
    injected,
    variablesOf: (runtime) => {
      const own = ownVariables(spec, runtime, withheld)
      if (facts.testEnvironment === undefined) return { ...injected, ...own }
      const folder = packageFolder(runtime === null ? null : (spec.runtimes[runtime] ?? null))
      return { ...redirects.inFiles(facts.source, folder), ...redirects.variables(own), ...injected }
    },
    ledAway: redirects.text,
    hostPort: needs.hostPort,
    missingLeases: needs.missingLeases,
    missingSecrets: needs.missingSecrets,
    missingArchives: needs.missingArchives,
  }
}

type Variables = Readonly<Record<string, Value>>

interface Resolving {
  readonly facts: ResolveFacts
  readonly needs: Needs
  readonly redirects: Redirects
}

function connectService(
  type: ServiceType,
  wanted: ServiceFields,
  resolving: Resolving,
  beside: BesideService,
): { readonly service: Connections['services'][number]; readonly variables: Variables } {
  const { facts, needs } = resolving
  const settings = facts.testEnvironment === undefined ? wanted : inTestEnvironment(type, wanted)
  const leased = (port: string) => leasedPort(type.name, port, resolving)
  const connection: ServiceConnection = {
    project: facts.project,
    settings,
    host: hostOf(type.name, facts),
    port: (name) => {
      const lease = leased(name)
      return facts.containers === null ? lease : (type.ports.find((port) => port.name === name)?.port ?? lease)
    },
    secret: (field, encode) => needs.secret(serviceSecret(type.name, field), lengthOf(type, field), encode),
    beside,
  }
  const variables = type.variables(connection)
  const runsHere = type.runsHere?.(settings) !== false
  if (runsHere) {
    for (const port of type.ports) leased(port.name)
    for (const field of type.secrets) connection.secret(field.name)
  }
  return { service: { kind: type, settings, connection, leased, runsHere }, variables }
}

function connectDatabase(
  name: string,
  database: DatabaseSpec,
  prefix: string,
  resolving: Resolving,
): { readonly database: Connections['databases'][number]; readonly variables: Variables } {
  const { facts, needs } = resolving
  const kind = databaseTypeOf(database.type)
  const workload = databaseWorkload(database.type, name)
  if (kind === undefined) {
    return { database: { name, database, workload, leased: nowhere, known: null }, variables: {} }
  }
  const leased = leasedPort(workload, kind.name, resolving)
  const connection: DatabaseConnection = {
    database: database.inside ?? name,
    username: database.inside ?? name,
    host: hostOf(workload, facts),
    port: facts.containers === null ? leased : kind.port,
    secret: (field, encode) => needs.secret(databaseSecret(name, field), lengthOf(kind, field), encode),
  }
  for (const field of kind.secrets) connection.secret(field.name)
  // Data of a test environment is thrown away.
  const kept = facts.testEnvironment === undefined && kind.pointInTime !== undefined ? database.pointInTime : undefined
  const known = kept === undefined ? null : archiveOf(name, workload, kept, needs)
  const archive = known === null ? {} : { archive: known }
  return {
    database: { name, database, workload, leased, ...archive, known: { kind, connection } },
    variables: kind.variables(connection, prefix),
  }
}

/** As a service is told of it: by the variable of its address, which every type gives. */
function databaseBeside(spec: ProjectSpec, name: string, resolving: Resolving): ReturnType<BesideService['database']> {
  const entry = Object.hasOwn(spec.databases, name) ? spec.databases[name] : undefined
  if (entry === undefined) return null
  const { database, variables } = connectDatabase(name, entry, '', resolving)
  const url = Object.entries(variables).find(([variable]) => variable.endsWith('_URL'))?.[1]
  return url === undefined ? null : { workload: database.workload, url }
}

function archiveOf(database: string, data: string, { keep }: PointInTimeSpec, needs: Needs): string | null {
  return needs.archive({ database, data, keepDays: keepDaysOf(keep) })
}

function leasedPort(workload: string, port: string, { needs, redirects }: Resolving): number {
  const leased = needs.hostPort(workload, port)
  redirects.add(workload, port, leased)
  return leased
}

/** The person's own variables for a runtime. */
function ownVariables(spec: ProjectSpec, runtime: string | null, withheld: ReadonlySet<string>): Variables {
  return Object.fromEntries(
    Object.entries(spec.env)
      .filter(([name]) => !withheld.has(name))
      .filter(([, { runtimes }]) => runtimes === undefined || (runtime !== null && runtimes.includes(runtime)))
      .map(([name, variable]) => [name, variableValue(variable)]),
  )
}

/** Where programs of the project find a workload: in containers by its name, in the network that they share. */
function hostOf(workload: string, { containers }: ResolveFacts): string {
  return containers === null ? '127.0.0.1' : workload
}

/** Name of a database's workload, kept data and port leases: `postgresql-main`. */
export function databaseWorkload(type: string, name: string): string {
  return `${type}-${name}`
}

export function databaseSecret(name: string, field: string): string {
  return `database/${name}/${field}`
}

/** Also for a secret inside the settings: `service/<kind>/external.password`. */
export function serviceSecret(kind: string, field: string): string {
  return `service/${kind}/${field}`
}

/** An external service belongs to the person: in a test environment a new one with the defaults takes its place. */
function inTestEnvironment(kind: ServiceType, wanted: ServiceFields): ServiceFields {
  if (kind.runsHere?.(wanted) !== false) return wanted
  return { ...kind.settings.defaults(), enabled: true, version: wanted.version } as ServiceFields
}

/** Folder of a runtime's package, relative to the project. */
export function packageFolder(settings: Settings | null): string {
  return typeof settings?.package === 'string' ? settings.package : '.'
}

function lengthOf(kind: { readonly secrets: readonly SecretField[] }, field: string): number {
  return kind.secrets.find((secret) => secret.name === field)?.length ?? 32
}

function variableValue(variable: EnvVariable): Value {
  return variable.secret ? [variable.ref] : variable.value
}
