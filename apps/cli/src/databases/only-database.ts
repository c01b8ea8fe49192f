import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** The one database that a project has. */
export async function onlyDatabase(context: Context, id: string): Promise<string> {
  const client = await context.client()
  const { items } = await client.call('listDatabases', { params: { id } }, { signal: context.signal })
  if (items.length > 1) throw usageError('Which database?', `One of: ${items.map((item) => item.name).join(', ')}`)
  if (items[0] !== undefined) return items[0].name
  const hint = `Add one with: stq db create ${id} <name>`
  throw new CliError(`${id} has no database.`, { exitCode: exitCodes.notFound, hint })
}
