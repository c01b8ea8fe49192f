import type { Context } from '../../../context.ts'
import { onlyDatabase } from '../../../databases/only-database.ts'
import type { Define } from '../../../define.ts'
import { projectRef } from '../../../find-project.ts'
import { projectArgument } from '../../../options.ts'
import { size } from '../../../output/size.ts'
import { table } from '../../../output/table.ts'
import { ago } from '../../../output/time.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list snapshots, newest first')
    .description('List the snapshots of a database, newest first.')
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database, or type of a service; not needed when there is one database')
    .action((project: string | undefined, name: string | undefined) => run(context(), project, name))

async function run(context: Context, named: string | undefined, name: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const client = await context.client()
  const { items } = await client.call('listSnapshots', { params: { id, db } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map((item) => item.name).join('\n')
    if (items.length === 0) return `No snapshots. Make one with: stq db snapshot create ${id} ${db}`
    const rows = items.map((item) => [
      item.name,
      ago(item.createdAt, context.world.now()),
      size(item.bytes),
      item.method,
      item.id,
    ])
    return table(['SNAPSHOT', 'MADE', 'SIZE', 'METHOD', 'ID'], rows, context.style)
  })
}
