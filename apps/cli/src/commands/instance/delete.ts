import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { confirm } from '../../prompt.ts'

interface DeleteFlags {
  readonly yes?: boolean
}

export const defineDelete: Define = (command, context) =>
  command
    .summary('delete a backup of the instance for good')
    .description('Delete a backup of the instance for good. It cannot be undone.')
    .argument('<backup>', 'id of the backup')
    .option('-y, --yes', 'do not ask')
    .action((backup: string, flags: DeleteFlags) => run(context(), backup, flags))

async function run(context: Context, backup: string, flags: DeleteFlags): Promise<void> {
  await confirm(context.world, `This deletes the backup ${backup} of the instance for good.`, flags.yes)
  const client = await context.client()
  await client.call('deleteInstanceBackup', { params: { backup } }, { signal: context.signal })
  noteDone(context, `${backup} is deleted`)
  if (context.json) context.result({ deleted: backup }, () => '')
}
