import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import type { CronPatch, FieldError, ProjectPatch, WorkerPatch } from '@stackquay/contract'
import { scheduleBlocker } from './backup-schedule.ts'
import { readCommand } from './command-line.ts'
import { timeLimitSeconds } from './cron.ts'
import type { CronSpec, ProjectSpec, WorkerSpec } from './spec.ts'

/** Of each, in a project. */
const most = 20
const longestHours = 24
/** Whether a pattern names times at all is asked from here: the same settings are right or wrong whenever they are sent. */
const anyMoment = new Date('2026-01-01T00:00:00Z')

type Map<Value> = Readonly<Record<string, Value>>

/** The settings of a project after a patch, with its workers and cron jobs. What an entry of the patch does not say stays. */
export function mergeWorkers(spec: ProjectSpec, patch: ProjectPatch, errors: FieldError[]): ProjectSpec {
  if (patch.workers === undefined && patch.cron === undefined) return spec
  const { workers: oldWorkers = {}, cron: oldCron = {}, ...rest } = spec
  const workers = merged(oldWorkers, patch.workers, 'workers', errors, (pointer, before, sent) =>
    mergeWorker(pointer, before, sent, errors),
  )
  const cron = merged(oldCron, patch.cron, 'cron', errors, (pointer, before, sent) =>
    mergeCron(pointer, before, sent, errors),
  )
  for (const name of Object.keys(patch.workers ?? {}))
    if (Object.hasOwn(spec.addons ?? {}, name) && !Object.hasOwn(oldWorkers, name))
      errors.push(taken(`/workers/${name}`, name, 'an addon of the project'))
  for (const name of Object.keys(patch.cron ?? {}))
    if (Object.hasOwn(workers, name) && Object.hasOwn(cron, name))
      errors.push(taken(`/cron/${name}`, name, 'a worker of the project'))
  for (const name of Object.keys(patch.workers ?? {}))
    if (Object.hasOwn(workers, name) && Object.hasOwn(oldCron, name) && Object.hasOwn(cron, name))
      errors.push(taken(`/workers/${name}`, name, 'a cron job of the project'))
  return {
    ...rest,
    ...(Object.keys(workers).length === 0 ? {} : { workers }),
    ...(Object.keys(cron).length === 0 ? {} : { cron }),
  }
}

function merged<Spec, Patch>(
  before: Map<Spec>,
  sent: Map<Patch | null> | null | undefined,
  field: 'workers' | 'cron',
  errors: FieldError[],
  merge: (pointer: string, before: Spec | undefined, sent: Patch) => Spec | null,
): Map<Spec> {
  if (sent === undefined) return before
  if (sent === null) return {}
  const entries = new globalThis.Map(Object.entries(before))
  for (const [name, change] of Object.entries(sent)) {
    const pointer = `/${field}/${name}`
    if (change === null) {
      entries.delete(name)
      continue
    }
    const old = entries.get(name)
    if (old === undefined) errors.push(...nameFaults(pointer, name))
    const next = merge(pointer, old, change)
    if (next !== null) entries.set(name, next)
  }
  if (entries.size > most && entries.size > Object.keys(before).length)
    errors.push({
      pointer: `/${field}`,
      code: 'too_many',
      detail: `A project has at most ${most} ${field === 'workers' ? 'workers' : 'cron jobs'}.`,
    })
  return Object.fromEntries(entries)
}

/** Names that other workloads have or could get: a worker must not stand in the way of a service that is added later. */
function nameFaults(pointer: string, name: string): readonly FieldError[] {
  const holder = holderOf(name)
  if (holder !== null) return [taken(pointer, name, holder)]
  if (/-\d+$/.test(name))
    return [
      {
        pointer,
        code: 'reserved_name',
        detail: `"${name}" ends with a number, as the instances of workers do. Choose another name.`,
      },
    ]
  return []
}

function holderOf(name: string): string | null {
  const runtime = runtimeTypes.find((kind) => name === kind.name || name === `${kind.name}-dev`)
  if (runtime !== undefined) return `the runtime ${runtime.label}`
  const service = serviceTypes.find((kind) => name === kind.name)
  if (service !== undefined) return `the service ${service.label}`
  const database = databaseTypes.find((kind) => name === kind.name || name.startsWith(`${kind.name}-`))
  if (database !== undefined) return `databases of ${database.label}`
  return name === 'project' ? 'the project itself' : null
}

function taken(pointer: string, name: string, holder: string): FieldError {
  return { pointer, code: 'name_taken', detail: `The name "${name}" is that of ${holder}. Choose another one.` }
}

function mergeWorker(
  pointer: string,
  before: WorkerSpec | undefined,
  sent: WorkerPatch,
  errors: FieldError[],
): WorkerSpec | null {
  const command = commandOf(pointer, before?.command, sent.command, errors)
  if (command === null) return null
  return {
    command,
    count: sent.count ?? before?.count ?? 1,
    runtime: sent.runtime === undefined ? (before?.runtime ?? null) : sent.runtime,
    ...switched(before, sent.enabled),
  }
}

function mergeCron(
  pointer: string,
  before: CronSpec | undefined,
  sent: CronPatch,
  errors: FieldError[],
): CronSpec | null {
  const command = commandOf(pointer, before?.command, sent.command, errors)
  const schedule = sent.schedule ?? before?.schedule
  if (schedule === undefined)
    errors.push({
      pointer: `${pointer}/schedule`,
      code: 'required',
      detail: 'Say when it runs, such as "0 3 * * *": at three in the night.',
    })
  if (command === null || schedule === undefined) return null
  const timezone = sent.timezone ?? before?.timezone ?? 'UTC'
  const timeLimit = sent.timeLimit ?? before?.timeLimit ?? '1h'
  if (before === undefined || schedule !== before.schedule || timezone !== before.timezone) {
    const blocker = scheduleBlocker({ cron: schedule, timezone }, anyMoment)
    if (blocker !== null) {
      const field = blocker.field === 'cron' ? 'schedule' : 'timezone'
      errors.push({ pointer: `${pointer}/${field}`, code: 'invalid', detail: blocker.detail })
    }
  }
  if (timeLimitSeconds(timeLimit) > longestHours * 3600)
    errors.push({ pointer: `${pointer}/timeLimit`, code: 'too_big', detail: `At most ${longestHours}h.` })
  return {
    schedule,
    timezone,
    command,
    timeLimit,
    overlap: sent.overlap ?? before?.overlap ?? 'skip',
    runtime: sent.runtime === undefined ? (before?.runtime ?? null) : sent.runtime,
    ...switched(before, sent.enabled),
  }
}

/** Whoever says that it is on or off has decided about the copy. */
function switched(
  before: Pick<WorkerSpec, 'enabled' | 'copied'> | undefined,
  sent: boolean | undefined,
): Pick<WorkerSpec, 'enabled' | 'copied'> {
  const enabled = sent ?? before?.enabled ?? true
  const stays = before?.copied === true && !enabled
  return { enabled, ...(stays ? { copied: true } : {}) }
}

function commandOf(
  pointer: string,
  before: readonly string[] | undefined,
  sent: string | readonly string[] | undefined,
  errors: FieldError[],
): readonly string[] | null {
  if (sent === undefined) {
    if (before === undefined)
      errors.push({ pointer: `${pointer}/command`, code: 'required', detail: 'Say which command it runs.' })
    return before ?? null
  }
  const read = readCommand(sent)
  if (read.ok) return read.words
  errors.push({ pointer: `${pointer}/command`, code: 'invalid_command', detail: read.detail })
  return null
}

/** The settings of a copy of a project: what acts by itself is off there, until somebody wants it beside the original. */
export function withWorkOff(spec: ProjectSpec): ProjectSpec {
  const off = <Work extends { readonly enabled: boolean; readonly copied?: true }>(all: Map<Work>): Map<Work> =>
    Object.fromEntries(
      Object.entries(all).map(([name, work]) => [
        name,
        work.enabled ? { ...work, enabled: false, copied: true } : work,
      ]),
    )
  return {
    ...spec,
    ...(spec.workers === undefined ? {} : { workers: off(spec.workers) }),
    ...(spec.cron === undefined ? {} : { cron: off(spec.cron) }),
  }
}

/** Names of what is off because the project is a copy. */
export function workOff({ workers = {}, cron = {} }: Pick<ProjectSpec, 'workers' | 'cron'>): {
  readonly workers: readonly string[]
  readonly cron: readonly string[]
} {
  const off = (all: Map<{ readonly copied?: true }>) =>
    Object.entries(all).flatMap(([name, { copied }]) => (copied === true ? [name] : []))
  return { workers: off(workers), cron: off(cron) }
}
