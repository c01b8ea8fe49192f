import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'
import { table } from '../../../output/table.ts'
import { ago } from '../../../output/time.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list backup targets')
    .description('List where backups are copied to. It takes scope admin.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const list = await client.call('listBackupTargets', {}, { signal: context.signal })
  context.result(list, () => {
    if (context.quiet) return list.items.map(({ id }) => id).join('\n')
    if (list.items.length === 0) return 'No targets. Add one with: stq backup target add'
    const rows = list.items.map(({ id, name, place, copies, checkedAt }) => [
      id,
      plainText(name),
      plainText(place),
      String(copies),
      ago(checkedAt, context.world.now()),
    ])
    return table(['TARGET', 'NAME', 'PLACE', 'COPIES', 'CHECKED'], rows, context.style)
  })
}
