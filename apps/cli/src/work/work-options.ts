import type { Command } from 'commander'
import { addChangeOptions, type ChangeFlags } from '../change-project.ts'
import { usageError } from '../errors.ts'
import { operandsAround } from '../options.ts'

export interface WorkFlags extends ChangeFlags {
  readonly runtime?: string
  readonly on?: boolean
  readonly off?: boolean
}

/** What workers and cron jobs are set with alike. */
export function addWorkOptions(command: Command): Command {
  return addChangeOptions(command)
    .option('--runtime <name>', 'in whose place it runs (default: the first runtime)')
    .option('--on', 'switch it on')
    .option('--off', 'switch it off; its settings stay')
}

/** What is said of either; what is not said stays as it is. */
export function workSettings({ runtime, on, off }: WorkFlags) {
  if (on === true && off === true) throw usageError('--on and --off stand against each other.')
  return {
    ...(runtime === undefined ? {} : { runtime }),
    ...(on === true ? { enabled: true } : off === true ? { enabled: false } : {}),
  }
}

/** Words before `--`, and the command behind it. */
export function commandBehind(command: Command): {
  readonly before: readonly string[]
  readonly words: { readonly command?: string[] }
} {
  const [before, behind] = operandsAround(command)
  if (behind !== null && behind.length === 0) throw usageError('Which command? Write it after the two dashes.')
  return { before, words: behind === null ? {} : { command: [...behind] } }
}
