import type { Change, Step } from './change.ts'
import type { Commands } from './commands.ts'
import type { CopyDataOptions, CopyMethod, DataCopied, DataRef } from './copy-data.ts'
import type { EngineEvent, LogBatch, LogLine, LogOptions, Observed, Reading, Sample } from './observed.ts'
import type { PipedBytes } from './piped-bytes.ts'
import type { Toolchain, ToolchainQuery } from './toolchain.ts'
import type { SecretRef } from './value.ts'
import type { WorkloadRef } from './workload.ts'

/**
 * Something that runs workloads. It knows neither projects nor users nor requests; what it gets is complete.
 * Every promise ends promptly when its signal aborts. After a crash of the caller, `observe` alone is enough to carry on.
 */
export interface Engine {
  readonly id: EngineId
  /** Data, so that callers ask instead of trying and failing. */
  readonly capabilities: Capabilities
  /** Whether it is usable here; if not, what the person should do. */
  probe(signal: AbortSignal): Promise<Readiness>
  /** Programs of this machine that can run workloads. An engine of images answers an empty list. */
  toolchains(queries: readonly ToolchainQuery[], signal: AbortSignal): Promise<readonly Toolchain[]>
  /** Ids of projects of which this engine still holds anything (processes, run files, data): for orphans and clean-up. */
  projects(signal: AbortSignal): Promise<readonly string[]>
  observe(project: string, signal: AbortSignal): Promise<readonly Observed[]>
  /** Pure: the same change gives the same steps; touches nothing. */
  plan(change: Change): readonly Step[]
  /** Doing a step twice is the same as doing it once. Throws `EngineError`. */
  apply(step: Step, context: ApplyContext): Promise<void>
  /** Events of all projects of this engine from now on, until the signal aborts. */
  watch(signal: AbortSignal): AsyncIterable<EngineEvent>
  /** Lines of one workload, oldest first. Ends when there are no more, unless `follow`. */
  logs(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogLine>
  /**
   * The same in batches, without a promise for each of millions of lines. While following, an empty batch says that these
   * are all for now.
   */
  logBatches(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogBatch>
  /** Deletes the logs of a project that is gone. Those of a removed workload are kept until then, or until they are too old. */
  removeLogs(project: string, signal: AbortSignal): Promise<void>
  /** One sample for each running workload of a project. CPU is measured since the caller's previous call for that project. */
  stats(project: string, signal: AbortSignal): Promise<readonly Sample[]>
  /** One reading for each running workload of all projects, at little cost: of what does not run, nothing is looked at. */
  readings(signal: AbortSignal): Promise<readonly Reading[]>
  /** Where the proxy reaches a port of a workload that runs; null while it does not run. */
  address(ref: WorkloadRef, port: string): Promise<{ readonly host: string; readonly port: number } | null>
  /** Which program has a port of this machine right now, for error texts and leases; null when it is free. */
  portOwner(port: number, signal: AbortSignal): Promise<PortOwner | null>
  /** Names of the kept data of a project; quick, however much data there is. */
  dataNames(project: string, signal: AbortSignal): Promise<readonly string[]>
  /** Kept data of a project, with its size on disk, for which every file is looked at. */
  data(project: string, signal: AbortSignal): Promise<readonly { readonly name: string; readonly sizeBytes: number }[]>
  /**
   * Copies kept data to another name, for whoever runs the workloads there. Nothing may use either, unless `live`; refused if the target
   * exists. All of it or nothing, on the disk: after a failure, an abort or a crash the name is not there.
   */
  copyData(from: DataRef, to: DataRef, options: CopyDataOptions, signal: AbortSignal): Promise<DataCopied>
  /** How `copyData` copies data of this project, tried with a small file. */
  copyMethod(project: string, signal: AbortSignal): Promise<CopyMethod>
  /** Bytes that are free where kept data of this project lies, which may be another disk than the service's; null where nobody can say. */
  freeBytes(project: string, signal: AbortSignal): Promise<number | null>
  /**
   * Kept data as a tar archive of its folder (`./`, `./file`, …), while no workload uses it. Owners are numbers; modes, links and times are
   * kept, and holes where the engine sees them. Throws `engine_cannot` while it is in use (`retryable`) and when there is none; an
   * archive that could not be read to its end throws instead of ending.
   */
  readData(project: string, name: string, signal: AbortSignal): AsyncIterable<Buffer> & Partial<PipedBytes>
  /**
   * Makes kept data of such an archive, for whoever runs the workload; `engine_cannot` when there is some by that name. All of it or nothing: after
   * a failure, an abort or a crash the name is not there. Throws `invalid_archive` for an archive that is not whole or leads out of its
   * folder (see `checkedArchive`). A symbolic link may point anywhere, and nothing is written through one.
   */
  writeData(project: string, name: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /**
   * Data that was set aside: to `dataNames` it is gone, its name is free, its bytes are not touched. `key` is the caller's, safe as a file
   * name, and tells apart what was set aside of one name.
   */
  asides(project: string, signal: AbortSignal): Promise<readonly Aside[]>
  /**
   * Sets kept data aside at once, however much it is: all of it or, after a crash, nothing. Where nothing is left to be done it does nothing.
   * Throws `engine_cannot` while it is in use (`retryable`).
   */
  setDataAside(project: string, aside: Aside, signal: AbortSignal): Promise<void>
  /** The way back; done already is a success. Throws `engine_cannot` where other data has the name by now, and where there is nothing. */
  putDataBack(project: string, aside: Aside, signal: AbortSignal): Promise<void>
  /** Deletes what was set aside. */
  removeAside(project: string, aside: Aside, signal: AbortSignal): Promise<void>
  /** Its use of this machine apart from kept data and logs, for diagnostics. Only what this instance made. */
  usage(signal: AbortSignal): Promise<readonly EngineUsage[]>
  /** What people run in a project: actions, tests, terminals, single programs. */
  readonly commands: Commands
  /** Gives up watches and timers. Workloads and commands go on. */
  close(): Promise<void>
}

/** Kept data that was set aside: its name, and the key that its caller knows it by. */
export interface Aside {
  readonly name: string
  readonly key: string
}

/** The name of an engine in projects, and of its folder. No code decides by it: see `Capabilities`. */
export type EngineId = string

export interface Capabilities {
  /** Runs argv of this machine's programs. */
  readonly processes: boolean
  /** Runs images: programs name what they run in (`Container`). */
  readonly images: boolean
  readonly limits: boolean
  /** Where it could limit on another machine: what is missing on this one, and what to do. */
  readonly withoutLimits?: string
  readonly imageRollback: boolean
  readonly exec: boolean
  /**
   * Processes of a project besides its workloads that it finds, and so ends with them. `none`: nothing can be left. `apart`: all but what
   * people run. `all`: it cannot distinguish these from others, and ends them too.
   */
  readonly strays: 'none' | 'apart' | 'all'
  /**
   * It is a program besides the service, such as a daemon: it is asked by `probe` before a project is put on it, and anything may
   * fail with `engine_unavailable`. One that cannot be away is on every instance.
   */
  readonly mayBeAway: boolean
  /**
   * Everything that it finds was made by this instance, so strays without a project are ended when the service starts.
   * Elsewhere that is listed, and a person decides.
   */
  readonly exclusive: boolean
}

/** Capabilities of an engine on every machine, known without opening it. */
export type FixedCapabilities = Pick<Capabilities, 'processes' | 'images' | 'mayBeAway' | 'exclusive'>

export interface EngineUsage {
  readonly what: 'containers' | 'images' | 'volumes' | 'networks'
  readonly count: number
  /** Null where the engine does not report it. */
  readonly sizeBytes: number | null
}

export type Readiness =
  | { readonly ready: true; readonly detail: string; readonly warnings: readonly string[] }
  | { readonly ready: false; readonly reason: string; readonly hint: string }

export interface PortOwner {
  readonly pid: number | null
  /** Program name when it could be learnt. */
  readonly program: string | null
  /** Set when a workload of this engine holds it. */
  readonly ref: WorkloadRef | null
}

export interface ApplyContext {
  readonly signal: AbortSignal
  /** The text of a secret; called only inside `apply`. */
  reveal(ref: SecretRef): Promise<string>
  /** Output of jobs, as it comes, for the operation's stream. */
  output(chunk: { readonly stream: 'stdout' | 'stderr'; readonly text: string }): void
}
