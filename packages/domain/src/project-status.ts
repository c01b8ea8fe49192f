import type { OperationRecord, ProjectStatus, WorkloadStatus } from '@stackquay/contract'
import { memoryLimitOf, memoryText, type Observed, type Workload } from '@stackquay/engine-api'
import type { PartKind } from './resolve-parts.ts'
import { type Desired, nextWake, type SleepSpec } from './sleep.ts'

/** What the supervisor knows of a workload that keeps ending. */
export interface Supervision {
  readonly restarts: number
  /** RFC 3339; set while it waits for its next start. */
  readonly nextRestartAt: string | null
  /** It is not started again by itself. */
  readonly gaveUp: boolean
  readonly reason: string | null
  readonly logTail: readonly string[]
  /** It is being started by itself right now: what was seen of it last may be from before. */
  readonly starting?: boolean
}

export interface StatusFacts {
  readonly phase: 'creating' | 'ready' | 'deleting'
  readonly desired: Desired
  /** Since when it sleeps, and why; null while it does not. */
  readonly asleep?: Pick<NonNullable<ProjectStatus['asleep']>, 'since' | 'because'> | null
  /** When its hours wake it. */
  readonly sleep?: SleepSpec | undefined
  readonly operation: Pick<OperationRecord, 'kind'> | null
  readonly wanted: readonly (Pick<Workload, 'ref' | 'title' | 'ports'> & Partial<Pick<Workload, 'run'>>)[]
  readonly kinds: Readonly<Record<string, PartKind>>
  readonly observed: readonly Observed[]
  readonly supervision: Readonly<Record<string, Supervision>>
  /** What stands in the way of running it: toolchains that are gone, scripts that do not exist. */
  readonly blockers: readonly { readonly code: string; readonly detail: string; readonly hint: string }[]
  readonly since: string
  /** Set while the engine does not answer: then nothing is known, least of all that something stopped. */
  readonly unknown?: string | null
  /** It runs commands at times: without any workload it runs all the same. */
  readonly hasCron?: boolean
  /** The last change of the settings was not carried out: its operation failed or was cancelled. */
  readonly notApplied?: boolean
}

/** Pure: status is derived whenever it is asked for, never stored. */
export function projectStatus(facts: StatusFacts): ProjectStatus & { workloads: WorkloadStatus[] } {
  const workloads = facts.wanted.map((workload) => workloadStatus(workload, facts))
  return {
    state: projectState(facts, workloads),
    desired: facts.desired === 'stopped' ? 'stopped' : 'running',
    since: facts.since,
    health: healthOf(workloads),
    asleep: asleepOf(facts),
    warnings: [
      ...engineWarnings(facts),
      ...applyWarnings(facts),
      ...facts.blockers,
      ...workloads.flatMap(warningsOf),
      ...limitWarnings(facts),
    ],
    workloads,
  }
}

function asleepOf({ desired, asleep, sleep }: StatusFacts): ProjectStatus['asleep'] {
  if (desired !== 'sleeping' || asleep == null) return null
  const wakesAt = sleep === undefined ? null : nextWake(sleep, new Date(asleep.since))
  return { since: asleep.since, because: asleep.because, wakesAt: wakesAt?.toISOString() ?? null }
}

function engineWarnings({ unknown }: StatusFacts): ProjectStatus['warnings'] {
  if (unknown == null) return []
  return [
    {
      code: 'engine_unavailable',
      detail: unknown,
      hint: 'What is shown is from before. It is looked at again when the engine answers.',
    },
  ]
}

function applyWarnings({ notApplied }: StatusFacts): ProjectStatus['warnings'] {
  if (notApplied !== true) return []
  return [
    {
      code: 'not_applied',
      detail: 'The newest settings are not applied.',
      hint: 'Apply them, or revert to the settings that were applied last.',
    },
  ]
}

function workloadStatus(workload: StatusFacts['wanted'][number], facts: StatusFacts): WorkloadStatus {
  const name = workload.ref.workload
  const observed = facts.observed.find((one) => one.ref.workload === name)
  const supervision = facts.supervision[name]
  const state = workloadState(observed, supervision, facts)
  return {
    name,
    title: workload.title,
    kind: facts.kinds[name] ?? 'runtime',
    state,
    since: observed?.since ?? null,
    health: observed?.state === 'running' ? observed.health : 'none',
    pid: observed?.pid ?? null,
    ports: workload.ports.map(({ name: port, port: inside, hostPort }) => ({ name: port, port: inside, hostPort })),
    restarts: supervision?.restarts ?? 0,
    nextRestartAt: supervision?.nextRestartAt ?? null,
    lastExit: observed?.lastExit ?? null,
    reason: state === 'running' ? null : (observed?.reason ?? supervision?.reason ?? null),
    logTail: state === 'crashed' || state === 'backing-off' ? [...(supervision?.logTail ?? [])] : [],
  }
}

function workloadState(
  observed: Observed | undefined,
  supervision: Supervision | undefined,
  facts: StatusFacts,
): WorkloadStatus['state'] {
  if (facts.unknown != null) return 'unknown'
  const stopping = isStopping(facts) || facts.operation?.kind === 'delete'
  if (observed === undefined) return restState(undefined, supervision, facts)
  switch (observed.state) {
    case 'running':
      if (stopping) return 'stopping'
      if (observed.health === 'starting') return supervision?.gaveUp === true ? 'unhealthy' : 'starting'
      return observed.health === 'unhealthy' ? 'unhealthy' : 'running'
    case 'waiting':
      return 'waiting'
    case 'exited':
    case 'stopped':
      return restState(observed, supervision, facts)
    default:
      return observed.state satisfies never
  }
}

function restState(
  observed: Observed | undefined,
  supervision: Supervision | undefined,
  facts: StatusFacts,
): WorkloadStatus['state'] {
  if (supervision?.nextRestartAt != null) return 'backing-off'
  if (supervision?.gaveUp === true) return 'crashed'
  if (facts.desired !== 'running' || facts.operation !== null) return 'stopped'
  // It has just ended and nobody has decided yet.
  if (observed?.state === 'exited') return 'backing-off'
  return supervision?.starting === true ? 'starting' : 'stopped'
}

function projectState(facts: StatusFacts, workloads: readonly WorkloadStatus[]): ProjectStatus['state'] {
  if (facts.phase === 'deleting' || facts.operation?.kind === 'delete') return 'deleting'
  if (facts.phase === 'creating') return 'creating'
  if (facts.unknown != null) return 'unknown'
  const up = workloads.filter((workload) => workload.state === 'running')
  const going = workloads.filter((workload) => workload.state !== 'stopped' && workload.state !== 'crashed')
  if (isStopping(facts)) return 'stopping'
  if (facts.desired !== 'running') {
    if (going.length > 0) return facts.operation === null ? 'degraded' : 'stopping'
    return facts.desired
  }
  if (workloads.length === 0)
    return facts.blockers.length > 0 ? 'failed' : facts.hasCron === true ? 'running' : 'stopped'
  if (up.length === workloads.length && facts.blockers.length === 0)
    return facts.operation?.kind === 'restart' ? 'starting' : 'running'
  if (facts.operation !== null && facts.operation.kind !== 'update') return 'starting'
  if (workloads.some((workload) => workload.state === 'crashed'))
    return up.length === 0 || !someFront(workloads) ? 'failed' : 'degraded'
  // What an operation has not started yet is on its way up.
  const isComing = ({ state }: WorkloadStatus) =>
    state === 'starting' || (state === 'stopped' && facts.operation !== null)
  if (workloads.some(isComing) && !workloads.some((workload) => workload.state === 'backing-off')) return 'starting'
  if (up.length === 0 && workloads.every((workload) => workload.state === 'stopped')) return 'failed'
  return 'degraded'
}

function isStopping({ operation }: StatusFacts): boolean {
  return operation?.kind === 'stop' || operation?.kind === 'sleep'
}

/** Whether any runtime of the project still runs, or a worker where it has no server: a project of which only the database is up has failed. */
function someFront(workloads: readonly WorkloadStatus[]): boolean {
  const front = workloads.some(({ kind }) => kind === 'runtime') ? 'runtime' : 'worker'
  return workloads.some((workload) => workload.kind === front && workload.state === 'running')
}

function healthOf(workloads: readonly WorkloadStatus[]): ProjectStatus['health'] {
  const healths = workloads.map((workload) => workload.health)
  if (healths.includes('unhealthy')) return 'unhealthy'
  if (healths.includes('starting')) return 'starting'
  return healths.includes('healthy') ? 'healthy' : 'none'
}

function warningsOf(workload: WorkloadStatus): ProjectStatus['warnings'] {
  const detail = workload.reason
  switch (workload.state) {
    case 'waiting':
      return [
        {
          code: 'waiting',
          detail: `${workload.title} waits: ${detail ?? 'a file is missing'}`,
          hint: 'It starts by itself when the file is there.',
        },
      ]
    case 'unhealthy':
      return [
        {
          code: 'unhealthy',
          detail: `${workload.title} runs but does not answer its health check. ${detail ?? ''}`.trim(),
          hint: 'See its log.',
        },
      ]
    case 'backing-off':
      return [
        {
          code: 'backing_off',
          detail:
            `${workload.title} ended ${times(workload.restarts)} and is started again soon. ${detail ?? ''}`.trim(),
          hint: 'See its log.',
        },
      ]
    case 'crashed':
      return [
        {
          code: 'crashed',
          detail: `${workload.title} does not stay up. ${detail ?? ''}`.trim(),
          hint: 'Mend the cause that its log shows, then start the project.',
        },
      ]
    default:
      return []
  }
}

/** What limits did to programs that go on: a worker that was ended, a process that could not be made. */
function limitWarnings({ wanted, observed }: StatusFacts): ProjectStatus['warnings'] {
  return wanted.flatMap(({ ref, title, run }) => {
    const limited = observed.find((one) => one.ref.workload === ref.workload && one.state === 'running')?.limited
    if (limited === undefined) return []
    const memory = run === undefined ? null : memoryLimitOf(run)
    const most = (run?.container?.limits ?? run?.limits)?.pids ?? null
    const count = limited.outOfMemory
    const processes = count === 1 ? 'One process' : `${count} processes`
    const were = count === 1 ? 'was' : 'were'
    return [
      ...(count === 0
        ? []
        : [
            {
              code: 'out_of_memory',
              detail: `${title} runs, but memory ran out. ${processes} of it ${were} ended${memory === null ? '' : ` at its limit of ${memoryText(memory)}`}.`,
              hint: 'Raise its memory limit, or make it need less.',
            },
          ]),
      ...(limited.processes
        ? [
            {
              code: 'too_many_processes',
              detail: `${title} runs, but wanted more processes than it may have${most === null ? '' : `: its limit is ${most}`}.`,
              hint: 'See its log. If it needs so many, raise its limit of processes; else restart it.',
            },
          ]
        : []),
    ]
  })
}

function times(count: number): string {
  return count < 2 ? 'by itself' : `${count} times in a row`
}
