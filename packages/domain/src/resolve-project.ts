import {
  type ChosenToolchain,
  type DatabaseConnection,
  databaseKindOf,
  type ProjectFacts,
  runtimeKinds,
  type SecretField,
  type ServiceConnection,
  SettingsError,
  type SourceFiles,
  serviceKinds,
  type WorkloadDraft,
} from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { fingerprintOf, type PortBinding, type Value, type Workload } from '@stackquay/engine-api'
import { type EnvVariable, type ProjectSpec, primaryDatabase, type SecretHandle } from './spec.ts'

/** Everything about the world that resolving needs to know, gathered beforehand. */
export interface ResolveFacts {
  readonly project: ProjectFacts
  readonly source: SourceFiles
  /** The toolchain of a runtime's or database's release line, or null when this machine has none that can be used. */
  toolchain(name: string, line: string): ChosenToolchain | null
  /** Programs that belong beside a toolchain, by name: `npm`. */
  helpers(name: string): Readonly<Record<string, ChosenToolchain>>
  /** The lease of a port, or null when there is none yet. */
  lease(workload: string, port: string): number | null
  /** The handle of a secret of this project by its name, or null when it is not made yet. */
  secret(name: string): SecretHandle | null
  ourProgram(name: string): { readonly node: string; readonly file: string }
  /** Where this instance publishes ports. */
  readonly publishAddress: PortBinding['bind']
}

export interface Resolved {
  readonly workloads: readonly Workload[]
  /** What each workload is, for the status page. */
  readonly kinds: Readonly<Record<string, 'runtime' | 'service' | 'database'>>
  /** The workload and port that own the project's URL. */
  readonly front: { readonly workload: string; readonly port: string } | null
  /** Further hosts: `-dev` of a dev server. */
  readonly extraHosts: readonly { readonly suffix: string; readonly workload: string; readonly port: string }[]
  /** Ports without a lease; the workloads above carry provisional numbers for them. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
  /** Names of variables that databases and services inject. */
  readonly injected: readonly string[]
  readonly errors: readonly FieldError[]
  /** Names of workloads that are wanted and stand in `errors` instead of `workloads`. */
  readonly unresolved: readonly string[]
}

/** Pure. `(spec, facts) → workloads`, or everything that stands in the way at once. */
export function resolveProject(spec: ProjectSpec, facts: ResolveFacts): Resolved {
  const errors: FieldError[] = []
  const unresolved: string[] = []
  const drafts: { draft: WorkloadDraft; kind: 'runtime' | 'service' | 'database' }[] = []
  const missingLeases: { workload: string; port: string }[] = []
  const missingSecrets: { name: string; length: number }[] = []
  const injected: Record<string, Value> = {}

  const hostPort = (workload: string, port: string): number => {
    const lease = facts.lease(workload, port)
    if (lease !== null) return lease
    if (!missingLeases.some((known) => known.workload === workload && known.port === port))
      missingLeases.push({ workload, port })
    return 1
  }

  const secret = (name: string, length: number, encode: 'url' | undefined): Value => {
    const handle = facts.secret(name)
    if (handle === null && !missingSecrets.some((known) => known.name === name)) missingSecrets.push({ name, length })
    const ref = handle ?? { secret: `pending:${name}`, version: 0 }
    return [encode === undefined ? ref : { ...ref, encode }]
  }

  for (const kind of serviceKinds) {
    const settings = spec.services[kind.name]
    if (settings === undefined || !settings.enabled) continue
    const connection: ServiceConnection = {
      project: facts.project,
      settings,
      host: '127.0.0.1',
      hostPort: (port) => hostPort(kind.name, port),
      secret: (field, encode) => secret(serviceSecret(kind.name, field), lengthOf(kind, field), encode),
    }
    Object.assign(injected, kind.variables(connection))
    if (kind.runsHere?.(settings) === false) continue
    for (const port of kind.ports) connection.hostPort(port.name)
    for (const field of kind.secrets) connection.secret(field.name)
    const toolchain = kind.toolchain === null ? null : facts.toolchain(kind.toolchain.name, settings.version)
    if (kind.toolchain !== null && toolchain === null) {
      errors.push(missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install))
      unresolved.push(kind.name)
      continue
    }
    try {
      const draft = kind.toWorkload({
        ...connection,
        toolchain,
        bind: (name) =>
          settings.exposePort && kind.ports.some((port) => port.name === name && port.published)
            ? facts.publishAddress
            : '127.0.0.1',
        ourProgram: facts.ourProgram,
      })
      drafts.push({ kind: 'service', draft })
    } catch (error) {
      errors.push(cannotRun(kind.name, error))
      unresolved.push(kind.name)
    }
  }

  const databases = Object.entries(spec.databases)
  const primary = primaryDatabase(spec.databases)
  for (const [name, database] of databases) {
    const kind = databaseKindOf(database.type)
    if (kind === undefined) {
      errors.push({
        pointer: `/databases/${name}/type`,
        code: 'unknown_type',
        detail: `There is no database type "${database.type}".`,
      })
      unresolved.push(databaseWorkload(database.type, name))
      continue
    }
    const toolchain = facts.toolchain(kind.toolchain.name, database.version)
    const workload = databaseWorkload(database.type, name)
    const connection: DatabaseConnection = {
      database: name,
      username: name,
      host: '127.0.0.1',
      hostPort: hostPort(workload, kind.name),
      secret: (field, encode) => secret(databaseSecret(name, field), lengthOf(kind, field), encode),
    }
    for (const field of kind.secrets) connection.secret(field.name)
    Object.assign(injected, kind.variables(connection, name === primary ? '' : `${name.toUpperCase()}_`))
    if (toolchain === null) {
      errors.push(missingToolchain(`/databases/${name}/version`, kind.label, database.version, kind.install))
      unresolved.push(workload)
      continue
    }
    drafts.push({
      kind: 'database',
      draft: kind.toWorkload({
        ...connection,
        project: facts.project,
        version: database.version,
        toolchain,
        bind: database.exposePort ? facts.publishAddress : '127.0.0.1',
        name: workload,
      }),
    })
  }

  const envOf = (runtime: string): Record<string, Value> => {
    const own = Object.entries(spec.env).filter(
      ([, { runtimes }]) => runtimes === undefined || runtimes.includes(runtime),
    )
    return { ...injected, ...Object.fromEntries(own.map(([name, variable]) => [name, variableValue(variable)])) }
  }
  const dependsOn = drafts.map(({ draft }) => draft.name)

  let front: Resolved['front'] = null
  const extraHosts: { suffix: string; workload: string; port: string }[] = []
  for (const kind of [...runtimeKinds].sort((a, b) => a.urlOrder - b.urlOrder)) {
    const settings = spec.runtimes[kind.name]
    if (settings === undefined || !settings.enabled) continue
    const toolchain =
      kind.toolchain === null
        ? { version: settings.version, program: '', directory: '' }
        : facts.toolchain(kind.toolchain.name, settings.version)
    if (toolchain === null) {
      errors.push(missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install))
      unresolved.push(kind.name, `${kind.name}-dev`)
      continue
    }
    try {
      const workloads = kind.toWorkloads({
        project: facts.project,
        settings,
        toolchain,
        helpers: facts.helpers(kind.name),
        source: facts.source,
        hostPort,
        env: envOf(kind.name),
        dependsOn,
        ourProgram: facts.ourProgram,
        healthCheck: spec.healthCheck,
      })
      for (const draft of workloads) {
        drafts.push({ kind: 'runtime', draft })
        const port = draft.ports.find((candidate) => candidate.name === 'http')
        if (port === undefined) continue
        if (draft.name === kind.name) front ??= { workload: draft.name, port: port.name }
        else extraHosts.push({ suffix: draft.name.slice(kind.name.length), workload: draft.name, port: port.name })
      }
    } catch (error) {
      errors.push(cannotRun(kind.name, error))
      unresolved.push(kind.name, `${kind.name}-dev`)
    }
  }

  const workloads = drafts.map(({ draft: { name, ...rest } }) => {
    const workload = { ...rest, ref: { project: facts.project.id, workload: name } }
    return { ...workload, fingerprint: fingerprintOf(workload) }
  })
  return {
    workloads,
    kinds: Object.fromEntries(drafts.map(({ draft, kind }) => [draft.name, kind])),
    front,
    extraHosts,
    missingLeases,
    missingSecrets,
    injected: Object.keys(injected),
    errors,
    unresolved,
  }
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

export function variableSecret(name: string): string {
  return `env/${name}`
}

/** Anything else that is thrown is a fault of ours. */
function cannotRun(kind: string, error: unknown): FieldError {
  if (!(error instanceof SettingsError)) throw error
  return { pointer: `/${kind}/${error.field}`, code: 'cannot_run', detail: `${error.message} ${error.hint}` }
}

function lengthOf(kind: { readonly secrets: readonly SecretField[] }, field: string): number {
  return kind.secrets.find((secret) => secret.name === field)?.length ?? 32
}

function variableValue(variable: EnvVariable): Value {
  return variable.secret ? [variable.ref] : variable.value
}

function missingToolchain(
  pointer: string,
  label: string,
  version: string,
  install: { readonly debian: string; readonly other: string },
): FieldError {
  return {
    pointer,
    code: 'unavailable_here',
    detail: `${label} ${version} is not available on this machine. Debian and Ubuntu: ${install.debian}. Otherwise: ${install.other}`,
  }
}
