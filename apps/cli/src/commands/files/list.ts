import type { FileView } from '@stackquay/contract'
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
    .summary('list what is in a folder of a project')
    .description('List what is in a folder of a project: folders first, then by name.')
    .argument('[project]', projectArgument)
    .argument('[path]', 'the folder, from that of the project on: src/app')
    .action((project: string | undefined, path: string | undefined) => run(context(), project, path))

async function run(context: Context, named: string | undefined, path: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const items: FileView[] = []
  let isWhole = true
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 1000, path, cursor }
    const page = await client.call('listFiles', { params: { id }, query }, { signal: context.signal })
    items.push(...page.items)
    isWhole = page.isWhole
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  if (!isWhole) context.note('The folder holds more than are listed.')
  context.result({ items, isWhole }, () => {
    if (context.quiet) return items.map((item) => plainText(item.path ?? item.name)).join('\n')
    if (items.length === 0) return 'The folder is empty.'
    const rows = items.map((item) => [
      plainText(nameOf(item)),
      item.kind === 'file' ? size(item.size) : '-',
      item.mode,
      ago(item.modifiedAt, context.world.now()),
    ])
    return table(['NAME', 'SIZE', 'MODE', 'CHANGED'], rows, context.style)
  })
}

function nameOf({ kind, name, link }: FileView): string {
  if (kind === 'folder') return `${name}/`
  return link === null ? name : `${name} -> ${link.target}`
}
