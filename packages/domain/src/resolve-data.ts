import type { PortBinding } from '@stackquay/engine-api'
import { dataContainer, inContainer, withLimits } from './containers.ts'
import type { Connections } from './resolve-connections.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { ResolvedPart } from './resolve-parts.ts'
import { builtInProgram, cannotRun, missingToolchain, programFor } from './resolve-toolchain.ts'
import type { ProjectSpec } from './spec.ts'

type Service = Connections['services'][number]
type Database = Connections['databases'][number]

/** A service that runs here. */
export function resolveService(service: Service, spec: ProjectSpec, facts: ResolveFacts): ResolvedPart {
  const { kind, settings } = service
  const toolchain =
    kind.toolchain === null ? null : programFor(kind.image, kind.toolchain.name, settings.version, facts)
  if (kind.toolchain !== null && toolchain === null) {
    const error = missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install)
    return { error, unresolved: [kind.name] }
  }
  try {
    const workload = serviceWorkload(service, toolchain, spec, facts)
    return { kind: 'service', name: kind.name, workloads: [workload] }
  } catch (error) {
    return { error: cannotRun(kind.name, error), unresolved: [kind.name] }
  }
}

function serviceWorkload(
  { kind, settings, connection, leased }: Service,
  toolchain: ReturnType<typeof programFor>,
  spec: ProjectSpec,
  facts: ResolveFacts,
) {
  let needsPrograms = false
  const bind = (name: string) =>
    settings.exposePort && kind.ports.some((port) => port.name === name && port.published)
      ? publishAddress(facts)
      : '127.0.0.1'
  const workload = kind.toWorkload({
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
      return builtInProgram(kind.image, name, facts)
    },
  })
  if (facts.containers === null) return withLimits(workload, spec)
  const wanted = { workload: kind.name, spec, facts, needsPrograms }
  return inContainer(workload, dataContainer(kind.image, settings.version, wanted, facts.containers))
}

export function resolveDatabase(
  { name, database, workload, known, leased }: Database,
  spec: ProjectSpec,
  facts: ResolveFacts,
): ResolvedPart {
  if (known === null) {
    const detail = `There is no database type "${database.type}".`
    return { error: { pointer: `/databases/${name}/type`, code: 'unknown_type', detail }, unresolved: [workload] }
  }
  const { kind, connection } = known
  const toolchain = programFor(kind.image, kind.toolchain.name, database.version, facts)
  if (toolchain === null) {
    const error = missingToolchain(`/databases/${name}/version`, kind.label, database.version, kind.install)
    return { error, unresolved: [workload] }
  }
  const bind = database.exposePort ? publishAddress(facts) : '127.0.0.1'
  const made = kind.toWorkload({
    ...connection,
    project: facts.project,
    version: database.version,
    toolchain,
    hostPort: leased,
    bind,
    listen: facts.containers === null ? { address: bind, port: leased } : { address: '0.0.0.0', port: connection.port },
    name: workload,
    throwaway: facts.testEnvironment !== undefined,
    inContainer: facts.containers !== null,
    ourProgram: (name) => builtInProgram(kind.image, name, facts),
  })
  const wanted = { workload, spec, facts, needsPrograms: false }
  const placed =
    facts.containers === null
      ? withLimits(made, spec)
      : inContainer(made, dataContainer(kind.image, database.version, wanted, facts.containers))
  return { kind: 'database', name: workload, workloads: [placed] }
}

/** A test environment publishes nothing. */
function publishAddress(facts: ResolveFacts): PortBinding['bind'] {
  return facts.testEnvironment === undefined ? facts.publishAddress : '127.0.0.1'
}
