import { findTarget } from '../../../backups/find-target.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'
import { size } from '../../../output/size.ts'
import { table } from '../../../output/table.ts'
import { ago } from '../../../output/time.ts'

export const defineBackups: Define = (command, context) =>
  command
    .summary('list what lies on a backup target')
    .description('List the backups that lie on a target, also those of other instances.')
    .argument('<target>', 'id or name')
    .addHelpText('after', '\nThen: stq backup fetch <target> <backup>')
    .action((target: string) => run(context(), target))

async function run(context: Context, named: string): Promise<void> {
  const { id } = await findTarget(context, named)
  const client = await context.client()
  const list = await client.call('listTargetBackups', { params: { target: id } }, { signal: context.signal })
  for (const text of list.unreadable) context.note(`! ${plainText(text)}`)
  context.result(list, () => {
    if (context.quiet) return list.items.map((item) => item.id).join('\n')
    if (list.items.length === 0) return 'No backups lie on it.'
    const rows = list.items.map((item) => [
      item.id,
      item.project === null ? '(the instance)' : plainText(item.project.slug),
      ago(item.createdAt, context.world.now()),
      size(item.sizeBytes),
      item.here ? 'yes' : 'no',
      plainText(item.note ?? ''),
    ])
    return table(['BACKUP', 'PROJECT', 'MADE', 'SIZE', 'HERE', 'NOTE'], rows, context.style)
  })
}
