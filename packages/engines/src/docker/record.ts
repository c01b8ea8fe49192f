import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  Exit,
  HealthCheck,
  PortBinding,
  RequiredFile,
  StopPolicy,
  Workload,
  WorkloadRef,
} from '@stackquay/engine-api'
import { readJson, writeJson } from '../native/atomic-file.ts'
import { type Home, recordFile, runDir, safe } from '../native/home.ts'

/**
 * The start of a workload, in a label of its container: enough to recognise and to end it when all else is lost. Free
 * of secrets.
 */
export interface Description {
  readonly fingerprint: string
  readonly title: string
  readonly stop: StopPolicy
  readonly dependsOn: readonly string[]
  readonly health: HealthCheck
  readonly ports: readonly PortBinding[]
  readonly requires: readonly RequiredFile[]
  /** As the workload names it. */
  readonly image: string
  /** How the run before this one ended. */
  readonly lastExit: Exit | null
}

/**
 * What Docker does not know: that a workload waits, and which container's end was wanted. Written before the act, so that an
 * end by us is never taken for a crash.
 */
export interface RunRecord {
  readonly version: 1
  readonly ref: WorkloadRef
  readonly phase: 'waiting' | 'started' | 'stopping' | 'stopped'
  /** RFC 3339 UTC: since when the phase lasts. */
  readonly since: string
  /** Id of the container that it is about. */
  readonly container: string | null
  readonly description: Description
  readonly lastExit: Exit | null
}

export function describe(workload: Workload, image: string, lastExit: Exit | null): Description {
  const { fingerprint, title, stop, dependsOn, health, ports, requires } = workload
  return { fingerprint, title, stop, dependsOn, health, ports, requires, image, lastExit }
}

export function parseDescription(text: string | undefined): Description | null {
  try {
    const value = JSON.parse(text ?? 'null') as unknown
    return typeof value === 'object' && value !== null && 'fingerprint' in value ? (value as Description) : null
  } catch {
    return null
  }
}

export async function readRecord(home: Home, ref: WorkloadRef): Promise<RunRecord | null> {
  const value = await readJson(recordFile(home, ref))
  const isRecord = typeof value === 'object' && value !== null && 'version' in value && value.version === 1
  return isRecord ? (value as RunRecord) : null
}

export async function writeRecord(home: Home, record: RunRecord): Promise<void> {
  await mkdir(runDir(home, record.ref.project), { recursive: true, mode: 0o700 })
  await writeJson(recordFile(home, record.ref), record)
}

/** Which build of an image a workload and its jobs use: the name alone may mean another one tomorrow. */
export interface ImageChoice {
  readonly reference: string
  readonly id: string
}

const choiceFile = (home: Home, ref: WorkloadRef) => join(runDir(home, ref.project), `${safe(ref.workload)}.image`)

export async function readChoice(home: Home, ref: WorkloadRef): Promise<ImageChoice | null> {
  const value = await readJson(choiceFile(home, ref))
  return typeof value === 'object' && value !== null && 'reference' in value ? (value as ImageChoice) : null
}

export async function writeChoice(home: Home, ref: WorkloadRef, choice: ImageChoice): Promise<void> {
  await mkdir(runDir(home, ref.project), { recursive: true, mode: 0o700 })
  await writeJson(choiceFile(home, ref), choice)
}

export async function removeChoice(home: Home, ref: WorkloadRef): Promise<void> {
  await rm(choiceFile(home, ref), { force: true })
}
