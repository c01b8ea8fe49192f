import { mkdir, readdir } from 'node:fs/promises'
import type {
  Exit,
  HealthCheck,
  PortBinding,
  RequiredFile,
  StopPolicy,
  Workload,
  WorkloadRef,
} from '@stackquay/engine-api'
import { readJson, writeJson } from './atomic-file.ts'
import { orNull } from './errors.ts'
import { type Home, isName, recordFile, runDir } from './home.ts'

/**
 * The record of one workload, kept as `run/<project>/<workload>.json`: enough to carry on after a crash, and free of
 * secrets. `starting` is written before the process exists, so that no process is ever started without a record.
 */
export interface RunRecord {
  readonly version: 1
  readonly ref: WorkloadRef
  readonly title: string
  readonly fingerprint: string
  readonly phase: Phase
  /** RFC 3339 UTC: since when the phase lasts. */
  readonly since: string
  readonly run: Run | null
  /** Whether the health check of this run passed once: then a failing check means `unhealthy`, not `starting`. */
  readonly wasHealthy: boolean
  readonly stop: StopPolicy
  /** Absent in records of the first release. */
  readonly dependsOn?: readonly string[]
  readonly ports: readonly PortBinding[]
  readonly health: HealthCheck
  readonly requires: readonly RequiredFile[]
  readonly data: readonly string[]
  readonly lastExit: Exit | null
}

export type Phase = 'waiting' | 'starting' | 'running' | 'stopping' | 'exited' | 'stopped'

export interface Run {
  /** Random; ends the run's marker and names its exit file. */
  readonly id: string
  readonly marker: string
  /** Names the run's log files. */
  readonly log: string
  /** The process, once it exists. A pid counts only together with its start time and the boot. */
  readonly process: { readonly pid: number; readonly startTime: string; readonly bootId: string } | null
}

export function newRecord(
  workload: Workload,
  phase: Phase,
  run: Run | null,
  before: RunRecord | null,
  now: Date,
): RunRecord {
  return {
    version: 1,
    ref: workload.ref,
    title: workload.title,
    fingerprint: workload.fingerprint,
    phase,
    since: now.toISOString(),
    run,
    wasHealthy: false,
    stop: workload.stop,
    dependsOn: workload.dependsOn,
    ports: workload.ports,
    health: workload.health,
    requires: workload.requires,
    data: workload.data.map((mount) => mount.name),
    lastExit: before?.lastExit ?? null,
  }
}

export async function readRecord(home: Home, ref: WorkloadRef): Promise<RunRecord | null> {
  const value = await readJson(recordFile(home, ref))
  return isRecord(value) ? value : null
}

export async function writeRecord(home: Home, record: RunRecord): Promise<void> {
  await mkdir(runDir(home, record.ref.project), { recursive: true, mode: 0o700 })
  await writeJson(recordFile(home, record.ref), record)
}

/** Workloads of a project that have a record, readable or not. */
export async function recordedWorkloads(home: Home, project: string): Promise<readonly WorkloadRef[]> {
  const names = (await orNull(readdir(runDir(home, project)))) ?? []
  return names
    .filter((name) => name.endsWith('.json') && isName(name.slice(0, -5)))
    .map((name) => ({ project, workload: name.slice(0, -5) }))
}

function isRecord(value: unknown): value is RunRecord {
  return typeof value === 'object' && value !== null && 'version' in value && value.version === 1 && 'phase' in value
}
