import {
  type ChosenToolchain,
  type InstallHint,
  type KindImage,
  type RuntimeInput,
  type RuntimeKind,
  runtimeKinds,
  type Settings,
  SettingsError,
  serviceKinds,
  type WorkloadDraft,
} from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { fingerprintOf, type Workload } from '@stackquay/engine-api'
import {
  type ContainerFacts,
  dataContainer,
  homeOf,
  inContainer,
  listenInside,
  sourceContainer,
  toolchainIn,
  withLimits,
} from './containers.ts'
import { type Connections, resolveConnections } from './resolve-connections.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { ProjectSpec } from './spec.ts'

export interface Resolved {
  readonly workloads: readonly Workload[]
  /** What each workload is, for the status page. */
  readonly kinds: Readonly<Record<string, 'runtime' | 'service' | 'database'>>
  /** The workload and port that own the project's URL. */
  readonly front: { readonly workload: string; readonly port: string } | null
  /** Further hosts: `<slug>-dev` of a dev server, `storage.<slug>` of a service with an API or page of its own. */
  readonly extraHosts: readonly ExtraHost[]
  /** Ports without a lease; the workloads above carry provisional numbers for them. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
  /** Names of variables that databases and services inject. */
  readonly injected: readonly string[]
  readonly errors: readonly FieldError[]
  /** Names of workloads that are wanted and stand in `errors` instead of `workloads`. */
  readonly unresolved: readonly string[]
}

/** A name is `<prefix><slug><suffix>` below the base domain. */
export interface ExtraHost {
  readonly prefix: string
  readonly suffix: string
  readonly workload: string
  readonly port: string
}

/** Pure. `(spec, facts) → workloads`, or everything that stands in the way at once. */
export function resolveProject(spec: ProjectSpec, facts: ResolveFacts): Resolved {
  const errors: FieldError[] = []
  const unresolved: string[] = []
  const drafts: { draft: WorkloadDraft; kind: 'runtime' | 'service' | 'database' }[] = []
  const connections = resolveConnections(spec, facts)
  const publishAddress = facts.stand === undefined ? facts.publishAddress : '127.0.0.1'

  for (const { kind, settings, connection, runsHere, leased } of connections.services) {
    if (!runsHere) continue
    const toolchain =
      kind.toolchain === null ? null : programFor(kind.image, kind.toolchain.name, settings.version, facts)
    if (kind.toolchain !== null && toolchain === null) {
      errors.push(missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install))
      unresolved.push(kind.name)
      continue
    }
    try {
      const bind = (name: string) =>
        settings.exposePort && kind.ports.some((port) => port.name === name && port.published)
          ? publishAddress
          : '127.0.0.1'
      let needsPrograms = false
      const draft = kind.toWorkload({
        ...connection,
        toolchain,
        hostPort: leased,
        inContainer: facts.containers !== null,
        bind,
        listen: (name) =>
          facts.containers === null
            ? { address: bind(name), port: leased(name) }
            : { address: '0.0.0.0', port: connection.port(name) },
        ourProgram: (name) => {
          needsPrograms = true
          return ourProgramIn(kind.image, name, facts)
        },
      })
      const wanted = { workload: kind.name, spec, facts, needsPrograms }
      drafts.push({
        kind: 'service',
        draft:
          facts.containers === null
            ? withLimits(draft, spec)
            : inContainer(draft, dataContainer(kind.image, settings.version, wanted, facts.containers)),
      })
    } catch (error) {
      errors.push(cannotRun(kind.name, error))
      unresolved.push(kind.name)
    }
  }

  for (const { name, database, workload, known, leased } of connections.databases) {
    if (known === null) {
      errors.push({
        pointer: `/databases/${name}/type`,
        code: 'unknown_type',
        detail: `There is no database type "${database.type}".`,
      })
      unresolved.push(workload)
      continue
    }
    const { kind, connection } = known
    const toolchain = programFor(kind.image, kind.toolchain.name, database.version, facts)
    if (toolchain === null) {
      errors.push(missingToolchain(`/databases/${name}/version`, kind.label, database.version, kind.install))
      unresolved.push(workload)
      continue
    }
    const bind = database.exposePort ? publishAddress : '127.0.0.1'
    const draft = kind.toWorkload({
      ...connection,
      project: facts.project,
      version: database.version,
      toolchain,
      hostPort: leased,
      bind,
      listen:
        facts.containers === null ? { address: bind, port: leased } : { address: '0.0.0.0', port: connection.port },
      name: workload,
      throwaway: facts.stand !== undefined,
    })
    const wanted = { workload, spec, facts, needsPrograms: false }
    drafts.push({
      kind: 'database',
      draft:
        facts.containers === null
          ? withLimits(draft, spec)
          : inContainer(draft, dataContainer(kind.image, database.version, wanted, facts.containers)),
    })
  }

  const dependsOn = drafts.map(({ draft }) => draft.name)

  let front: Resolved['front'] = null
  const extraHosts: ExtraHost[] = []
  for (const { name, hostLabel } of serviceKinds) {
    if (hostLabel !== undefined && drafts.some(({ draft }) => draft.name === name))
      extraHosts.push({ prefix: `${hostLabel}.`, suffix: '', workload: name, port: 'http' })
  }
  for (const kind of [...runtimeKinds].sort((a, b) => a.urlOrder - b.urlOrder)) {
    const settings = spec.runtimes[kind.name]
    if (settings === undefined || !settings.enabled) continue
    const toolchain = toolchainOf(kind, settings, facts)
    if (toolchain === null) {
      errors.push(missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install))
      unresolved.push(kind.name, `${kind.name}-dev`)
      continue
    }
    try {
      const workloads = kind.toWorkloads(
        runtimeInput(kind, settings, toolchain, { spec, facts, connections, dependsOn }),
      )
      for (const made of workloads) {
        const draft =
          facts.containers === null
            ? withLimits(made, spec)
            : inSourceContainer(kind, settings, made, spec, facts, facts.containers)
        drafts.push({ kind: 'runtime', draft })
        const port = draft.ports.find((candidate) => candidate.name === 'http')
        if (port === undefined) continue
        if (draft.name === kind.name) front ??= { workload: draft.name, port: port.name }
        else
          extraHosts.push({
            prefix: '',
            suffix: draft.name.slice(kind.name.length),
            workload: draft.name,
            port: port.name,
          })
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
    missingLeases: connections.missingLeases,
    missingSecrets: connections.missingSecrets,
    injected: Object.keys(connections.injected),
    errors,
    unresolved,
  }
}

/** A kind that needs no program has an empty one. */
export function toolchainOf(kind: RuntimeKind, settings: Settings, facts: ResolveFacts): ChosenToolchain | null {
  if (kind.toolchain === null) return { version: settings.version, program: '', directory: '' }
  return programFor(kind.image, kind.toolchain.name, settings.version, facts)
}

/** The program of a release line: of this machine, or inside an image. */
function programFor(image: KindImage, name: string, line: string, facts: ResolveFacts): ChosenToolchain | null {
  return facts.containers === null ? facts.toolchain(name, line) : toolchainIn(image, line)
}

/** A program of ours, run by the Node of the image where it has one. */
function ourProgramIn(image: KindImage, name: string, facts: ResolveFacts) {
  const found = facts.ourProgram(name)
  return facts.containers === null || image.node === undefined ? found : { ...found, node: image.node }
}

function inSourceContainer(
  kind: RuntimeKind,
  settings: Settings,
  draft: WorkloadDraft,
  spec: ProjectSpec,
  facts: ResolveFacts,
  containers: ContainerFacts,
): WorkloadDraft {
  const container = sourceContainer(kind.image, settings.version, { workload: draft.name, spec, facts }, containers)
  return inContainer({ ...draft, env: { ...homeOf(facts), ...draft.env } }, container)
}

export function runtimeInput(
  kind: RuntimeKind,
  settings: Settings,
  toolchain: ChosenToolchain,
  resolving: {
    readonly spec: ProjectSpec
    readonly facts: ResolveFacts
    readonly connections: Connections
    readonly dependsOn: readonly string[]
  },
): RuntimeInput {
  const { spec, facts, connections, dependsOn } = resolving
  return {
    project: facts.project,
    settings,
    toolchain,
    helpers: facts.containers === null ? facts.helpers(kind.name) : (kind.image.helpers ?? {}),
    source: facts.source,
    hostPort: connections.hostPort,
    inContainer: facts.containers !== null,
    listen: (workload, port) => {
      // Leased in either case: the container's port is published there.
      const lease = connections.hostPort(workload, port)
      return facts.containers === null ? { address: '127.0.0.1', port: lease } : listenInside(settings, workload, port)
    },
    env: connections.variablesOf(kind.name),
    dependsOn,
    ourProgram: (name) => ourProgramIn(kind.image, name, facts),
    healthCheck: spec.healthCheck,
  }
}

export function variableSecret(name: string): string {
  return `env/${name}`
}

/** Anything else that is thrown is a fault of ours. */
function cannotRun(kind: string, error: unknown): FieldError {
  if (!(error instanceof SettingsError)) throw error
  return { pointer: `/${kind}/${error.field}`, code: 'cannot_run', detail: `${error.message} ${error.hint}` }
}

function missingToolchain(pointer: string, label: string, version: string, install: InstallHint): FieldError {
  return { pointer, code: 'unavailable_here', detail: unavailableHere(label, version, install) }
}

export function unavailableHere(label: string, version: string, install: InstallHint): string {
  return `${label} ${version} is not available on this machine. Debian and Ubuntu: ${install.debian}. Otherwise: ${install.other}`
}
