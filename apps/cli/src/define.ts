import type { Command } from 'commander'
import type { Context } from './context.ts'

/** Adds arguments, options, help and the action to a command. `context` is ready when the action runs. */
export type Define = (command: Command, context: () => Context) => void

/** The same for a command that tells about others: `stq help`. */
export type DefineInProgram = (command: Command, context: () => Context, program: Program) => void

export interface Program {
  readonly command: Command
  /** Commands with their arguments and options filled in, for help. */
  find(name: string): Promise<Command | null>
}

export interface CommandEntry {
  readonly name: string
  readonly args: string
  readonly summary: string
  readonly group: 'Projects' | 'Run' | 'Inside a project' | 'Network' | 'The service'
  /** Loaded when the command is called, so that none of them slows the others down. */
  readonly load: () => Promise<{ readonly define: DefineInProgram }>
}
