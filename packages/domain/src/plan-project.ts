import type { Plan } from '@stackquay/contract'
import type { Change, Observed, Workload } from '@stackquay/engine-api'
import { whatChanged } from './what-changed.ts'

export interface PlanRequest {
  readonly wanted: readonly Workload[]
  readonly observed: readonly Observed[]
  readonly goal: 'running' | 'stopped'
  /** Only this workload, with what it depends on when it is to run. */
  readonly only?: string
  /** Replace what runs even when it is the wanted form. */
  readonly restart?: boolean
  /** What is started or replaced takes the newest builds of its images. Without it each stays with the build that it has. */
  readonly newerImages?: boolean
  /** Leave what runs in an older form alone: after an upgrade of ours nothing restarts by itself. */
  readonly keepChanged?: boolean
  /** Only these are started or replaced; what runs besides is left as it is, whatever its form. Removals are not concerned. */
  readonly touches?: readonly string[]
  /** Wanted too, and not among `wanted` because something stands in the way: they are left as they are, until all is stopped. */
  readonly unresolved?: readonly string[]
  /** When all of a project is stopped: whose every other process ends too. */
  readonly strays?: { readonly project: string; readonly commands: boolean }
  /** What was wanted before, for telling why something restarts. The result does not depend on it. */
  readonly before?: readonly Workload[]
}

export interface PlanResult {
  readonly changes: readonly Change[]
  readonly summary: Pick<Plan['plan'], 'starts' | 'restarts' | 'stops' | 'keepsRunning'>
}

/** Pure: the smallest set of changes that reaches the goal; removals first, then in the order of dependencies. */
export function planProject(request: PlanRequest): PlanResult {
  const { wanted, observed, goal, only } = request
  const seen = new Map(observed.map((one) => [one.ref.workload, one]))
  const names = new Set(wanted.map((workload) => workload.ref.workload))
  const changes: Change[] = []
  const starts: string[] = []
  const restarts: string[] = []
  const stops: string[] = []
  const keepsRunning: string[] = []
  const becauseOf = (workload: Workload) => {
    const old = request.before?.find((one) => one.ref.workload === workload.ref.workload)
    const reasons = old === undefined ? [] : whatChanged(old, workload)
    return reasons.length === 0 ? ['its settings changed'] : reasons
  }

  if (only === undefined) {
    for (const one of dependantsFirst(observed)) {
      if (names.has(one.ref.workload) || request.unresolved?.includes(one.ref.workload) === true) continue
      changes.push({
        type: 'remove',
        ref: one.ref,
        title: one.title ?? one.ref.workload,
        stop: one.stop ?? fallbackStop,
      })
      if (isActive(one)) stops.push(one.ref.workload)
    }
  }

  if (goal === 'stopped') {
    for (const workload of [...inOrder(wanted)].reverse()) {
      const name = workload.ref.workload
      if (only !== undefined && name !== only) continue
      const now = seen.get(name)
      // One that ended by itself is told too: from then on it is down because somebody wanted that.
      const ended = now?.state === 'exited'
      if (!ended && !isActive(now)) continue
      changes.push({ type: 'stop', ref: workload.ref, title: workload.title, stop: workload.stop })
      if (!ended) stops.push(name)
    }
    for (const one of only === undefined ? dependantsFirst(observed) : []) {
      const name = one.ref.workload
      if (names.has(name) || !isActive(one) || request.unresolved?.includes(name) !== true) continue
      changes.push({ type: 'stop', ref: one.ref, title: one.title ?? name, stop: one.stop ?? fallbackStop })
      stops.push(name)
    }
    for (const name of names) if (isActive(seen.get(name)) && !stops.includes(name)) keepsRunning.push(name)
    if (request.strays !== undefined && only === undefined) changes.push({ type: 'strays', ...request.strays })
    return { changes, summary: { starts, restarts, stops, keepsRunning } }
  }

  const included = only === undefined ? new Set(request.touches ?? names) : withDependencies(only, wanted)
  for (const workload of inOrder(wanted)) {
    const name = workload.ref.workload
    if (!included.has(name)) {
      if (isActive(seen.get(name))) keepsRunning.push(name)
      continue
    }
    const now = seen.get(name)
    const isMeant = only === undefined || only === name
    const mayRestart = request.restart === true && isMeant
    const newer = request.newerImages === true && isMeant ? { newerImage: true } : {}
    if (now === undefined || !isActive(now)) {
      changes.push({ type: 'start', workload, ...newer })
      starts.push(name)
    } else if (mayRestart) {
      changes.push({ type: 'replace', workload, because: ['a restart was asked for'], ...newer })
      restarts.push(name)
    } else if (now.fingerprint !== workload.fingerprint && request.keepChanged !== true) {
      changes.push({ type: 'replace', workload, because: becauseOf(workload), ...newer })
      restarts.push(name)
    } else {
      keepsRunning.push(name)
      // Started and not ready yet, perhaps by an operation that was cut off: starting it again only waits for it.
      if (now.state === 'running' && now.health === 'starting') changes.push({ type: 'start', workload })
    }
  }
  return { changes, summary: { starts, restarts, stops, keepsRunning } }
}

/** Whether there is something to stop: it runs, or it waits for a file and would start when that appears. */
function isActive(observed: Observed | undefined): observed is Observed {
  return observed !== undefined && (observed.state === 'running' || observed.state === 'waiting')
}

const fallbackStop = { signal: 'SIGTERM', deadlineSeconds: 10 } as const

/** So that a program that is on its way out never misses what it uses. */
function dependantsFirst(observed: readonly Observed[]): readonly Observed[] {
  const nodes = observed.map((one) => ({ name: one.ref.workload, dependsOn: one.dependsOn ?? [], one }))
  return dependenciesFirst(nodes.reverse())
    .map(({ one }) => one)
    .reverse()
}

function inOrder(workloads: readonly Workload[]): readonly Workload[] {
  const nodes = workloads.map((workload) => ({
    name: workload.ref.workload,
    dependsOn: workload.dependsOn,
    workload,
  }))
  return dependenciesFirst(nodes).map(({ workload }) => workload)
}

/** Dependencies before dependants; the given order where nothing else decides. A circle is impossible by construction: services and databases depend on nothing. */
function dependenciesFirst<Node extends { readonly name: string; readonly dependsOn: readonly string[] }>(
  nodes: readonly Node[],
): readonly Node[] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const done = new Set<string>()
  const ordered: Node[] = []
  const visit = (node: Node) => {
    if (done.has(node.name)) return
    done.add(node.name)
    for (const dependency of node.dependsOn) {
      const next = byName.get(dependency)
      if (next !== undefined) visit(next)
    }
    ordered.push(node)
  }
  for (const node of nodes) visit(node)
  return ordered
}

function withDependencies(name: string, workloads: readonly Workload[]): Set<string> {
  const included = new Set<string>()
  const add = (next: string) => {
    if (included.has(next)) return
    included.add(next)
    for (const dependency of workloads.find((workload) => workload.ref.workload === next)?.dependsOn ?? [])
      add(dependency)
  }
  add(name)
  return included
}

/** Names of the workloads that are not what they were, or were not there. */
export function touchedBy(before: readonly Workload[], after: readonly Workload[]): readonly string[] {
  const known = new Map(before.map((workload) => [workload.ref.workload, workload.fingerprint]))
  return after
    .filter((workload) => known.get(workload.ref.workload) !== workload.fingerprint)
    .map((workload) => workload.ref.workload)
}
