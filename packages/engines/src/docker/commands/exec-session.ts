import type { Socket } from 'node:net'
import type { CommandProgram, StopPolicy } from '@stackquay/engine-api'
import type { Exit } from '@stackquay/engine-api/observed'

export type ExecProgram = CommandProgram & { readonly project: string; readonly stop: StopPolicy }

/** A program that runs for one caller, in a container that runs already or in one of its own. */
export interface ExecSession {
  /** Its output in frames; what is written is its input, and ending the stream ends that alone. */
  readonly stream: Socket
  /** Its process as the daemon's machine numbers it; 0 when it had ended before it was asked for. */
  pid(): Promise<number>
  signal(name: NodeJS.Signals): void
  /** Of a program whose output has ended. Throws when it never ran. */
  exit(): Promise<Omit<Exit, 'at'>>
  /** Ends it, if need be, with all that it started. */
  end(policy: StopPolicy): Promise<void>
  /** Resolves when it has ended although its output goes on, because something it started holds that open. */
  lingers(signal: AbortSignal): Promise<void>
  /** Whether these bytes begin like an error of Docker's own; the program is then not to blame for them. */
  isComplaint(bytes: Buffer): boolean
  /** Called last, in any case. */
  dispose(): Promise<void>
}
