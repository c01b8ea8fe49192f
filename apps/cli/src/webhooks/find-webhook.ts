import type { Client } from '@stackquay/client'
import type { Webhook } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { nearest } from '../nearest.ts'

export const webhookArgument = 'name or id'

/** The webhook that is meant, by its id or its name. */
export async function findWebhook(context: Context, client: Client, wanted: string): Promise<Webhook> {
  const { items } = await client.call('listWebhooks', {}, { signal: context.signal })
  const byId = items.find(({ id }) => id === wanted)
  if (byId !== undefined) return byId
  const found = items.filter(({ name }) => name === wanted)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw usageError(
      `More than one webhook is called "${wanted}".`,
      `Say which: ${found.map(({ id }) => id).join(', ')}`,
    )
  const near = nearest(
    wanted,
    items.map(({ name }) => name),
  )
  throw new CliError(`There is no webhook "${wanted}".`, {
    exitCode: exitCodes.notFound,
    hint: near === null ? 'See: stq webhooks' : `Did you mean "${near}"? All of them: stq webhooks`,
  })
}
