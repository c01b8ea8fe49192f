import {
  type CommandEnvironment,
  type RuntimeInput,
  type RuntimeType,
  runtimeTypes,
  type Settings,
  SettingsError,
  type WorkloadSpec,
} from '@stackquay/catalog'
import type { Value } from '@stackquay/engine-api'
import { homeOf, inContainer, limitsOf, ownLimits, sourceContainer } from './containers.ts'
import type { ResolvedPart } from './resolve-parts.ts'
import { type RuntimeResolving, runtimeInput } from './resolve-runtime.ts'
import { missingToolchain, toolchainOf } from './resolve-toolchain.ts'
import type { ProjectSpec, WorkerSpec } from './spec.ts'

/** A queue worker ends what it is at before it goes. */
const stop = { signal: 'SIGTERM', deadlineSeconds: 30 } as const

/** Names of the workloads of a worker. An instance keeps its name whatever the count becomes. */
export function workerInstances(name: string, { count, enabled }: Pick<WorkerSpec, 'count' | 'enabled'>): string[] {
  return enabled ? Array.from({ length: count }, (_, index) => `${name}-${index + 1}`) : []
}

/**
 * The workers of a project: programs in the environment of a runtime, over its source, started after its server, which installs what
 * both need. Where there is no server the first instance installs, and the others follow it. `servers` are the names of workloads of
 * runtimes that run.
 */
export function resolveWorkers(resolving: RuntimeResolving, servers: readonly string[]): readonly ResolvedPart[] {
  const { spec } = resolving
  const installers = new Map<string, string>()
  return Object.entries(spec.workers ?? {}).flatMap(([name, worker]) => {
    if (!worker.enabled) return []
    const kind = runtimeOf(spec, worker.runtime)
    if (kind === null) return [withoutRuntime(name, worker)]
    const first = servers.includes(kind.name) ? kind.name : (installers.get(kind.name) ?? null)
    const part = resolveWorker(name, worker, kind, { ...resolving, after: first })
    if (first === null && !('error' in part)) installers.set(kind.name, `${name}-1`)
    return [part]
  })
}

/** The runtime that is named, or the first one of the project; null when that is off. */
export function runtimeOf({ runtimes }: Pick<ProjectSpec, 'runtimes'>, wanted: string | null): RuntimeType | null {
  const enabled = runtimeTypes
    .filter((kind) => runtimes[kind.name]?.enabled === true)
    .toSorted((one, other) => one.urlOrder - other.urlOrder)
  return (wanted === null ? enabled[0] : enabled.find((kind) => kind.name === wanted)) ?? null
}

function withoutRuntime(name: string, worker: WorkerSpec): ResolvedPart {
  const detail =
    worker.runtime === null
      ? `The worker "${name}" has no runtime to run in. Enable one, or switch the worker off.`
      : `The worker "${name}" runs in ${worker.runtime}, which is off. Enable it, or switch the worker off.`
  const error = { pointer: `/workers/${name}/runtime`, code: 'no_runtime', detail }
  return { error, unresolved: workerInstances(name, worker) }
}

function resolveWorker(
  name: string,
  worker: WorkerSpec,
  kind: RuntimeType,
  resolving: RuntimeResolving & { readonly after: string | null },
): ResolvedPart {
  const { spec, facts, after, dependsOn } = resolving
  const settings = spec.runtimes[kind.name]!
  const toolchain = toolchainOf(kind, settings, facts)
  const names = workerInstances(name, worker)
  if (toolchain === null) {
    const error = missingToolchain(`/${kind.name}/version`, kind.label, settings.version, kind.install)
    return { error, unresolved: names }
  }
  const input = runtimeInput(kind, settings, toolchain, resolving)
  const { environment } = kind.commands(input)
  if (after === null && environment.setupReason != null) {
    const error = { pointer: `/${kind.name}`, code: 'cannot_run', detail: environment.setupReason }
    return { error, unresolved: names }
  }
  const workloads = names.map((instance, index) => {
    const leader = after ?? (index === 0 ? null : names[0]!)
    const workload = workloadOf(instance, `Worker ${instance}`, worker, environment, {
      env: { ...modeVariables(kind, input), ...environment.env },
      setup: leader === null ? environment.setup : [],
      dependsOn: leader === null ? dependsOn : [...dependsOn, leader],
    })
    return placed(kind, settings, name, workload, resolving)
  })
  return { kind: 'worker', name, workloads }
}

function workloadOf(
  name: string,
  title: string,
  { command }: WorkerSpec,
  { cwd }: CommandEnvironment,
  parts: Pick<WorkloadSpec, 'env' | 'setup' | 'dependsOn'>,
): WorkloadSpec {
  return {
    name,
    title,
    run: { kind: 'process', argv: commandArgv(command), cwd },
    ...parts,
    data: [],
    ports: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'always' },
    stop,
  }
}

/** Limits are the worker's, else those of its runtime; its image is that of the runtime. */
function placed(
  kind: RuntimeType,
  settings: Settings,
  worker: string,
  workload: WorkloadSpec,
  { spec, facts }: RuntimeResolving,
): WorkloadSpec {
  if (facts.containers === null) {
    const own = ownLimits(spec, worker, kind.name)
    if (own.limits === undefined) return workload
    return { ...workload, run: { ...workload.run, ...own }, setup: workload.setup.map((job) => ({ ...job, ...own })) }
  }
  const request = { workload: kind.name, spec, facts }
  const container = sourceContainer(kind.image, settings.version, request, facts.containers)
  const limited = { ...container, limits: limitsOf(spec, worker, kind.name) }
  return inContainer({ ...workload, env: { ...homeOf(facts), ...workload.env } }, limited)
}

/** The first word is found through PATH, unless it is an absolute path. */
export function commandArgv(command: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...rest] = command
  return program.startsWith('/') ? [program, ...rest] : ['/usr/bin/env', program, ...rest]
}

/**
 * Variables that the server of a runtime has and terminals have not, such as `NODE_ENV`: what works beside it works in its mode.
 * Nothing of its address is among them. Where its server could not run they are left out.
 */
export function modeVariables(kind: RuntimeType, input: RuntimeInput): Readonly<Record<string, Value>> {
  const settings = { ...input.settings, server: true, debug: false, command: ['true'] }
  const nowhere = { address: '127.0.0.1', port: 1 } as const
  try {
    const made = kind.toWorkloads({ ...input, settings, hostPort: () => 1, listen: () => nowhere })
    const server = made.find(({ name }) => name === kind.name)
    const { PATH: _path, HOST: _host, PORT: _port, ...rest } = server?.env ?? {}
    return rest
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return {}
  }
}
