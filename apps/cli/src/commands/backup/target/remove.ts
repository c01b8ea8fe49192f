import { findTarget } from '../../../backups/find-target.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'
import { confirm } from '../../../prompt.ts'

interface RemoveFlags {
  readonly yes?: boolean
}

export const defineRemove: Define = (command, context) =>
  command
    .summary('forget a backup target')
    .description('Forget a target and its credentials. What lies on it stays, and opens with its passphrase.')
    .argument('<target>', 'id or name')
    .option('-y, --yes', 'do not ask')
    .action((target: string, flags: RemoveFlags) => run(context(), target, flags))

async function run(context: Context, named: string, flags: RemoveFlags): Promise<void> {
  const { id, name, place } = await findTarget(context, named)
  const shown = plainText(name)
  const warning = `This forgets ${shown} (${plainText(place)}). What lies there needs its passphrase from then on.`
  await confirm(context.world, warning, flags.yes)
  const client = await context.client()
  await client.call('deleteBackupTarget', { params: { target: id } }, { signal: context.signal })
  noteDone(context, `${shown} is forgotten`)
  if (context.json) context.result({ deleted: id }, () => '')
}
