import { type DatabaseType, type ServiceType, searchPath } from '@stackquay/catalog'
import type { Value } from '@stackquay/engine-api'
import { dataContainer, ownLimits } from './containers.ts'
import type { NamedEnvironment } from './named-environment.ts'
import type { Connections } from './resolve-connections.ts'
import { engineBlocker } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { programFor, unavailableHere } from './resolve-toolchain.ts'
import type { ProjectSpec } from './spec.ts'

/**
 * Where programs run beside the databases and services of a project: its client programs on PATH, and what an application is told of
 * this one alone. Never in its kept data: what people write there would be part of it, and a terminal would hold what is moved and deleted.
 */
export function dataEnvironments(
  spec: ProjectSpec,
  facts: ResolveFacts,
  { services, databases }: Pick<Connections, 'services' | 'databases'>,
): readonly NamedEnvironment[] {
  return [
    ...databases.flatMap(({ name, database, workload, known }) => {
      if (known === null) return []
      const { kind, connection } = known
      // As the first one of a project, whose variables client programs know.
      const variables = kind.variables(connection, '')
      const label = `${kind.label} ${name}`
      return [environmentOf({ kind, workload, label, version: database.version, variables }, spec, facts)]
    }),
    ...services
      .filter(({ runsHere }) => runsHere)
      .map(({ kind, settings, connection }) => {
        const variables = { ...kind.variables(connection), ...kind.clientVariables?.(connection) }
        const { name: workload, label } = kind
        const found = environmentOf({ kind, workload, label, version: settings.version, variables }, spec, facts)
        return { ...found, reason: engineBlocker(kind, spec, facts)?.detail ?? found.reason }
      }),
  ]
}

interface Beside {
  readonly kind: DatabaseType | ServiceType
  readonly workload: string
  readonly label: string
  readonly version: string
  readonly variables: Readonly<Record<string, Value>>
}

function environmentOf(
  { kind, workload, label, version, variables }: Beside,
  spec: ProjectSpec,
  facts: ResolveFacts,
): NamedEnvironment {
  const { toolchain: query, install } = kind
  const toolchain = query === null ? null : programFor(kind.image, query.name, version, facts)
  const reason = query !== null && toolchain === null ? unavailableHere(kind.label, version, install) : null
  const common = { name: workload, label, reason, setup: [], needsUp: true } as const
  const { path } = facts.project
  if (facts.containers === null) {
    const directory = toolchain?.directory ?? ''
    const PATH = searchPath(directory === '' ? [] : [directory])
    return { ...common, env: { PATH, ...variables }, cwd: path, ...ownLimits(spec, workload) }
  }
  const wanted = { workload, spec, facts, needsPrograms: false }
  const seesSource = kind.kind === 'service' && kind.seesSource === true
  const folders = seesSource ? [{ path, readOnly: false }] : []
  const container = { ...dataContainer(kind.image, version, wanted, facts.containers), data: {}, folders }
  // The image’s own PATH holds. Nothing else than the root is in every image.
  return { ...common, env: variables, cwd: seesSource ? path : '/', container }
}
