import type { Checkpoint } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** By its id, or by the name that people gave it. */
export async function findCheckpoint(context: Context, project: string, wanted: string): Promise<Checkpoint> {
  const client = await context.client()
  const { items } = await client.call('listCheckpoints', { params: { id: project } }, { signal: context.signal })
  const found = items.find(({ id }) => id === wanted) ?? items.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  throw new CliError(`There is no checkpoint "${wanted}" of ${project}.`, {
    exitCode: exitCodes.notFound,
    hint: `See: stq checkpoint list ${project}`,
  })
}
