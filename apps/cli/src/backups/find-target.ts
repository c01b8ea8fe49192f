import type { BackupTarget } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

/** By id or name. */
export async function findTarget(context: Context, named: string): Promise<BackupTarget> {
  const client = await context.client()
  const { items } = await client.call('listBackupTargets', {}, { signal: context.signal })
  const found = items.find(({ id, name }) => id === named || name === named)
  if (found !== undefined) return found
  throw new CliError(`There is no backup target "${named}".`, {
    exitCode: exitCodes.notFound,
    hint: 'See: stq backup target list',
  })
}
