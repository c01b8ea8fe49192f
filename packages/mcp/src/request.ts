import type { AgentAct, AgentTool } from '@stackquay/contract/agent-tools'
import { argumentsOf, inputSchemaOf, isText, operationOf } from './arguments.ts'
import type { ApiRequest } from './caller.ts'

export type Arguments = Readonly<Record<string, unknown>>

/** Arguments that the tool cannot be called with; the text says what is wrong, and what would be right. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError'
}

/** How long a call waits for the end of what it began, when nothing else is said. Clients give up after a minute. */
export const usualWait = 30

/** Which act is meant. Throws for arguments that the tool does not have. */
export function actOf(tool: AgentTool, args: Arguments): { readonly name: string; readonly act: AgentAct } {
  const { properties } = inputSchemaOf(tool)
  for (const name of Object.keys(args)) {
    if (Object.hasOwn(properties, name)) continue
    throw new ArgumentError(`${tool.name} has no argument "${name}". It takes: ${Object.keys(properties).join(', ')}.`)
  }
  const names = Object.keys(tool.acts)
  const chosen = tool.selector === undefined ? names[0]! : String(args[tool.selector])
  const act = Object.hasOwn(tool.acts, chosen) ? tool.acts[chosen] : undefined
  if (act !== undefined) return { name: chosen, act }
  throw new ArgumentError(`"${tool.selector}" must be one of: ${names.join(', ')}.`)
}

/** The request of the API. What its content is worth, the API says; here is only looked at what decides where it goes. */
export function requestOf(tool: AgentTool, act: AgentAct, args: Arguments): ApiRequest {
  const operation = operationOf(act.operation)
  const parts: Record<'params' | 'query' | 'body', Record<string, unknown>> = { params: {}, query: {}, body: {} }
  const known = argumentsOf(act)
  for (const { name, field, place, required } of known) {
    const value = args[name]
    if (value === undefined || value === null) {
      if (required) throw new ArgumentError(`${tool.name} needs "${name}"${chosenText(tool, args)}.`)
      continue
    }
    if (place !== 'body' && typeof value === 'object') throw new ArgumentError(`"${name}" must be a text or a number.`)
    // A part of a path, and no way out of it.
    if (place === 'params' && /^\.{0,2}$/.test(String(value))) throw new ArgumentError(`"${name}" is no name.`)
    parts[place][field] = place === 'body' ? value : String(value)
  }
  refuseOthers(
    tool,
    act,
    args,
    known.map(({ name }) => name),
  )
  Object.assign(parts.body, act.fixed)
  if (takesWait(act) && parts.query.wait === undefined) parts.query.wait = String(usualWait)
  const headers = act.ifMatch === undefined ? {} : { 'if-match': ifMatchOf(tool, act.ifMatch, args) }
  const body = bodyOf(tool, act, args, parts.body)
  return {
    operation: operation.id as ApiRequest['operation'],
    params: parts.params as Record<string, string>,
    query: parts.query as Record<string, string>,
    ...(body === undefined ? {} : { body }),
    headers: { ...headers, ...(isText(act) && act.ifMatch === undefined ? { 'if-none-match': '*' } : {}) },
  }
}

export function takesWait({ operation }: AgentAct): boolean {
  return 'wait' in ((operationOf(operation).query as { shape?: object } | undefined)?.shape ?? {})
}

function bodyOf(tool: AgentTool, act: AgentAct, args: Arguments, fields: Record<string, unknown>): unknown {
  if (act.body === undefined) return Object.keys(fields).length === 0 ? undefined : fields
  const { argument, merged } = act.body
  const value = args[argument]
  if (value === undefined && merged === true) return fields
  if (isText(act)) {
    if (typeof value === 'string') return value
    throw new ArgumentError(`${tool.name} needs "${argument}" as a text${chosenText(tool, args)}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ArgumentError(`"${argument}" must be an object.`)
  return merged === true ? { ...value, ...fields } : value
}

function ifMatchOf(tool: AgentTool, argument: string, args: Arguments): string {
  const value = args[argument]
  if (typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value)) return `"${value}"`
  throw new ArgumentError(`${tool.name} needs "${argument}"${chosenText(tool, args)}: read it first.`)
}

/** An argument of another act would be left out without a word. */
function refuseOthers(tool: AgentTool, act: AgentAct, args: Arguments, names: readonly string[]): void {
  const mine = new Set([...names, tool.selector, act.body?.argument, act.ifMatch, ...Object.keys(tool.own ?? {})])
  const strange = Object.keys(args).find((name) => !mine.has(name) && args[name] !== undefined)
  if (strange !== undefined) throw new ArgumentError(`"${strange}" is no argument${chosenText(tool, args)}.`)
}

function chosenText({ selector }: AgentTool, args: Arguments): string {
  return selector === undefined ? '' : ` for ${selector} ${String(args[selector])}`
}
