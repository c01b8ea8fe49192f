import type { Client } from '@stackquay/client'
import type { NotificationChannel } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { nearest } from '../nearest.ts'

export const channelArgument = 'name or id'

/** The channel that is meant, by its id or its name. */
export async function findChannel(context: Context, client: Client, wanted: string): Promise<NotificationChannel> {
  const { items } = await client.call('listNotificationChannels', {}, { signal: context.signal })
  const found = items.find(({ id }) => id === wanted) ?? items.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  const near = nearest(
    wanted,
    items.map(({ name }) => name),
  )
  throw new CliError(`There is no notification channel "${wanted}".`, {
    exitCode: exitCodes.notFound,
    hint: near === null ? 'See: stq notify' : `Did you mean "${near}"? All of them: stq notify`,
  })
}
