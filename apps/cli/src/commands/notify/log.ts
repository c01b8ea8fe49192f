import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { channelArgument, findChannel } from '../../notify/find-channel.ts'
import { wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineLog: Define = (command, context) =>
  command
    .argument('<channel>', channelArgument)
    .summary('list what was sent, newest first')
    .description('List messages of a channel, newest first, with their results.')
    .option('--limit <count>', 'how many, at most 200', '20')
    .action((channel: string, flags: { limit: string }) => run(context(), channel, flags))

async function run(context: Context, wanted: string, flags: { readonly limit: string }): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 200)
  const client = await context.client()
  const { id } = await findChannel(context, client, wanted)
  const input = { params: { channel: id }, query: { limit } }
  const { items } = await client.call('listNotificationDeliveries', input, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map((one) => one.id).join('\n')
    if (items.length === 0) return 'Nothing was sent yet.'
    const rows = items.map(({ state, createdAt, attempts, title }) => [
      ago(createdAt, context.world.now()),
      state,
      String(attempts.length),
      plainText(title),
      plainText(attempts.at(-1)?.error ?? ''),
    ])
    return table(['MADE', 'STATE', 'TRIES', 'MESSAGE', 'ERROR'], rows, context.style)
  })
}
