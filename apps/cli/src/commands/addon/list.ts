import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list addons of the instance')
    .description('List services that administrators added, with who uses them.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const { items } = await client.call('listAddons', {}, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ name }) => name).join('\n')
    if (items.length === 0) return 'No addons. Add one with: stq addon add <file>'
    const rows = items.map(({ name, title, versions, engines, usedBy }) => [
      name,
      plainText(title),
      versions.join(','),
      engines.join(','),
      usedBy.length === 0
        ? '-'
        : usedBy.map(({ slug, outdated }) => (outdated ? `${slug} (outdated)` : slug)).join(','),
    ])
    return table(['ADDON', 'TITLE', 'VERSIONS', 'ENGINES', 'USED BY'], rows, context.style)
  })
}
