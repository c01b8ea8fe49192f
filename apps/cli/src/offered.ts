import type { CallResult, OfferedRuntime } from '@stackquay/contract'
import type { Context } from './context.ts'
import { CliError, usageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { nearest } from './nearest.ts'

export type OfferedService = CallResult<'listServices'>['items'][number]
/** What a project can be made of and has settings for: a runtime or a service. */
export type OfferedKind = OfferedRuntime | OfferedService

export async function offeredServices(context: Context): Promise<readonly OfferedService[]> {
  const client = await context.client()
  const { items } = await client.call('listServices', {}, { signal: context.signal })
  return items
}

export async function offeredRuntimes(context: Context): Promise<readonly OfferedRuntime[]> {
  const client = await context.client()
  const { runtimes } = await client.call('listRuntimes', {}, { signal: context.signal })
  return runtimes
}

/** A service of the catalogue that a project has at most one of; databases have names and commands of their own. */
export async function offeredService(context: Context, name: string): Promise<OfferedService> {
  const items = await offeredServices(context)
  const found = kindNamed(items, name, 'service', 'stq services')
  if (found.kind === 'service') return found
  throw usageError(`"${name}" is a database, and a project can have several of it.`, 'See: stq db --help')
}

/** The same, when it is one with secrets of its own. */
export async function serviceWithCredentials(context: Context, name: string): Promise<OfferedService> {
  const service = await offeredService(context, name)
  if (service.hasCredentials) return service
  throw new CliError(`${service.label} has no credentials.`, {
    exitCode: exitCodes.notFound,
    ...(service.injects.length === 0 ? {} : { hint: `Runtimes receive ${service.injects.join(', ')}.` }),
  })
}

export async function offeredRuntime(context: Context, name: string): Promise<OfferedRuntime> {
  return kindNamed(await offeredRuntimes(context), name, 'runtime', 'stq runtimes')
}

export function kindNamed<Kind extends OfferedKind>(
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

function aliasesOf(item: OfferedKind): readonly string[] {
  return 'aliases' in item ? item.aliases : []
}
