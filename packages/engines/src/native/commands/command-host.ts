import type { CommandContext, CommandRef, CommandSpec, EngineError } from '@stackquay/engine-api'
import type { Machine } from '../machine.ts'
import type { HolderAnswer } from './holder-spec.ts'

/** What commands stand on: where they are kept, and how a program comes to be held. The only difference between engines. */
export interface CommandHost extends Pick<Machine, 'home' | 'account' | 'table' | 'now'> {
  /** Checks all that can be checked before, and answers what a holder is told. What it makes is cleared away by `clear`. */
  prepare(spec: CommandSpec, context: CommandContext): Promise<PreparedCommand>
  /** Says why the holder could not start it. */
  cannotStart(spec: CommandSpec, failed: Extract<HolderAnswer, { failed: unknown }>['failed']): EngineError
  /** Ends and removes what a command without a holder has beside processes of this machine. Doing it twice is doing it once. */
  clear(ref: CommandRef, signal: AbortSignal): Promise<void>
  /** How much longer than the deadline of its stop policy a holder may take before it is ended itself. */
  readonly spareMs: number
}

export interface PreparedCommand {
  readonly program: PreparedProgram
  /** Where the program is no process of this machine: the module whose `startHeld` starts it, and what that is told. */
  readonly elsewhere: { readonly starter: string; readonly told: unknown } | null
}

export interface PreparedProgram {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Record<string, string>
}
