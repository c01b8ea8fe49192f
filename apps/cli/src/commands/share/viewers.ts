import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineViewers: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('list who opened the share')
    .description('List who opened the share of a project.')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { items } = await client.call('listShareViewers', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ address }) => plainText(address)).join('\n')
    if (items.length === 0) return 'No viewers yet.'
    const now = context.world.now()
    const rows = items.map(({ address, requests, time, lastSeenAt, userAgent }) => [
      plainText(address),
      String(requests),
      ago(time, now),
      ago(lastSeenAt, now),
      plainText(userAgent ?? '-'),
    ])
    return table(['ADDRESS', 'REQUESTS', 'FIRST', 'LAST', 'BROWSER'], rows, context.style)
  })
}
