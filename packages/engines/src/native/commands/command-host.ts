import type { CommandContext, CommandRef, CommandSpec, EngineError } from '@stackquay/engine-api'
import type { Account } from '../account.ts'
import type { ControlGroup } from '../isolation/control-groups.ts'
import type { Machine } from '../machine.ts'
import type { Suspects } from '../marker.ts'
import type { ShimAnswer } from './shim-spec.ts'

/** What commands need: where they are kept, and how a program comes to be held. The only difference between engines. */
export interface CommandHost extends Pick<Machine, 'home' | 'table' | 'now'> {
  /** Forgets the control groups of an ended command; false when that of an ending shim stays until the next time. */
  removeGroups(ref: CommandRef): boolean
  /** Where the shim itself is put, apart from what the project started. Empty where there are no control groups. */
  shimGroups(ref: CommandRef): readonly string[]
  /** Among whose processes those of a project's commands are. */
  suspects(project: string): Suspects
  /** In which everything of a command is; null where there is none. */
  group(ref: CommandRef): ControlGroup | null
  /** Checks all that can be checked before, and answers what a shim gets. What it makes is cleared away by `clear`. */
  prepare(spec: CommandSpec, context: CommandContext): Promise<PreparedCommand>
  /** Says why the shim could not start it. */
  cannotStart(spec: CommandSpec, failed: Extract<ShimAnswer, { failed: unknown }>['failed']): EngineError
  /** Ends and removes what a command without a shim has beside processes of this machine. Doing it twice is doing it once. */
  clear(ref: CommandRef, signal: AbortSignal): Promise<void>
  /** How much longer than the deadline of its stop policy a shim may take before it is ended itself. */
  readonly spareMs: number
}

export interface PreparedCommand {
  readonly program: PreparedProgram
  /** The user that the shim becomes when it has started the program; null: it keeps its own. */
  readonly user: Account | null
  readonly signalsAreCodes: boolean
  /** Where its control group counts what was ended for its memory; null where there is none. */
  readonly memoryEvents: string | null
  /** Where the program is no process of this machine: the module whose `startProgram` starts it, and what that gets. */
  readonly elsewhere: { readonly starter: string; readonly shimSpec: unknown } | null
}

export interface PreparedProgram {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Record<string, string>
}
