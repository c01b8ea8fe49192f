import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineDeploys: Define = (command, context) =>
  command
    .summary('list deploys, newest first')
    .description('List deploys, newest first: commit, how it ended, who asked.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const page = await client.call('listDeploys', { params: { id }, query: { limit: 20 } }, { signal: context.signal })
  context.result(page, () => {
    if (context.quiet) return page.items.map((item) => item.id).join('\n')
    if (page.items.length === 0) return 'Nothing was deployed yet.'
    const rows = page.items.map((item) => [
      item.id,
      item.commit?.slice(0, 10) ?? '',
      item.rolledBack ? `${item.state}, went back` : item.state,
      ago(item.createdAt, context.world.now()),
      plainText(item.actor),
      plainText(item.reason ?? ''),
    ])
    return table(['ID', 'COMMIT', 'STATE', 'WHEN', 'BY', 'WHY'], rows, context.style)
  })
}
