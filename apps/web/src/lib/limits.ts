import type { ProjectPatch, ProjectView, WorkloadLimitsPatch } from '@stackquay/contract'

/** Limits as they are typed and as they are stored. Pure. */

type Limits = NonNullable<ProjectView['limits']>
type WorkloadLimits = Pick<Limits, 'cpus' | 'memoryBytes' | 'pids'>
type LimitsPatch = NonNullable<ProjectPatch['limits']>

export const memoryUnits = { MiB: 1024 ** 2, GiB: 1024 ** 3 } as const
export type MemoryUnit = keyof typeof memoryUnits

/** What stands in the fields; empty is no limit, or that of the project for a workload. */
export interface LimitInputs {
  readonly cpus: string
  readonly memory: string
  readonly unit: MemoryUnit
  readonly pids: string
}
export interface LimitsInputs extends LimitInputs {
  /** Those that have limits of their own. */
  readonly workloads: Readonly<Record<string, LimitInputs>>
}
export type LimitField = 'cpus' | 'memory' | 'pids'

export const emptyLimits: LimitInputs = { cpus: '', memory: '', unit: 'MiB', pids: '' }

export function inputsOfLimits(limits: ProjectView['limits']): LimitsInputs {
  const workloads = Object.entries(limits?.workloads ?? {}).map(([name, own]) => [name, inputsOf(own)])
  return { ...inputsOf(limits ?? {}), workloads: Object.fromEntries(workloads) }
}

function inputsOf({ cpus, memoryBytes, pids }: Partial<WorkloadLimits>): LimitInputs {
  const text = (value: number | null | undefined) => (value == null ? '' : String(value))
  const unit = memoryBytes == null ? 'MiB' : unitOf(memoryBytes)
  return {
    cpus: text(cpus),
    memory: memoryBytes == null ? '' : String(memoryBytes / memoryUnits[unit]),
    unit,
    pids: text(pids),
  }
}

/** The unit in which few digits say it. */
function unitOf(bytes: number): MemoryUnit {
  return bytes >= memoryUnits.GiB && Number.isInteger((bytes * 4) / memoryUnits.GiB) ? 'GiB' : 'MiB'
}

/** `512 MiB`, `1.5 GiB`. */
export function formatMemoryLimit(bytes: number): string {
  const unit = unitOf(bytes)
  return `${Number((bytes / memoryUnits[unit]).toFixed(2))} ${unit}`
}

/** The same where that says it to the byte, else the bytes: beside each other, two values never look like one. */
export function formatExactBytes(bytes: number): string {
  return unitOf(bytes) === 'GiB' || Number.isInteger((bytes * 4) / memoryUnits.MiB)
    ? formatMemoryLimit(bytes)
    : `${bytes} B`
}

/** The memory that a workload may use: its own limit, else the project's. */
export function memoryLimitOf(limits: ProjectView['limits'], workload: string): number | null {
  return limits?.workloads[workload]?.memoryBytes ?? limits?.memoryBytes ?? null
}

/** What is typed that no limit can be. */
export function badFields(inputs: LimitInputs): readonly LimitField[] {
  const { cpus, memoryBytes, pids } = valuesOf(inputs)
  const bad: LimitField[] = []
  if (!within(cpus, 0.01, 256)) bad.push('cpus')
  if (!within(memoryBytes, 6 * memoryUnits.MiB, Number.MAX_SAFE_INTEGER)) bad.push('memory')
  if (!within(pids, 8, 4_194_304) || (pids !== null && !Number.isInteger(pids))) bad.push('pids')
  return bad
}

function within(value: number | null, from: number, to: number): boolean {
  return value === null || (value >= from && value <= to)
}

/** NaN for what is no number. */
function valuesOf({ cpus, memory, unit, pids }: LimitInputs): WorkloadLimits {
  const number = (text: string) => (text.trim() === '' ? null : Number(text.trim().replace(',', '.')))
  const amount = number(memory)
  return {
    cpus: number(cpus),
    memoryBytes: amount === null ? null : Math.round(amount * memoryUnits[unit]),
    pids: number(pids),
  }
}

/** What must be sent so that the stored limits are what is typed; null when they are already. */
export function limitsPatch(stored: ProjectView['limits'], inputs: LimitsInputs): LimitsPatch | null {
  const known = stored?.workloads ?? {}
  const names = new Set([...Object.keys(known), ...Object.keys(inputs.workloads)])
  const workloads = [...names].flatMap((name): [string, WorkloadLimitsPatch | null][] => {
    const own = inputs.workloads[name]
    if (own === undefined) return [[name, null]]
    const changed = changes(known[name] ?? {}, valuesOf(own))
    return Object.keys(changed).length === 0 ? [] : [[name, changed]]
  })
  const patch: LimitsPatch = {
    ...changes(stored ?? {}, valuesOf(inputs)),
    ...(workloads.length === 0 ? {} : { workloads: Object.fromEntries(workloads) }),
  }
  return Object.keys(patch).length === 0 ? null : patch
}

function changes(before: Partial<WorkloadLimits>, after: WorkloadLimits): WorkloadLimitsPatch {
  const fields = ['cpus', 'memoryBytes', 'pids'] as const
  return Object.fromEntries(
    fields.filter((field) => (before[field] ?? null) !== after[field]).map((field) => [field, after[field]]),
  )
}
