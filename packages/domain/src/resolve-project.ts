import { runtimeTypes, type ServiceType } from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { fingerprintOf, type Workload } from '@stackquay/engine-api'
import { resolveConnections } from './resolve-connections.ts'
import { resolveDatabase, resolveService } from './resolve-data.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import type { WantedArchive } from './resolve-needs.ts'
import { type PartKind, type ResolvedPart, workloadsOf } from './resolve-parts.ts'
import { resolveRuntime } from './resolve-runtime.ts'
import { resolveWorkers } from './resolve-workers.ts'
import { type ServicePage, servicePageOf } from './service-pages.ts'
import { serviceTypesOf } from './service-types.ts'
import type { ProjectSpec } from './spec.ts'

export interface Resolved {
  readonly workloads: readonly Workload[]
  /** Shown on the status page. */
  readonly kinds: Readonly<Record<string, PartKind>>
  /** Of runtimes whose program is one of this machine: which one was found. */
  readonly versions: Readonly<Record<string, string>>
  /** The workload and port that own the project's URL. */
  readonly front: { readonly workload: string; readonly port: string } | null
  /** Further hosts: `<slug>-dev` of a dev server, `storage.<slug>` of a service with an API of its own. */
  readonly extraHosts: readonly ExtraHost[]
  /** For people who are signed in. */
  readonly pages: readonly ServicePage[]
  /** Ports without a lease; the workloads above carry provisional numbers for them. */
  readonly missingLeases: readonly { readonly workload: string; readonly port: string }[]
  readonly missingSecrets: readonly { readonly name: string; readonly length: number }[]
  /** Archives that are not begun yet; the workloads above run without them. */
  readonly missingArchives: readonly WantedArchive[]
  /** Names of variables that databases and services inject. */
  readonly injected: readonly string[]
  readonly errors: readonly FieldError[]
  /** Names of wanted workloads that have an entry in `errors` instead of `workloads`. */
  readonly unresolved: readonly string[]
}

/** A name is `<prefix><slug><suffix>` below the base domain. */
export interface ExtraHost {
  readonly prefix: string
  readonly suffix: string
  readonly workload: string
  readonly port: string
}

/** Pure. `(spec, facts) → workloads`, or all blockers at once. */
export function resolveProject(spec: ProjectSpec, facts: ResolveFacts): Resolved {
  const connections = resolveConnections(spec, facts)
  const data = [
    ...connections.services.filter(({ runsHere }) => runsHere).map((service) => resolveService(service, spec, facts)),
    ...connections.databases.map((database) => resolveDatabase(database, spec, facts)),
  ]
  const dependsOn = workloadsOf(data).map(({ workload }) => workload.name)
  const runtimes = [...runtimeTypes]
    .sort((one, other) => one.urlOrder - other.urlOrder)
    .flatMap((type) => {
      const settings = spec.runtimes[type.name]
      if (settings === undefined || !settings.enabled) return []
      return [resolveRuntime(type, settings, { spec, facts, connections, dependsOn })]
    })
  const servers = workloadsOf(runtimes).map(({ workload }) => workload.name)
  const workers = resolveWorkers({ spec, facts, connections, dependsOn }, servers)
  const parts = [...data, ...runtimes, ...workers]
  const found = workloadsOf(parts)
  const failed = parts.filter((part) => 'error' in part)
  return {
    workloads: found.map(({ workload: { name, ...rest } }) => {
      const workload = { ...rest, ref: { project: facts.project.id, workload: name } }
      return { ...workload, fingerprint: fingerprintOf(workload) }
    }),
    kinds: Object.fromEntries(found.map(({ workload, kind }) => [workload.name, kind])),
    versions: versionsOf(runtimes),
    ...hostsOf(dependsOn, runtimes, serviceTypesOf(spec)),
    missingLeases: connections.missingLeases,
    missingSecrets: connections.missingSecrets,
    missingArchives: connections.missingArchives,
    injected: Object.keys(connections.injected),
    errors: failed.map(({ error }) => error),
    unresolved: failed.flatMap(({ unresolved }) => unresolved),
  }
}

/** The first runtime with a server owns the project's URL; further servers and some services get hosts of their own. */
function hostsOf(
  data: readonly string[],
  runtimes: readonly ResolvedPart[],
  services: readonly ServiceType[],
): Pick<Resolved, 'front' | 'extraHosts' | 'pages'> {
  let front: Resolved['front'] = null
  const here = services.filter(({ name }) => data.includes(name))
  const extraHosts: ExtraHost[] = here.flatMap(({ name, hostLabel }) =>
    hostLabel === undefined ? [] : [{ prefix: `${hostLabel}.`, suffix: '', workload: name, port: 'http' }],
  )
  const pages = here.flatMap((service) => servicePageOf(service) ?? [])
  for (const runtime of runtimes) {
    if ('error' in runtime) continue
    for (const { name, ports } of runtime.workloads) {
      if (!ports.some((port) => port.name === 'http')) continue
      if (name === runtime.name) front ??= { workload: name, port: 'http' }
      else extraHosts.push({ prefix: '', suffix: name.slice(runtime.name.length), workload: name, port: 'http' })
    }
  }
  return { front, extraHosts, pages }
}

function versionsOf(runtimes: readonly ResolvedPart[]): Resolved['versions'] {
  return Object.fromEntries(
    runtimes.flatMap((part) => ('error' in part || part.version === undefined ? [] : [[part.name, part.version]])),
  )
}

export function variableSecret(name: string): string {
  return `env/${name}`
}
