import type { ChosenToolchain, RuntimeInput, RuntimeType, Settings, WorkloadSpec } from '@stackquay/catalog'
import { homeOf, inContainer, listenInside, sourceContainer, withLimits } from './containers.ts'
import { statusRanges } from './health-check.ts'
import type { Connections } from './resolve-connections.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { ResolvedPart } from './resolve-parts.ts'
import { builtInProgram, cannotRun, missingToolchain, toolchainOf } from './resolve-toolchain.ts'
import type { ProjectSpec } from './spec.ts'

/** What a runtime is resolved with, besides its own settings. */
export interface RuntimeResolving {
  readonly spec: ProjectSpec
  readonly facts: ResolveFacts
  readonly connections: Connections
  readonly dependsOn: readonly string[]
}

export function resolveRuntime(kind: RuntimeType, settings: Settings, resolving: RuntimeResolving): ResolvedPart {
  const { spec, facts } = resolving
  const unresolved = [kind.name, `${kind.name}-dev`]
  const toolchain = toolchainOf(kind, settings, facts)
  if (toolchain === null) {
    const error = missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install)
    return { error, unresolved }
  }
  try {
    const made = kind.toWorkloads(runtimeInput(kind, settings, toolchain, resolving))
    const workloads = made.map((workload) => placed(kind, settings, workload, spec, facts))
    const isOfMachine = kind.toolchain !== null && facts.containers === null
    return { kind: 'runtime', name: kind.name, workloads, ...(isOfMachine ? { version: toolchain.version } : {}) }
  } catch (error) {
    return { error: cannotRun(kind.name, error), unresolved }
  }
}

function placed(
  kind: RuntimeType,
  settings: Settings,
  workload: WorkloadSpec,
  spec: ProjectSpec,
  facts: ResolveFacts,
): WorkloadSpec {
  if (facts.containers === null) return withLimits(workload, spec)
  const request = { workload: workload.name, spec, facts }
  const container = sourceContainer(kind.image, settings.version, request, facts.containers)
  return inContainer({ ...workload, env: { ...homeOf(facts), ...workload.env } }, container)
}

export function runtimeInput(
  kind: RuntimeType,
  settings: Settings,
  toolchain: ChosenToolchain,
  resolving: RuntimeResolving,
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
    ourProgram: (name) => builtInProgram(kind.image, name, facts),
    healthCheck: checkOf(spec.healthCheck),
  }
}

function checkOf(check: ProjectSpec['healthCheck']): RuntimeInput['healthCheck'] {
  if (check === null) return null
  const { status, ...same } = check
  const statuses = status === undefined ? null : statusRanges(status)
  return { ...same, ...(statuses === null ? {} : { statuses }) }
}
