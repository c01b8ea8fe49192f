import {
  type ChosenToolchain,
  type DatabaseConnection,
  databaseKindOf,
  type ProjectFacts,
  runtimeKinds,
  SettingsError,
  type SourceFiles,
  type WorkloadDraft,
} from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { fingerprintOf, type Value, type Workload } from '@stackquay/engine-api'
import type { EnvVariable, ProjectSpec } from './spec.ts'

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
  secret(name: string): { readonly secret: string; readonly version: number } | null
  ourProgram(name: string): { readonly node: string; readonly file: string }
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
}

/** Pure. `(spec, facts) → workloads`, or everything that stands in the way at once. */
export function resolveProject(spec: ProjectSpec, facts: ResolveFacts): Resolved {
  const errors: FieldError[] = []
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

  const databases = Object.entries(spec.databases)
  for (const [index, [name, database]] of databases.entries()) {
    const kind = databaseKindOf(database.type)
    if (kind === undefined) {
      errors.push({
        pointer: `/databases/${name}/type`,
        code: 'unknown_type',
        detail: `There is no database type "${database.type}".`,
      })
      continue
    }
    const toolchain = facts.toolchain(kind.toolchain.name, database.version)
    const workload = databaseWorkload(database.type, name)
    const connection: DatabaseConnection = {
      database: name,
      username: name,
      host: '127.0.0.1',
      hostPort: hostPort(workload, kind.name),
      secret: (field, encode) => {
        const secretName = databaseSecret(name, field)
        const handle = facts.secret(secretName)
        const length = kind.secrets.find((secret) => secret.name === field)?.length ?? 32
        if (handle === null && !missingSecrets.some((known) => known.name === secretName))
          missingSecrets.push({ name: secretName, length })
        const ref = handle ?? { secret: `pending:${secretName}`, version: 0 }
        return [encode === undefined ? ref : { ...ref, encode }]
      },
    }
    for (const field of kind.secrets) connection.secret(field.name)
    Object.assign(injected, kind.variables(connection, index === 0 ? '' : `${name.toUpperCase()}_`))
    if (toolchain === null) {
      errors.push(missingToolchain(`/databases/${name}/version`, kind.label, database.version, kind.install))
      continue
    }
    drafts.push({
      kind: 'database',
      draft: kind.toWorkload({
        ...connection,
        project: facts.project,
        version: database.version,
        toolchain,
        exposePort: database.exposePort,
        name: workload,
      }),
    })
  }

  const own = Object.fromEntries(Object.entries(spec.env).map(([name, variable]) => [name, variableValue(variable)]))
  const env: Record<string, Value> = { ...injected, ...own }
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
        env,
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
      if (!(error instanceof SettingsError)) throw error
      errors.push({
        pointer: `/${kind.name}/${error.field}`,
        code: 'cannot_run',
        detail: `${error.message} ${error.hint}`,
      })
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
  }
}

/** Name of a database's workload, kept data and port leases: `postgresql-main`. */
export function databaseWorkload(type: string, name: string): string {
  return `${type}-${name}`
}

export function databaseSecret(name: string, field: string): string {
  return `database/${name}/${field}`
}

export function variableSecret(name: string): string {
  return `env/${name}`
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
