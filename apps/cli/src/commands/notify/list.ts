import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list channels')
    .description('List notification channels: where people are told what went wrong.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const { items } = await client.call('listNotificationChannels', {}, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No channels. Add one with: stq notify add <name> --kind slack'
    const rows = items.map(({ name, kind, address, enabled, lastDelivery }) => [
      plainText(name),
      stateCell(enabled ? 'ok' : 'stopped', context.style.colors),
      plainText(kind),
      lastDelivery === null ? '-' : lastDelivery.state,
      plainText(lastDelivery?.error == null ? address : `${address} (${lastDelivery.error})`),
    ])
    return table(['CHANNEL', 'STATE', 'KIND', 'LAST', 'ADDRESS'], rows, context.style)
  })
}
