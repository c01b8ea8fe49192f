import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list databases')
    .description('List the databases of a project.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { items } = await client.call('listDatabases', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ name }) => name).join('\n')
    if (items.length === 0) return 'No databases. Add one with: stq db create <project> <name>'
    const rows = items.map(({ name, type, version, hostPort }) => [
      name,
      plainText(type),
      plainText(version),
      String(hostPort ?? '-'),
    ])
    return table(['DATABASE', 'TYPE', 'VERSION', 'PORT'], rows, context.style)
  })
}
