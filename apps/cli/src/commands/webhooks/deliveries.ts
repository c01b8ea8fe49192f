import { Option } from 'commander'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'
import { deliveryState, lastAttempt } from '../../webhooks/delivery-text.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'

const states = ['pending', 'delivered', 'failed'] as const

interface DeliveryFlags {
  readonly state?: (typeof states)[number]
  readonly limit: string
}

export const defineDeliveries: Define = (command, context) =>
  command
    .argument('<webhook>', webhookArgument)
    .summary('list what was sent, newest first')
    .description('List deliveries, newest first, with their results.')
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--limit <count>', 'how many, at most 200', '20')
    .action((webhook: string, flags: DeliveryFlags) => run(context(), webhook, flags))

async function run(context: Context, wanted: string, flags: DeliveryFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 200)
  const client = await context.client()
  const { id } = await findWebhook(context, client, wanted)
  const input = { params: { hook: id }, query: { limit, state: flags.state } }
  const { items } = await client.call('listDeliveries', input, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map((delivery) => delivery.id).join('\n')
    if (items.length === 0) return 'Nothing was sent yet.'
    const rows = items.map((delivery) => [
      delivery.id,
      deliveryState(delivery, context),
      ago(delivery.createdAt, context.world.now()),
      plainText(delivery.type),
      String(delivery.attempts.length),
      lastAttempt(delivery),
    ])
    return table(['DELIVERY', 'STATE', 'MADE', 'EVENT', 'TRIES', 'LAST TRY'], rows, context.style)
  })
}
