import type { FieldError, ProjectPatch, WorkloadLimitsPatch } from '@stackquay/contract'
import { nearestName } from './names.ts'
import { databaseWorkload } from './resolve-connections.ts'
import type { LimitsSpec, ProjectSpec } from './spec.ts'

type WorkloadLimits = NonNullable<LimitsSpec['workloads']>[string]

/**
 * The limits after a patch. `null` takes a limit away: that of a workload is the project's then. What says nothing is not
 * written down, so that equal wishes are equal specifications. `spec` is otherwise as it is after the patch.
 */
export function mergeLimits(spec: ProjectSpec, patch: ProjectPatch, errors: FieldError[]): LimitsSpec | null {
  const { limits: sent } = patch
  const before = spec.limits
  if (sent === undefined) return before
  if (sent === null) return null
  const pids = sent.pids === undefined ? before?.pids : sent.pids
  const workloads = mergeWorkloads(before?.workloads ?? {}, sent.workloads ?? {})
  refuseUnknown(Object.keys(workloads), before?.workloads ?? {}, spec, errors)
  return {
    cpus: sent.cpus === undefined ? (before?.cpus ?? null) : sent.cpus,
    memoryBytes: sent.memoryBytes === undefined ? (before?.memoryBytes ?? null) : sent.memoryBytes,
    ...(pids == null ? {} : { pids }),
    ...(Object.keys(workloads).length === 0 ? {} : { workloads }),
  }
}

function mergeWorkloads(
  before: Readonly<Record<string, WorkloadLimits>>,
  sent: Readonly<Record<string, WorkloadLimitsPatch | null>>,
): Readonly<Record<string, WorkloadLimits>> {
  const merged = new Map(Object.entries(before))
  for (const [name, limits] of Object.entries(sent)) {
    const own = limits === null ? {} : withoutNothing({ ...merged.get(name), ...limits })
    if (Object.keys(own).length === 0) merged.delete(name)
    else merged.set(name, own)
  }
  return Object.fromEntries(merged)
}

function withoutNothing(limits: WorkloadLimitsPatch): WorkloadLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value != null))
}

/** A limit that no workload has would hold nobody. One that was there before stays, whatever became of its workload. */
function refuseUnknown(
  names: readonly string[],
  before: Readonly<Record<string, unknown>>,
  spec: ProjectSpec,
  errors: FieldError[],
): void {
  const known = workloadNames(spec)
  for (const name of names) {
    if (known.includes(name) || Object.hasOwn(before, name)) continue
    const near = nearestName(name, known)
    const advice = near === undefined ? '' : ` Did you mean "${near}"?`
    errors.push({
      pointer: `/limits/workloads/${name}`,
      code: 'unknown_workload',
      detail: `There is no workload "${name}"; there is ${known.length === 0 ? 'none' : known.join(', ')}.${advice}`,
    })
  }
}

/** Names of all workloads that a project is described with, those that are switched off too; of a worker for all its instances. */
export function workloadNames({ runtimes, services, databases, workers = {} }: ProjectSpec): readonly string[] {
  return [
    ...Object.entries(databases).map(([name, { type }]) => databaseWorkload(type, name)),
    ...Object.keys(services),
    ...Object.entries(runtimes).flatMap(([name, settings]) =>
      'devServer' in settings && settings.devServer != null ? [name, `${name}-dev`] : [name],
    ),
    ...Object.keys(workers),
  ]
}
