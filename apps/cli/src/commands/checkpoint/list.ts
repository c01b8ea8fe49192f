import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list checkpoints, newest first')
    .description('List the checkpoints of a project, newest first.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const { items } = await client.call('listCheckpoints', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map((item) => item.id).join('\n')
    if (items.length === 0) return `No checkpoints. Make one with: stq checkpoint ${id}`
    const rows = items.map((item) => [
      plainText(item.name),
      ago(item.createdAt, context.world.now()),
      size(item.bytes),
      item.parts.map(({ name }) => name).join(', '),
      item.id,
    ])
    return table(['CHECKPOINT', 'MADE', 'SIZE', 'HOLDS', 'ID'], rows, context.style)
  })
}
