import type { CallResult, EngineName, OfferedRuntime } from '@stackquay/contract'
import type { Context } from './context.ts'
import { CliError, usageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { nearest } from './nearest.ts'
import { knownEngine } from './options.ts'

export type OfferedService = CallResult<'listServices'>['items'][number]
/** What a project can be made of and has settings for: a runtime or a service. */
export type OfferedType = OfferedRuntime | OfferedService

/** The engine that a project runs on: what can be had in it is what is offered there. */
export async function engineOf(context: Context, project: string): Promise<string> {
  const client = await context.client()
  const { engine } = await client.call('getProject', { params: { id: project } }, { signal: context.signal })
  return engine
}

/** Where offers are asked for; null is the engine that new projects get. */
export function ofEngine(engine: string | null): { readonly query?: { readonly engine: EngineName } } {
  const known = engine === null ? undefined : knownEngine(engine)
  return known === undefined ? {} : { query: { engine: known } }
}

export async function offeredServices(context: Context, engine: string | null): Promise<readonly OfferedService[]> {
  const client = await context.client()
  const { items } = await client.call('listServices', ofEngine(engine), { signal: context.signal })
  return items
}

export async function offeredRuntimes(context: Context, engine: string | null): Promise<readonly OfferedRuntime[]> {
  const client = await context.client()
  const { runtimes } = await client.call('listRuntimes', ofEngine(engine), { signal: context.signal })
  return runtimes
}

/** A service of the catalogue that a project has at most one of; databases have names and commands of their own. */
export async function offeredService(context: Context, project: string, name: string): Promise<OfferedService> {
  return offeredServiceOn(context, await engineOf(context, project), name)
}

export async function offeredServiceOn(context: Context, engine: string, name: string): Promise<OfferedService> {
  const items = await offeredServices(context, engine)
  const found = typeNamed(items, name, 'service', 'stq services')
  if (found.kind === 'service') return found
  throw usageError(`"${name}" is a database, and a project can have several of it.`, 'See: stq db --help')
}

/** The same, when it is one with secrets of its own. */
export async function serviceWithCredentials(context: Context, project: string, name: string): Promise<OfferedService> {
  const service = await offeredService(context, project, name)
  if (service.hasCredentials) return service
  throw new CliError(`${service.label} has no credentials.`, {
    exitCode: exitCodes.notFound,
    ...(service.injects.length === 0 ? {} : { hint: `Runtimes receive ${service.injects.join(', ')}.` }),
  })
}

export async function offeredRuntime(context: Context, engine: string | null, name: string): Promise<OfferedRuntime> {
  return typeNamed(await offeredRuntimes(context, engine), name, 'runtime', 'stq runtimes')
}

export function typeNamed<Kind extends OfferedType>(
  items: readonly Kind[],
  name: string,
  what: string,
  list: string,
): Kind {
  const found = items.find((item) => item.name === name || aliasesOf(item).includes(name))
  if (found !== undefined) return found
  const near = nearest(
    name,
    items.flatMap((item) => [item.name, ...aliasesOf(item)]),
  )
  throw new CliError(`There is no ${what} "${name}".`, {
    exitCode: exitCodes.notFound,
    hint: near === null ? `See: ${list}` : `Did you mean "${near}"? All of them: ${list}`,
  })
}

function aliasesOf(item: OfferedType): readonly string[] {
  return 'aliases' in item ? item.aliases : []
}
