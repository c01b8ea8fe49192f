import type { StopPolicy, WorkloadRef } from './workload.ts'

/** What an engine sees of one workload now. Derived from the machine, never from memory alone. */
export interface Observed {
  readonly ref: WorkloadRef
  readonly state: ObservedState
  /** Fingerprint of the workload that was started, so that a plan can see whether it is the wanted one. */
  readonly fingerprint: string
  /** When the present state began, RFC 3339 UTC. */
  readonly since: string
  /** Process id of the group leader while one runs. */
  readonly pid: number | null
  readonly ports: readonly { readonly name: string; readonly port: number; readonly hostPort: number }[]
  /** How the last run ended, when one has. */
  readonly lastExit: Exit | null
  /** Health by the workload's own check; `starting` until it first passes. */
  readonly health: 'starting' | 'healthy' | 'unhealthy' | 'none'
  /** For `waiting` and `unhealthy`: what is true and what to do. */
  readonly reason: string | null
  /** As it was started, for ending one without a description. */
  readonly title?: string
  readonly stop?: StopPolicy
  readonly dependsOn?: readonly string[]
  /** On an engine of images: what it was started from. `id` distinguishes one build of a tag from another. */
  readonly image?: { readonly reference: string; readonly id: string }
  /** What its limits did to the present run; absent while nothing. */
  readonly limited?: {
    /** How many of its processes were ended for their memory. */
    readonly outOfMemory: number
    /** Whether it wanted more processes than it may have. */
    readonly processes: boolean
  }
}

/** `waiting`: a required file is missing. `exited`: it ran and ended by itself. `stopped`: it was stopped by us, or never ran. */
export type ObservedState = 'running' | 'waiting' | 'exited' | 'stopped'

export interface Exit {
  /** Null when it ended by a signal or when it is unknown. */
  readonly code: number | null
  readonly signal: string | null
  /** RFC 3339 UTC. */
  readonly at: string
  /** It was killed because it used more memory than it may. */
  readonly outOfMemory?: true
  /** It wanted more processes than it may have, and failed. */
  readonly outOfProcesses?: true
}

export type EngineEvent =
  | { readonly type: 'started'; readonly ref: WorkloadRef; readonly pid: number }
  | { readonly type: 'healthy'; readonly ref: WorkloadRef }
  | { readonly type: 'unhealthy'; readonly ref: WorkloadRef; readonly reason: string }
  | { readonly type: 'exited'; readonly ref: WorkloadRef; readonly exit: Exit }
  /** Its limits did something to a run that goes on: `observe` says what. */
  | { readonly type: 'limited'; readonly ref: WorkloadRef }
  /** A required file appeared: the workload may be started now. */
  | { readonly type: 'unblocked'; readonly ref: WorkloadRef }
  /** The engine itself does not answer: nothing is known of any of its workloads until `reachable` says that it does again. */
  | { readonly type: 'unreachable'; readonly reason: string }
  | { readonly type: 'reachable' }

export interface LogLine {
  readonly ref: WorkloadRef
  /** RFC 3339 UTC with milliseconds: when the engine first saw it. */
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  /** Without its line end. Bytes that are not UTF-8 are replaced. */
  readonly text: string
  /**
   * Where reading may go on after this line; grows with the log, valid across restarts of the control plane. Opaque: ASCII
   * letters, digits, dots and hyphens.
   */
  readonly cursor: string
}

/** Lines that follow each other. */
export interface LogBatch {
  readonly lines: readonly LogLine[]
  /** The same lines for callers that handle millions of them; `lines` are then made when they are asked for. */
  readonly columns: LogColumns | null
}

/**
 * Lines of one workload as the bytes that the program printed, and numbers: the same place in each column is the same line.
 * An object for each line would cost more than all that is done with it.
 */
export interface LogColumns {
  readonly ref: WorkloadRef
  readonly length: number
  /** Of each line, which of `printed` it is in: 0 is stdout, 1 is stderr. */
  readonly streams: Uint8Array
  readonly printed: readonly [Printed, Printed]
  /** The line's text in those bytes, without its line end. */
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** When the engine first saw it, ms since 1970. */
  readonly times: Float64Array
  /** A line's cursor is `log.out.err`. */
  readonly log: string
  readonly outs: Float64Array
  readonly errs: Float64Array
}

export interface Printed {
  readonly bytes: Buffer
  /** A character for each byte, for searching: that is much faster than in bytes. */
  readonly latin1: string
  /** Every text in them is well-formed UTF-8 without quotes, backslashes and control characters: JSON takes it as it is. */
  readonly isPlain: boolean
}

export interface LogOptions {
  /** Only lines after this cursor. */
  readonly after?: string
  /** Only the last so many lines (before following). */
  readonly tail?: number
  /** RFC 3339: only lines of this time and later. Found by the engine's index, where it has one, not by reading. */
  readonly since?: string
  /** RFC 3339: only lines of this time and earlier. Not together with `follow`. */
  readonly until?: string
  /** Only lines up to and including the one of this cursor. Not together with `follow`. */
  readonly upTo?: string
  /** Go on with new lines until the signal aborts. */
  readonly follow?: boolean
}

/** What the run of a workload has used up to now. Counters grow while the run lasts; those of the next run begin anew. */
export interface Reading {
  readonly ref: WorkloadRef
  /** Equal for the same run. */
  readonly run: string
  readonly cpuSeconds: number
  readonly memoryBytes: number
  readonly processes: number
  /** From and to disks; null where the engine does not know, as below. */
  readonly readBytes: number | null
  readonly writtenBytes: number | null
  /** Over networks of its own. */
  readonly receivedBytes: number | null
  readonly sentBytes: number | null
}

export interface Sample {
  readonly ref: WorkloadRef
  /** RFC 3339 UTC. */
  readonly time: string
  /** Share of one core, 1 = one full core. Null in the first sample, which has nothing to compare with. */
  readonly cpu: number | null
  /** Resident bytes of the whole process group (proportional where the kernel reports it). */
  readonly memoryBytes: number
  readonly processes: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
}
