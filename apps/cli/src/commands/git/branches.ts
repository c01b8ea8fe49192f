import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineBranches: Define = (command, context) =>
  command
    .summary('list branches, the last changed first')
    .description('List branches, the last changed first; those of origin as of the last fetch.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const { items } = await client.call('listGitBranches', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map((item) => plainText(item.name)).join('\n')
    if (items.length === 0) return 'No branches yet.'
    const rows = items.map((item) => [
      `${item.current ? '* ' : ''}${plainText(item.name)}`,
      item.commit.slice(0, 10),
      ago(item.at, context.world.now()),
      plainText(item.subject),
    ])
    return table(['BRANCH', 'COMMIT', 'CHANGED', 'SUBJECT'], rows, context.style)
  })
}
