import type { Command } from 'commander'
import { usageError } from './errors.ts'
import { defaultTimeout } from './finish-operation.ts'

export function addWaitOptions(command: Command): Command {
  return command
    .option('--no-wait', 'return as soon as the service has taken it on')
    .option(
      '--timeout <duration>',
      `how long to wait for the end (default: ${defaultTimeout}); the operation itself goes on`,
    )
}

export const projectArgument = 'id or slug; without it the project of this folder'

export function wholeNumber(text: string, name: string, low: number, high: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= low && value <= high))
    throw usageError(`${name} must be a whole number from ${low} to ${high}, and "${text}" is not.`)
  return value
}

/** For an option that may be said more than once. */
export function eachOf(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}
