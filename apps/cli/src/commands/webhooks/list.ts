import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list webhooks')
    .description('List webhooks: where events are sent.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const { items } = await client.call('listWebhooks', {}, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No webhooks. Make one with: stq webhooks create <name> <url> --events run.changed'
    const rows = items.map((hook) => [
      plainText(hook.name),
      stateCell(hook.enabled ? 'ok' : hook.disabledReason === null ? 'stopped' : 'failed', context.style.colors),
      plainText(hook.events.join(',')),
      hook.lastDelivery === null ? '-' : hook.lastDelivery.state,
      plainText(hook.disabledReason === null ? hook.url : `${hook.url} (${hook.disabledReason})`),
    ])
    return table(['WEBHOOK', 'STATE', 'EVENTS', 'LAST', 'ADDRESS'], rows, context.style)
  })
}
