import {
  type DatabaseConnection,
  type DatabaseKind,
  databaseKindOf,
  type SecretField,
  type ServiceConnection,
  type ServiceFields,
  type ServiceKind,
  type Settings,
  type SourceFiles,
  serviceKinds,
} from '@stackquay/catalog'
import type { Value } from '@stackquay/engine-api'
import { variablesInFiles } from './env-files.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { type DatabaseSpec, type EnvVariable, type ProjectSpec, primaryDatabase } from './spec.ts'

/** How a project's databases and services are reached, whether or not their programs can run here. */
export interface Connections {
  /** The enabled ones. `runsHere` is false for one elsewhere. */
  readonly services: readonly {
    readonly kind: ServiceKind
    readonly settings: ServiceFields
    readonly connection: ServiceConnection
    /** The leased port of this machine for a port of the kind. */
    leased(port: string): number
    readonly runsHere: boolean
  }[]
  /** All of them; kind and connection are null for a type that nobody knows. */
  readonly databases: readonly {
    readonly name: string
    readonly database: DatabaseSpec
    readonly workload: string
    readonly leased: number
    readonly known: { readonly kind: DatabaseKind; readonly connection: DatabaseConnection } | null
  }[]
  /** Variables that databases and services give to runtimes. */
  readonly injected: Readonly<Record<string, Value>>
  /** All variables of a runtime; null is a terminal of no runtime, which gets those that are for all. */
  variablesOf(runtime: string | null): Readonly<Record<string, Value>>
  /** A text of the person in which ports of the project's own data are those of the stand; unchanged without a stand. */
  ledAway(text: string): string
  /** The lease of a port; one without a lease counts as missing and gets a provisional number. */
  hostPort(workload: string, port: string): number
  /** Grow while ports and secrets are asked for. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
}

/** Pure, and never in anybody's way: what is missing is counted, what is unknown is left out. */
export function resolveConnections(spec: ProjectSpec, facts: ResolveFacts): Connections {
  const missingLeases: { workload: string; port: string }[] = []
  const missingSecrets: { name: string; length: number }[] = []
  const injected: Record<string, Value> = {}
  const withheld = new Set<string>()
  const projectPorts = new Map<string, string>()

  const hostPort = (workload: string, port: string): number => {
    const lease = facts.lease(workload, port)
    if (lease !== null) return lease
    if (!missingLeases.some((known) => known.workload === workload && known.port === port))
      missingLeases.push({ workload, port })
    return 1
  }

  const connectionPort = (workload: string, port: string): number => {
    const chosen = hostPort(workload, port)
    leadAway(workload, port, chosen)
    return chosen
  }

  const leadAway = (workload: string, port: string, to: number): void => {
    const ofProject = facts.stand?.leaseOfProject(workload, port) ?? null
    if (ofProject !== null) projectPorts.set(String(ofProject), String(to))
  }

  const secret = (name: string, length: number, encode: 'url' | undefined): Value => {
    const handle = facts.secret(name, length)
    if (handle === null && !missingSecrets.some((known) => known.name === name)) missingSecrets.push({ name, length })
    const ref = handle ?? { secret: `pending:${name}`, version: 0 }
    return [encode === undefined ? ref : { ...ref, encode }]
  }

  const services = serviceKinds.flatMap((kind) => {
    const wanted = spec.services[kind.name]
    if (wanted === undefined || !wanted.enabled) return []
    if (facts.stand !== undefined && kind.forTests === 'none') {
      for (const port of kind.ports) leadAway(kind.name, port.name, nowhere)
      for (const name of kind.injects) withheld.add(name)
      return []
    }
    const settings = facts.stand === undefined ? wanted : standingHere(kind, wanted)
    const leased = (port: string) => connectionPort(kind.name, port)
    const connection: ServiceConnection = {
      project: facts.project,
      settings,
      host: hostOf(kind.name, facts),
      port: (name) => {
        const lease = leased(name)
        return facts.containers === null ? lease : (kind.ports.find((port) => port.name === name)?.port ?? lease)
      },
      secret: (field, encode) => secret(serviceSecret(kind.name, field), lengthOf(kind, field), encode),
    }
    Object.assign(injected, kind.variables(connection))
    const runsHere = kind.runsHere?.(settings) !== false
    if (runsHere) {
      for (const port of kind.ports) leased(port.name)
      for (const field of kind.secrets) connection.secret(field.name)
    }
    return [{ kind, settings, connection, leased, runsHere }]
  })

  const primary = primaryDatabase(spec.databases)
  const databases = Object.entries(spec.databases).map(([name, database]) => {
    const kind = databaseKindOf(database.type)
    const workload = databaseWorkload(database.type, name)
    if (kind === undefined) return { name, database, workload, leased: nowhere, known: null }
    const leased = connectionPort(workload, kind.name)
    const connection: DatabaseConnection = {
      database: name,
      username: name,
      host: hostOf(workload, facts),
      port: facts.containers === null ? leased : kind.port,
      secret: (field, encode) => secret(databaseSecret(name, field), lengthOf(kind, field), encode),
    }
    for (const field of kind.secrets) connection.secret(field.name)
    Object.assign(injected, kind.variables(connection, name === primary ? '' : `${name.toUpperCase()}_`))
    return { name, database, workload, leased, known: { kind, connection } }
  })

  return {
    services,
    databases,
    injected,
    variablesOf: (runtime) => {
      const own = Object.fromEntries(
        Object.entries(spec.env)
          .filter(([name]) => !withheld.has(name))
          .filter(([, { runtimes }]) => runtimes === undefined || (runtime !== null && runtimes.includes(runtime)))
          .map(([name, variable]) => [name, variableValue(variable)]),
      )
      if (facts.stand === undefined) return { ...injected, ...own }
      const folder = packageFolder(runtime === null ? null : (spec.runtimes[runtime] ?? null))
      return { ...writtenInFiles(facts.source, folder, projectPorts), ...ledAway(own, projectPorts), ...injected }
    },
    ledAway: (text) => ledText(text, projectPorts),
    hostPort,
    missingLeases,
    missingSecrets,
  }
}

/** Where programs of the project find a workload: in containers by its name, in the network that they share. */
function hostOf(workload: string, { containers }: ResolveFacts): string {
  return containers === null ? '127.0.0.1' : workload
}

/** A port on which nothing listens. */
const nowhere = 1

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

/** A service elsewhere belongs to the person: in a stand one of its own takes its place, as new as it can be. */
function standingHere(kind: ServiceKind, wanted: ServiceFields): ServiceFields {
  if (kind.runsHere?.(wanted) !== false) return wanted
  return { ...kind.settings.defaults(), enabled: true, version: wanted.version } as ServiceFields
}

/**
 * Variables that a person wrote by hand may name a port of the project's own data, such as `postgres://…@127.0.0.1:24601/main`.
 * They get the stand's port instead: whoever follows one reaches the stand, at worst with a wrong password.
 */
function ledAway(
  own: Readonly<Record<string, Value>>,
  ports: ReadonlyMap<string, string>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => [
      name,
      typeof value === 'string'
        ? ledText(value, ports)
        : value.map((part) => (typeof part === 'string' ? ledText(part, ports) : part)),
    ]),
  )
}

/** The same for `.env` and its like in the source, which frameworks read for variables that they were not given. */
function writtenInFiles(
  source: SourceFiles,
  folder: string,
  ports: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const written = [...new Set(['.', folder])].flatMap((place) => [...variablesInFiles(source, place)])
  return Object.fromEntries(
    written
      .map(([name, text]) => [name, text, ledText(text, ports)] as const)
      .filter(([, text, led]) => led !== text)
      .map(([name, , led]) => [name, led]),
  )
}

function ledText(text: string, ports: ReadonlyMap<string, string>): string {
  return text.replace(/(?<![\d.])\d{2,5}(?![\d.])/g, (number) => ports.get(number) ?? number)
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
