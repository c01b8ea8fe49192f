import type { Socket } from 'node:net'
import type { Exit } from './observed.ts'
import type { SecretRef, Value } from './value.ts'
import type { Container, DataMount, Limits, StopPolicy } from './workload.ts'

/**
 * A command is what a person runs in a project: an action, a test run, a terminal. Unlike a workload it ends, and is never
 * started again. A shim process outside the control plane holds it: it goes on while that is down, its output is kept in an
 * output log, and a reader that comes back goes on at its position.
 */
export interface CommandRef {
  /** Id of the project. */
  readonly project: string
  /** `run_…`, `term_…`: unique in the instance and safe as a file name. */
  readonly id: string
}

/** What a command is made of. */
export interface CommandProgram {
  /** argv, never a shell string. The first word is an absolute path. */
  readonly argv: readonly [string, ...string[]]
  /** Absolute. */
  readonly cwd: string
  readonly env: Readonly<Record<string, Value>>
  /** Kept data that values may name. */
  readonly data: readonly DataMount[]
  /** The container on an engine of images. */
  readonly container?: Container
  /** On an engine that runs programs of this machine and can limit them. */
  readonly limits?: Limits
  /** The workload whose container it may run in while that is up: quicker than one of its own. Only for `exec`. */
  readonly beside?: string
}

export interface CommandSpec extends CommandProgram {
  readonly ref: CommandRef
  /** With a terminal there is one stream, and programs see a TTY of this size; without, stdout and stderr are apart and stdin is empty. */
  readonly terminal: TerminalSize | null
  /** Ended after so long, also while the control plane is down. */
  readonly timeoutSeconds: number | null
  /** Ended when neither input nor output came for so long. */
  readonly idleSeconds: number | null
  /** How it is ended: the signal to its whole process group, SIGKILL at the deadline; nothing is left. */
  readonly stop: StopPolicy
  /** How much of its output is kept at most; the oldest goes first. */
  readonly keepBytes: number
}

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

export interface CommandState {
  readonly ref: CommandRef
  readonly state: 'running' | 'ended'
  readonly pid: number | null
  /** RFC 3339 UTC. */
  readonly startedAt: string
  readonly endedAt: string | null
  /** Set when it ended; code and signal are null when they are unknown (the machine restarted). */
  readonly exit: Exit | null
  /** Why it ended. `lost`: with its shim, or with the machine. */
  readonly cause: 'exited' | 'cancelled' | 'timeout' | 'idle' | 'lost' | null
  readonly size: TerminalSize | null
  /** Positions in its output: of the first byte that is still kept, and behind the last. */
  readonly output: { readonly first: number; readonly end: number }
}

/** A chunk of output. Text streams are cut between characters, never inside one. */
export interface CommandOutput {
  readonly stream: 'stdout' | 'stderr' | 'terminal'
  /** When it was read, ms since 1970. */
  readonly time: number
  readonly bytes: Buffer
  /** Position in front of this chunk and behind it. Reading goes on after `to`. With a terminal, positions count bytes of output. */
  readonly from: number
  readonly to: number
}

export interface Commands {
  /** Starting what was started already changes nothing. Throws `EngineError` when it cannot run (`program_not_found`, `io_failed` …). */
  start(spec: CommandSpec, context: CommandContext): Promise<void>
  find(ref: CommandRef): Promise<CommandState | null>
  /** Everything that is still held, running or ended, for clean-up after a crash. */
  list(signal: AbortSignal): Promise<readonly CommandRef[]>
  /**
   * Output after a position, oldest first, in batches. Begins with what is still kept when the position is older: then the
   * first chunk's `from` is larger than `after`. With `follow` it ends when the command has ended and all was read.
   * Throws `EngineError` `invalid_position` when nothing was ever answered with that position.
   */
  read(
    ref: CommandRef,
    options: { readonly after: number; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<readonly CommandOutput[]>
  /** Keystrokes for a terminal. Waits while the program does not take them. */
  write(ref: CommandRef, bytes: Uint8Array): Promise<void>
  resize(ref: CommandRef, size: TerminalSize): Promise<void>
  /** Ends it by its stop policy; resolves when no process of it is left. Ending what has ended is a success. */
  end(ref: CommandRef, signal: AbortSignal): Promise<void>
  /** Forgets an ended one and its output. Removing what is not there is a success. */
  remove(ref: CommandRef): Promise<void>
  /**
   * Runs a program for a caller that waits: what it prints is handed on as it comes, while the caller is slow the
   * program waits, and when the signal aborts it is ended. Nothing of it is kept.
   */
  exec(
    program: CommandProgram & { readonly project: string; readonly stop: StopPolicy },
    io: ExecIo,
    context: CommandContext,
  ): Promise<Exit>
}

export interface CommandContext {
  readonly signal: AbortSignal
  reveal(ref: SecretRef): Promise<string>
}

export interface ExecIo {
  /** Null: empty. */
  readonly stdin: AsyncIterable<Uint8Array> | null
  output(stream: 'stdout' | 'stderr', bytes: Buffer): Promise<void>
  /**
   * A pipe that the program may write its standard output into, past this process. An engine that can do that gives it to the program and
   * closes this process’s end; of one that cannot, `output` gets it as ever.
   */
  readonly pipe?: Socket
  /** Called once, with a way to send signals to the process group. */
  started?(process: { readonly pid: number; signal(name: NodeJS.Signals): void }): void
}
