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
    .summary('list data that is kept of services that are off')
    .description('List kept data of disabled services. A service that is enabled again finds it.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { keptData: items } = await client.call('listExtras', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ kind }) => kind).join('\n')
    if (items.length === 0) return 'No data is kept.'
    const rows = items.map(({ kind, version, sizeBytes, keptAt }) => [
      plainText(kind),
      plainText(version ?? '-'),
      size(sizeBytes),
      ago(keptAt, context.world.now()),
    ])
    return table(['SERVICE', 'VERSION', 'SIZE', 'SWITCHED OFF'], rows, context.style)
  })
}
