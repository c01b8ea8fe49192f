import type { CopyMethod } from './copy-data.ts'
import type { RunningFakeCommand } from './fake-command.ts'
import { createFakeImages, type FakeImages } from './fake-images.ts'
import type { Exit, LogLine, Observed } from './observed.ts'
import type { Workload, WorkloadRef } from './workload.ts'

/** The pretended machine: what stays when an engine over it is closed or dropped, as processes and files do. */
export interface FakeMachine {
  readonly workloads: Map<string, FakeWorkload>
  /** Names of finished jobs: `<project>/<workload>/<job>` to their fingerprint. */
  readonly jobs: Map<string, string>
  /** Existing files, for `requires`. */
  readonly files: Set<string>
  /** Ports of programs that belong to no project. */
  readonly foreignPorts: Map<number, { readonly pid: number; readonly program: string }>
  /** Kept data: `<project>/<name>` to its size. */
  readonly data: Map<string, number>
  /** Of kept data that was written: `<project>/<name>` to its archive. */
  readonly archives: Map<string, Buffer>
  /** Kept data that was set aside: `<project>/<name>@<key>` to its size and, where it was written, its archive. */
  readonly asides: Map<string, { readonly sizeBytes: number; readonly archive: Buffer | undefined }>
  /** Commands: `<project>/<id>`. */
  readonly commands: Map<string, RunningFakeCommand>
  /** Called after anything happened to a command. */
  readonly commandListeners: Set<() => void>
  /** Logs, also of workloads that were removed: `<project>/<workload>`. */
  readonly logs: Map<string, LogLine[]>
  readonly images: FakeImages
  /** What its disk can do. */
  copyMethod: CopyMethod
  /** Of its disk; null: it cannot say. */
  freeBytes: number | null
  nextPid: number
  nextCursor: number
}

export interface FakeWorkload {
  readonly workload: Workload
  state: Observed['state']
  health: Observed['health']
  reason: string | null
  pid: number | null
  since: string
  lastExit: Exit | null
  /** The environment as the program got it, secrets revealed. */
  env: Readonly<Record<string, string>>
  readonly log: LogLine[]
  image?: NonNullable<Observed['image']>
}

export function createFakeMachine(): FakeMachine {
  return {
    workloads: new Map(),
    jobs: new Map(),
    files: new Set(),
    foreignPorts: new Map(),
    data: new Map(),
    archives: new Map(),
    asides: new Map(),
    logs: new Map(),
    commands: new Map(),
    commandListeners: new Set(),
    images: createFakeImages(),
    copyMethod: 'copy-on-write',
    freeBytes: null,
    nextPid: 1000,
    nextCursor: 1,
  }
}

export const keyOf = (ref: WorkloadRef): string => `${ref.project}/${ref.workload}`
