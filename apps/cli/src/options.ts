import type { EngineName } from '@stackquay/contract'
import type { Command } from 'commander'
import { usageError } from './errors.ts'
import { defaultTimeout } from './finish-operation.ts'

export function addWaitOptions(command: Command): Command {
  return command
    .option('--no-wait', 'return as soon as the service has accepted it')
    .option(
      '--timeout <duration>',
      `how long to wait for the end (default: ${defaultTimeout}); the operation itself goes on`,
    )
}

/** For a catalogue: an engine of images offers what no program of the machine is needed for. */
export function addEngineOption(command: Command): Command {
  return command.option('-e, --engine <name>', `on this engine: ${engineNames} (default: what new projects get)`)
}

export interface EngineFlags {
  readonly engine?: string
}

export function engineQuery({ engine }: EngineFlags): { readonly query?: { readonly engine: EngineName } } {
  return engine === undefined ? {} : { query: { engine: readEngine(engine) } }
}

export function readEngine(name: string): EngineName {
  const engine = knownEngine(name)
  if (engine === undefined) throw usageError(`There is no engine "${name}": --engine takes ${engineNames}.`)
  return engine
}

/** Undefined for one that only a newer service knows. */
export function knownEngine(name: string): EngineName | undefined {
  return isEngine(name) ? name : undefined
}

/** The contract's list, which the compiler holds this against: no command loads the schemas for it. */
const engines: Readonly<Record<EngineName, true>> = { native: true, docker: true }
const engineNames = Object.keys(engines).join(' or ')

function isEngine(name: string): name is EngineName {
  return Object.hasOwn(engines, name)
}

export const projectArgument = 'id or slug; without it the project of this folder'

export function wholeNumber(text: string, name: string, low: number, high: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= low && value <= high))
    throw usageError(`${name} must be a whole number from ${low} to ${high}, and "${text}" is not.`)
  return value
}

/** For an option that can be given more than once. */
export function eachOf(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}

/**
 * Words before and behind `--`; null when there are no such dashes. Commander knows where they stood only by the command
 * line as it was typed.
 */
export function operandsAround(
  command: Command,
): readonly [before: readonly string[], behind: readonly string[] | null] {
  let root = command
  while (root.parent !== null) root = root.parent
  const typed = (root as Command & { readonly rawArgs: readonly string[] }).rawArgs
  const dashes = typed.indexOf('--')
  if (dashes === -1) return [command.args, null]
  const behind = typed.slice(dashes + 1)
  return [command.args.slice(0, command.args.length - behind.length), behind]
}
