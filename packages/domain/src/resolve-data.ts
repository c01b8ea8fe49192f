import type {
  BackupMethod,
  BackupProgram,
  DatabaseInput,
  LiveCopyProgram,
  ServiceInput,
  WorkloadSpec,
} from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import type { Container, PortBinding } from '@stackquay/engine-api'
import { dataContainer, inContainer, limitsOf, withLimits } from './containers.ts'
import type { Connections } from './resolve-connections.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { ResolvedPart } from './resolve-parts.ts'
import { builtInProgram, cannotRun, missingToolchain, programFor } from './resolve-toolchain.ts'
import { pageHost, servicePageOf } from './service-pages.ts'
import { servicePointer } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

type Service = Connections['services'][number]
type Database = Connections['databases'][number]

/** A service that runs here. */
export function resolveService(service: Service, spec: ProjectSpec, facts: ResolveFacts): ResolvedPart {
  const { kind, settings } = service
  const cannot = engineBlocker(kind, spec, facts)
  if (cannot !== null) return { error: cannot, unresolved: [kind.name] }
  const toolchain = toolchainOf(service, facts)
  if (kind.toolchain !== null && toolchain === null) {
    const error = missingToolchain(`${servicePointer(kind)}/version`, kind.label, settings.version, kind.install)
    return { error, unresolved: [kind.name] }
  }
  try {
    const workload = serviceWorkload(service, toolchain, spec, facts)
    return { kind: 'service', name: kind.name, workloads: [workload] }
  } catch (error) {
    return { error: cannotRun(servicePointer(kind).slice(1), error), unresolved: [kind.name] }
  }
}

/** What a type needs of the engine and of the limits, and does not have here. */
export function engineBlocker(kind: Service['kind'], spec: ProjectSpec, facts: ResolveFacts): FieldError | null {
  const pointer = `${servicePointer(kind)}/enabled`
  if (kind.needs !== undefined && (kind.needs === 'images') !== (facts.containers !== null))
    return { pointer, code: 'engine_cannot', detail: whyNotHere(kind) }
  const { memoryBytes } = limitsOf(spec, kind.name)
  if (kind.memoryMinimum === undefined || memoryBytes === null || memoryBytes >= kind.memoryMinimum) return null
  const least = Math.ceil(kind.memoryMinimum / 1024 ** 2)
  const detail = `${kind.label} needs at least ${least} MiB of memory, and its limit is lower. Raise limits.workloads.${kind.name}.memoryBytes.`
  return { pointer, code: 'limit_too_low', detail }
}

/** Why an engine cannot run a type that needs the other sort. */
export function whyNotHere({ label, needs }: Pick<Service['kind'], 'label' | 'needs'>): string {
  return needs === 'images'
    ? `${label} comes as an image alone, and this project runs programs of the machine. Use a project that runs in containers.`
    : `${label} is a program of the machine, and this project runs images. Use a project that runs on the machine.`
}

function toolchainOf({ kind, settings }: Service, facts: ResolveFacts): ReturnType<typeof programFor> {
  return kind.toolchain === null ? null : programFor(kind.image, kind.toolchain.name, settings.version, facts)
}

function serviceWorkload(
  service: Service,
  toolchain: ReturnType<typeof programFor>,
  spec: ProjectSpec,
  facts: ResolveFacts,
) {
  const { kind, settings } = service
  let needsPrograms = false
  const input = serviceInput(service, toolchain, facts)
  const workload = kind.toWorkload({
    ...input,
    ourProgram: (name) => {
      needsPrograms = true
      return input.ourProgram(name)
    },
  })
  if (facts.containers === null) return withLimits(workload, spec)
  const wanted = { workload: kind.name, spec, facts, needsPrograms }
  const container = dataContainer(kind.image, settings.version, wanted, facts.containers)
  const source = { path: facts.project.path, readOnly: false }
  const folders = kind.seesSource === true ? [...container.folders, source] : container.folders
  return inContainer(workload, { ...container, folders })
}

function serviceInput(
  { kind, settings, connection, leased }: Service,
  toolchain: ReturnType<typeof programFor>,
  facts: ResolveFacts,
): ServiceInput {
  const bind = (name: string) =>
    settings.exposePort && kind.ports.some((port) => port.name === name && port.published)
      ? publishAddress(facts)
      : '127.0.0.1'
  return {
    ...connection,
    toolchain,
    hostPort: leased,
    inContainer: facts.containers !== null,
    ...(servicePageOf(kind) === null ? {} : { pageHost: pageHost(kind.name, facts.project) }),
    bind,
    listen: (name) =>
      facts.containers === null
        ? { address: bind(name), port: leased(name) }
        : { address: '0.0.0.0', port: connection.port(name) },
    ourProgram: (name) => builtInProgram(kind.image, name, facts),
  }
}

export function resolveDatabase(entry: Database, spec: ProjectSpec, facts: ResolveFacts): ResolvedPart {
  const { name, database, workload, known } = entry
  if (known === null) {
    const detail = `There is no database type "${database.type}".`
    return { error: { pointer: `/databases/${name}/type`, code: 'unknown_type', detail }, unresolved: [workload] }
  }
  const { kind } = known
  const input = databaseInputOf(entry, facts)
  if (input === null) {
    const error = missingToolchain(`/databases/${name}/version`, kind.label, database.version, kind.install)
    return { error, unresolved: [workload] }
  }
  const made = titled(kind.toWorkload(input), entry, kind.label)
  const wanted = { workload, spec, facts, needsPrograms: false }
  const placed =
    facts.containers === null
      ? withLimits(made, spec)
      : inContainer(
          made,
          withArchive(dataContainer(kind.image, database.version, wanted, facts.containers), entry.archive),
        )
  return { kind: 'database', name: workload, workloads: [placed] }
}

/** Where the archive stands inside of a container. */
export const archivePath = '/stackquay/archive'

function withArchive(container: Container, archive: string | undefined): Container {
  return archive === undefined ? container : { ...container, data: { ...container.data, [archive]: archivePath } }
}

/** Two copies of a database have the same name inside. */
function titled(made: WorkloadSpec, { name, database }: Database, label: string): WorkloadSpec {
  return database.inside === undefined ? made : { ...made, title: `${label} ${name}` }
}

/** Null where its program is not here. */
export function databaseInputOf(
  { database, workload, known, leased, archive }: Database,
  facts: ResolveFacts,
): DatabaseInput | null {
  if (known === null) return null
  const { kind, connection } = known
  const toolchain = programFor(kind.image, kind.toolchain.name, database.version, facts)
  if (toolchain === null) return null
  const bind = database.exposePort ? publishAddress(facts) : '127.0.0.1'
  return {
    ...connection,
    project: facts.project,
    version: database.version,
    toolchain,
    hostPort: leased,
    bind,
    listen: facts.containers === null ? { address: bind, port: leased } : { address: '0.0.0.0', port: connection.port },
    name: workload,
    ...(archive === undefined ? {} : { archive }),
    throwaway: facts.testEnvironment !== undefined,
    inContainer: facts.containers !== null,
    ourProgram: (name) => builtInProgram(kind.image, name, facts),
  }
}

/** A test environment publishes nothing. */
function publishAddress(facts: ResolveFacts): PortBinding['bind'] {
  return facts.testEnvironment === undefined ? facts.publishAddress : '127.0.0.1'
}

/** How the data of a workload is backed up while it runs, as its type says it. */
export interface TypePrograms {
  readonly workload: string
  readonly online: BackupProgram | null
  readonly contents: BackupProgram | null
  readonly live: LiveCopyProgram | null
}

export function serviceBackup(service: Service, facts: ResolveFacts): TypePrograms {
  const { backup, name, toolchain: query } = service.kind
  const toolchain = toolchainOf(service, facts)
  if (backup === undefined || (query !== null && toolchain === null)) return noPrograms(name)
  return programsOf(name, backup, serviceInput(service, toolchain, facts))
}

export function databaseBackup(entry: Database, facts: ResolveFacts): TypePrograms {
  const backup = entry.known?.kind.backup
  const input = databaseInputOf(entry, facts)
  if (backup === undefined || input === null) return noPrograms(entry.workload)
  return programsOf(entry.workload, backup, input)
}

function programsOf<Input>(workload: string, backup: BackupMethod<Input>, input: Input): TypePrograms {
  return {
    workload,
    online: backup.online?.(input) ?? null,
    contents: backup.contents?.(input) ?? null,
    live: backup.live?.(input) ?? null,
  }
}

function noPrograms(workload: string): TypePrograms {
  return { workload, online: null, contents: null, live: null }
}
