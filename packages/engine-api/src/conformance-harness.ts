import type { Engine } from './engine.ts'
import type { ProcessRun } from './workload.ts'

/** A machine on which the conformance suite tries an engine. */
export interface Harness {
  /** Each call gives another instance over the same machine. */
  open(): Promise<Engine>
  /** Absolute, empty, readable by workloads. */
  readonly directory: string
  readonly programs: HarnessPrograms
  readonly commands: HarnessCommands
  freePort(): Promise<number>
  /** What programs listen on inside their containers; absent where that is the port of the machine. */
  listenPort?(): number
  addFile(path: string): Promise<void>
  /** A program that belongs to no workload takes the port. */
  holdPort(port: number): Promise<{ readonly pid: number; readonly program: string; release(): Promise<void> }>
  /** Everything the engine wrote down that outlives it, without logs. */
  keptTexts(): Promise<readonly string[]>
  /** Processes of this machine's workloads that still live. */
  leftovers(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Programs that exist on that machine. */
export interface HarnessPrograms {
  /** Answers 200 to every HTTP request on the port in `PORT`. */
  serve(): ProcessRun
  /** Prints lines and ends. */
  exit(code: number, lines: readonly string[]): ProcessRun
  /** Runs for ever and prints nothing. */
  hang(): ProcessRun
  /** Prints the value of a variable as JSON in one line, and runs on. */
  print(variable: string): ProcessRun
  /** Runs for ever, but listens nowhere. */
  neverListen(): ProcessRun
  /** Is not installed. */
  missing(): ProcessRun
}

/** Programs that are run as commands. */
export interface HarnessCommands {
  /** Prints `line 0` and so on, each in a line. */
  count(lines: number): ProcessRun
  /** Prints `out` to stdout, then `err` to stderr. */
  both(): ProcessRun
  /** Ends by that signal. */
  signal(name: NodeJS.Signals): ProcessRun
  /** Prints `ready`, and ignores SIGTERM and SIGHUP, as its children do. */
  stubborn(): ProcessRun
  /** Copies stdin to stdout. */
  copy(): ProcessRun
  /** Writes so many bytes, 0 to 255 again and again. */
  bytes(count: number): ProcessRun
  /** Prints `terminal 80x24` or `no terminal`, again after each change of size, and runs on. */
  terminal(): ProcessRun
}
